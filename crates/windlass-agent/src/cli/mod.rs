//! The command line.

mod apply;
mod arguments;
mod command_error;
mod enroll;
mod exit;
mod run;
mod status;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;

use arguments::{AgentCommand, Arguments};
use command_error::CommandError;
use exit::Exit;
use windlass_agent::{self_check, systemd_unit};

/// Runs the command.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return match error.use_stderr() {
                true => Exit::Usage.into(),
                false => Exit::Fine.into(),
            };
        }
    };
    match execute(arguments.command) {
        Ok(exit) => exit.into(),
        Err(CommandError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Fine.into(),
        Err(error) => {
            let (message, help, exit) = match error {
                CommandError::Agent(error) => (error.to_string(), error.help(), Exit::of(&error)),
                CommandError::Output(error) => (
                    format!("cannot write the output: {error}"),
                    "check the disk or the pipe".to_owned(),
                    Exit::Problems,
                ),
            };
            let _ = writeln!(io::stderr(), "error: {message}\n  help: {help}");
            exit.into()
        }
    }
}

fn execute(command: AgentCommand) -> Result<Exit, CommandError> {
    let mut output = io::stdout().lock();
    match command {
        AgentCommand::Enroll(options) => enroll::enroll(options, &mut output),
        AgentCommand::Run(options) => {
            drop(output);
            run::run(options)
        }
        AgentCommand::Status(options) => status::status(&options, &mut output),
        AgentCommand::Apply(options) => apply::apply(&options, &mut output),
        AgentCommand::Unit(options) => {
            write!(output, "{}", systemd_unit(&run::own_executable(), &options.path()))?;
            Ok(Exit::Fine)
        }
        AgentCommand::SelfCheck(options) => {
            self_check(&options.path())?;
            writeln!(output, "The state directory can be used.")?;
            Ok(Exit::Fine)
        }
    }
}
