//! `windlass explain`.

use windlass_core::explain::{explain, topics};

use crate::args::ExplainOptions;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

pub(crate) fn run(options: &ExplainOptions, terminal: &Terminal) -> Result<Exit, CommandError> {
    let Some(asked) = &options.topic else {
        view::explain::list(&topics(), terminal)?;
        return Ok(Exit::Fine);
    };
    match explain(asked) {
        Ok(topic) => {
            view::explain::topic(&topic, terminal)?;
            Ok(Exit::Fine)
        }
        Err(unknown) => {
            let help = match &unknown.near {
                Some(near) => format!("did you mean `{near}`?"),
                None if unknown.known.is_empty() => "this field has no fields of its own".to_owned(),
                None => format!("known names: {}", unknown.known.join(", ")),
            };
            Err(CommandError::failed(unknown.to_string(), help).because(unknown))
        }
    }
}
