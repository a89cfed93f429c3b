//! Whether someone who approves has seen what they approve.
//!
//! What a repository's commit declares stays what it is under one proposal: another commit makes another proposal. What
//! someone typed can be typed anew between the moment it is looked at and the moment it is approved, so that whoever
//! approves it says which content they have seen.

use super::contributor::ContributorRole;
use super::subject::{ContentOrigin, GateSubject};

/// Why an approval is not one of what would be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewProblem {
    /// It names another content.
    Moved,
    /// It names none, of a change whose content someone typed.
    ContentNotNamed,
}

/// Checks that whoever approves has seen the content: `reviewed` is the digest that they name.
pub fn check_review(subject: &GateSubject<'_>, reviewed: Option<&str>) -> Result<(), ReviewProblem> {
    match reviewed {
        Some(reviewed) if reviewed == subject.digest.to_string() => Ok(()),
        Some(_) => Err(ReviewProblem::Moved),
        None if was_typed(subject) => Err(ReviewProblem::ContentNotNamed),
        None => Ok(()),
    }
}

/// Whether its content is, or was for a while, something that someone typed: an edit that was taken back moved it, too.
fn was_typed(subject: &GateSubject<'_>) -> bool {
    let was_edited = subject.contributors.people().iter().any(|one| one.role == ContributorRole::Editor);
    was_edited || !matches!(subject.content, ContentOrigin::Commit)
}
