//! What differs in the files that a resource names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::content;

use crate::word::Word;

/// What changes in the content of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContentDifference {
    /// The path, as the resource names it.
    pub path: String,
    /// The git object id of the accepted content, as `blob:…` for a file and `tree:…` for a directory; null if unknown.
    pub before: Option<String>,
    /// The git object id of the desired content.
    pub after: String,
    /// The files that differ, up to a limit.
    pub files: Vec<FileDifference>,
    /// How many further files differ.
    #[serde(default)]
    pub more_files: usize,
    /// Notes for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDifference {
    /// Its path, from the directory of fleet.yaml.
    pub path: String,
    /// What happens to it.
    #[schemars(with = "Word<content::FileChange>")]
    pub change: content::FileChange,
    /// Its size before, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_bytes: Option<u64>,
    /// Its size after, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_bytes: Option<u64>,
    /// The lines that differ with some around them, as `diff -u` prints them, secrets hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// Why there are no lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_shown: Option<String>,
}

impl ContentDifference {
    /// The same for whoever tells it. None if it was made by a version that says more than this one knows.
    pub fn to_core(&self) -> Option<content::ContentDifference> {
        serde_json::to_value(self).ok().and_then(|value| serde_json::from_value(value).ok())
    }
}

impl From<content::ContentDifference> for ContentDifference {
    fn from(found: content::ContentDifference) -> ContentDifference {
        ContentDifference {
            path: found.change.path,
            before: found.change.before.map(|before| before.to_string()),
            after: found.change.after.to_string(),
            files: found.files.into_iter().map(FileDifference::from).collect(),
            more_files: found.more_files,
            note: found.note,
        }
    }
}

impl From<content::FileDifference> for FileDifference {
    fn from(file: content::FileDifference) -> FileDifference {
        FileDifference {
            path: file.path,
            change: file.change,
            before_bytes: file.before_bytes,
            after_bytes: file.after_bytes,
            lines: file.lines,
            not_shown: file.not_shown,
        }
    }
}
