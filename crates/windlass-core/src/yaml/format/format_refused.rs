//! The error for YAML that the layout does not support, with its position.

use super::line_ends::original_position;
use crate::diagnostic::{Code, Finding};

/// A position, in the text with plain line ends, of YAML that the layout does not support.
#[derive(Debug)]
pub(super) struct FormatRefused {
    pub(super) at: usize,
}

impl FormatRefused {
    pub(super) fn into_finding(self, text: &str) -> Finding {
        let at = original_position(text, self.at);
        let message = "this file uses YAML that cannot be formatted without changing it";
        Finding::new(Code::YamlSyntax, at..text.len().min(at + 1), message)
            .help("rewrite this place with plain keys, lists and values, or leave the file unformatted")
    }
}
