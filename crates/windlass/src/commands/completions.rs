//! `windlass completions`.

use clap::CommandFactory as _;

use crate::args::{Arguments, CompletionsOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn run(options: &CompletionsOptions) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "windlass", &mut script);
    view::bytes(&script)?;
    Ok(Exit::Fine)
}
