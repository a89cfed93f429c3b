//! `windlass man`.

use clap::CommandFactory as _;

use crate::args::{Arguments, ManOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn run(options: &ManOptions) -> Result<Exit, CommandError> {
    let command = Arguments::command();
    match &options.dir {
        Some(directory) => {
            let fail = |error: std::io::Error| {
                let message = format!("could not write man pages to {}", directory.display());
                CommandError::failed(message, "choose a directory with write permission").because(error)
            };
            std::fs::create_dir_all(directory).map_err(fail)?;
            clap_mangen::generate_to(command, directory).map_err(fail)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            view::bytes(&page)?;
        }
    }
    Ok(Exit::Fine)
}
