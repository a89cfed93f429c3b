//! The binary of the agent: arguments, one file per command, exit codes.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
