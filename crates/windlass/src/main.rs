//! `windlass`: checks and plans fleets on the command line, and asks a server.
//!
//! This file only wires: arguments → command → exit code. Commands decide nothing themselves (the core does) and
//! print nothing themselves (views do).

mod args;
mod commands;
mod exit;
mod view;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Arguments, Command};
use crate::exit::{CommandError, Exit};
use crate::view::Terminal;

/// A server needs tens of megabytes for moments at a time: a password is checked, a large fleet is read. The system's
/// allocator would keep them, for each thread.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Failing to print the usage leaves nothing better to do than to exit with its code.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Fine.into() };
        }
    };
    arguments.color.apply();
    let terminal = Terminal::detect();
    match run(arguments, &terminal) {
        Ok(exit) => exit.into(),
        Err(CommandError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Exit::Fine.into()
        }
        Err(error) => {
            view::error(&error);
            error.exit().into()
        }
    }
}

fn run(arguments: Arguments, terminal: &Terminal) -> Result<Exit, CommandError> {
    let (root, command) = (arguments.server, arguments.command);
    match command {
        Command::Remote(command) => commands::dispatch::run(command, root, terminal),
        Command::Plan(options) => commands::plan::run(&options, root, terminal),
        _ if root.is_given() => {
            let help = "remove --server, --token, --account and --output";
            Err(CommandError::usage("this command does not use a server", help))
        }
        Command::Demo(options) => commands::demo::run(&options),
        Command::Serve(options) => commands::serve::run(&options),
        Command::Backup(options) => commands::operate::backup(&options),
        Command::Restore(options) => commands::operate::restore(&options),
        Command::Migrate(options) => commands::migrate::run(&options),
        Command::Doctor(options) => commands::operate::doctor(&options),
        Command::RecoverAdmin(options) => commands::keys::recover_admin(&options),
        Command::Key(command) => commands::keys::run(&command),
        Command::Validate(options) => commands::validate::run(&options, terminal),
        Command::Fmt(options) => commands::fmt::run(&options, terminal),
        Command::Schema => commands::schema::run(),
        Command::Explain(options) => commands::explain::run(&options, terminal),
        Command::Completions(options) => commands::completions::run(&options),
        Command::Man(options) => commands::man::run(&options),
        Command::Reference(options) => commands::reference::run(&options),
    }
}
