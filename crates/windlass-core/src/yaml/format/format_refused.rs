//! What the layout has no form for, and where it stands.

use super::line_ends::original_position;
use crate::diagnostic::{Code, Finding};

/// A place, in the text with plain line ends, that the layout has no form for.
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
