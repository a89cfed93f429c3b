//! `windlass-agent enroll`

use std::io::{self, Read as _, Write};

use tokio::runtime;
use windlass_agent::{AgentOptions, Enrolment, enroll as enroll_host};

use super::arguments::EnrollOptions;
use super::command_error::CommandError;
use super::exit::Exit;

/// Longer than any key.
const MAX_KEY: u64 = 16 * 1024;

pub(crate) fn enroll(options: EnrollOptions, output: &mut impl Write) -> Result<Exit, CommandError> {
    super::run::start_log();
    let mut key = options.key;
    if key == "-" {
        key.clear();
        io::stdin().take(MAX_KEY).read_to_string(&mut key)?;
    }
    let mut agent = AgentOptions::new(options.host.state_dir(), options.host.target());
    agent.server = options.server;
    let enrolment = if options.again { Enrolment::Again } else { Enrolment::First };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let identity = runtime.block_on(enroll_host(&agent, &key, enrolment))?;
    writeln!(output, "This host is {} of account {}.", identity.target, identity.account)?;
    writeln!(
        output,
        "Start the agent with `windlass-agent run`, or by systemd: `windlass-agent unit` prints a unit."
    )?;
    Ok(Exit::Fine)
}
