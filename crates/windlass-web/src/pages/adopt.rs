//! The change that writes the accepted state into git: the patch, and a branch to push it to.

use askama::Template;
use windlass_api::types::ErrorBody;

use crate::frame::{Frame, NavEntry};
use crate::words;

/// What came of making the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdoptOutcome {
    /// A patch for `git apply`.
    Patch(String),
    /// It could not be made, or not be pushed.
    Failed(ErrorBody),
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "adopt.html")]
pub struct AdoptPage {
    /// What surrounds it.
    pub frame: Frame,
    /// The repository's id.
    pub repository_id: String,
    /// The repository's name.
    pub repository_name: String,
    /// The resource's kind; empty for all that drifted.
    pub kind: String,
    /// The resource's name.
    pub name: String,
    /// The branch that is suggested, or was tried.
    pub branch: String,
    /// What came of it.
    pub made: AdoptOutcome,
}

/// What a line of a patch is, for its colour.
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

    /// Whether stars stand for something in the patch.
    pub(crate) fn hides_something(&self, patch: &str) -> bool {
        patch.contains("***")
    }
}
