//! Text with a grammar: implement [`TextValue`] and the type is a [`Shape`].

use std::fmt::Display;

use super::{Canonical, Decoder, Description, Shape};
use crate::diagnostic::Code;
use crate::secret;
use crate::value::quoted;
use crate::yaml::NodeRef;

/// Why a text was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The code it is reported under.
    pub code: Code,
    /// What is wrong with the text.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Complaint {
    /// A bad value.
    pub fn value(message: impl Into<String>) -> Complaint {
        Complaint { code: Code::BadValue, message: message.into(), help: None }
    }

    /// A bad name.
    pub fn name(message: impl Into<String>) -> Complaint {
        Complaint { code: Code::BadName, message: message.into(), help: None }
    }

    /// Says what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Complaint {
        self.help = Some(help.into());
        self
    }
}

/// A type that is written as text with a grammar. `Display` gives its canonical spelling.
pub trait TextValue: Sized + Display {
    /// What it is, with an article: `a hostname`.
    const WHAT: &'static str;
    /// A regular expression (ECMA flavour, anchored) that every accepted text matches.
    const PATTERN: Option<&'static str>;

    /// Reads the text.
    fn read(text: &str) -> Result<Self, Complaint>;
}

impl<T: TextValue> Shape for T {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let text = decoder.text(node)?;
        match T::read(text) {
            Ok(value) => Some(value),
            Err(_) if secret::is_private_key(text) => {
                decoder.report(secret::inline_finding(node.span(), "a private key"));
                None
            }
            Err(mut complaint) => {
                complaint.message = complaint.message.replace(&quoted(text), &decoder.shown(text));
                decoder.complain(node, complaint);
                None
            }
        }
    }

    fn write(&self, out: &mut Canonical) {
        out.text(&self.to_string());
    }

    fn describe() -> Description {
        Description::Text { what: T::WHAT, pattern: T::PATTERN }
    }
}
