//! Errors of parsing a text, with help.

use crate::diagnostic::Code;

/// Why a text is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidText {
    /// The code of the problem.
    pub code: Code,
    /// What is wrong with the text.
    pub message: String,
    /// How to fix it.
    pub help: Option<String>,
}

impl InvalidText {
    /// An invalid value.
    pub fn value(message: impl Into<String>) -> InvalidText {
        InvalidText { code: Code::BadValue, message: message.into(), help: None }
    }

    /// An invalid name.
    pub fn name(message: impl Into<String>) -> InvalidText {
        InvalidText { code: Code::BadName, message: message.into(), help: None }
    }

    /// Sets the help.
    pub fn help(mut self, help: impl Into<String>) -> InvalidText {
        self.help = Some(help.into());
        self
    }
}
