//! `windlass schema`.

use crate::exit::{CommandError, Exit};
use crate::view;

pub(crate) fn run() -> Result<Exit, CommandError> {
    view::json::document(&windlass_core::schema::json_schema())?;
    Ok(Exit::Fine)
}
