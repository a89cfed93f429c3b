//! Adopts the accepted state into git: shows the patch, and pushes it to a branch.

use askama::Template;
use windlass_api::types::ErrorBody;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// The result of making the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptOutcome {
    /// A patch for `git apply`.
    Patch(String),
    /// It could not be made or pushed.
    Failed(ErrorBody),
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "adopt.html")]
pub struct AdoptPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The repository's id.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The resource's kind; empty for all differences.
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// The branch to push to: suggested, or the one that was tried.
    pub branch: String,
    /// The result.
    pub outcome: AdoptOutcome,
}

/// The tone of a patch line.
fn line_tone(line: &str) -> &'static str {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => "fold",
        [b'@', ..] => "fold",
        [b'+', ..] => "come",
        [b'-', ..] => "gone",
        _ => "same",
    }
}

impl AdoptPage {
    pub(crate) fn what(&self) -> String {
        match self.kind.is_empty() {
            true => "all manual changes".to_owned(),
            false => format!("{} {}", words::kind(&self.kind), self.name),
        }
    }

    /// The lines of the patch, each with its tone.
    pub(crate) fn lines<'p>(&self, patch: &'p str) -> Vec<(&'static str, &'p str)> {
        patch.lines().map(|line| (line_tone(line), line)).collect()
    }

    /// Whether values in the patch are masked.
    pub(crate) fn has_masked_values(&self, patch: &str) -> bool {
        patch.contains("***")
    }
}
