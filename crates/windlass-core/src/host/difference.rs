//! How an item differs from the host: field by field, with secrets masked.

use crate::content::{ContentChange, ContentDifference, ContentId, FileChange, FileDifference, FileSide};
use crate::secret;
use serde::{Deserialize, Serialize};

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FieldDifference {
    /// A short value. Secrets are masked.
    Value {
        /// The field.
        field: String,
        /// The value on the host.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        observed: Option<String>,
        /// The value that the agent sets, or restores when it removes the item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        desired: Option<String>,
    },
    /// The content of a file: a unified diff with secrets masked, or the sizes if the diff cannot be shown.
    Content(FileDifference),
}

impl FieldDifference {
    /// A field whose value differs.
    pub fn value(field: &str, observed: Option<&str>, desired: Option<&str>) -> FieldDifference {
        let masked = |text: &str| {
            let text = secret::without_secrets(text);
            secret::mask_excerpt(&text, 0..text.len())
        };
        FieldDifference::Value {
            field: field.to_owned(),
            observed: observed.map(masked),
            desired: desired.map(masked),
        }
    }

    /// The content of a file.
    pub fn content(path: &str, observed: &FileSide, desired: &FileSide) -> Option<FieldDifference> {
        // The ids stay unused: only the list of files is kept.
        let change = ContentChange { path: path.to_owned(), before: None, after: ContentId::blob([0; 20]) };
        let mut difference = ContentDifference::new(change);
        difference.add(path.to_owned(), observed, desired);
        difference.files.pop().map(FieldDifference::Content)
    }

    /// Whether the host has nothing of this field.
    pub fn is_new(&self) -> bool {
        match self {
            FieldDifference::Value { observed, .. } => observed.is_none(),
            FieldDifference::Content(content) => content.change == FileChange::Added,
        }
    }

    /// Whether this is the value of that field.
    pub fn is_field(&self, name: &str) -> bool {
        matches!(self, FieldDifference::Value { field, .. } if field == name)
    }
}

/// Adds a value that differs; equal values add nothing.
pub fn push_value(
    differences: &mut Vec<FieldDifference>,
    field: &str,
    observed: Option<&str>,
    desired: Option<&str>,
) {
    if observed != desired {
        differences.push(FieldDifference::value(field, observed, desired));
    }
}
