//! Why a text was not accepted, and what to write instead.

use crate::diagnostic::Code;

/// Why a text was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// The code it is reported under.
    pub code: Code,
    /// What is wrong with the text.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl InvalidText {
    /// A bad value.
    pub fn value(message: impl Into<String>) -> InvalidText {
        InvalidText { code: Code::BadValue, message: message.into(), help: None }
    }

    /// A bad name.
    pub fn name(message: impl Into<String>) -> InvalidText {
        InvalidText { code: Code::BadName, message: message.into(), help: None }
    }

    /// Says what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> InvalidText {
        self.help = Some(help.into());
        self
    }
}
