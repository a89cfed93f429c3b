//! Text with a grammar: a type that implements [`TextValue`] is a [`Shape`].

use std::fmt::Display;

use super::{Canonical, Decoder, Description, InvalidText, Shape};
use crate::quote::quoted;
use crate::secret;
use crate::yaml::NodeRef;

/// A type that is written as text with a grammar. `Display` gives its canonical spelling.
pub trait TextValue: Sized + Display {
    /// What it is, with an article: `a hostname`.
    const WHAT: &'static str;
    /// A regular expression (ECMA flavour, anchored) that every accepted text matches.
    const PATTERN: Option<&'static str>;

    /// Parses the text.
    fn read(text: &str) -> Result<Self, InvalidText>;
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
                decoder.report_invalid_text(node, complaint);
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
