//! The revision of a remote to fetch.

use std::fmt;

use super::commit_id::CommitId;
use crate::remote::{Branch, BranchError};

/// The prefix of every full reference.
const REFERENCE_PREFIX: &str = "refs/";

/// A revision of a remote: a branch, another reference, or one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revision {
    /// The tip of a branch.
    Branch(Branch),
    /// A reference that is not a branch, without `refs/`: `pull/7/head`.
    Reference(Branch),
    /// A commit, whether a reference points to it or not. Git servers may refuse to send an unreferenced commit.
    Commit(CommitId),
}

impl Revision {
    /// Parses the name of a branch or a full reference, such as `refs/pull/7/head`. Names that git rejects, or that a
    /// program could take for an option, are errors.
    pub fn parse(text: &str) -> Result<Revision, BranchError> {
        let Some(below) = text.strip_prefix(REFERENCE_PREFIX) else {
            return Branch::parse(text).map(Revision::Branch);
        };
        match below.strip_prefix("heads/") {
            Some(branch) => Branch::parse(branch).map(Revision::Branch),
            None => Branch::parse(below).map(Revision::Reference),
        }
    }

    /// The left side of the refspec.
    pub(super) fn source(&self) -> String {
        match self {
            Revision::Branch(branch) => branch.reference(),
            Revision::Reference(below) => format!("{REFERENCE_PREFIX}{below}"),
            Revision::Commit(id) => id.to_string(),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Revision::Branch(branch) => branch.fmt(f),
            Revision::Reference(below) => write!(f, "{REFERENCE_PREFIX}{below}"),
            Revision::Commit(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_as_strict_as_branches() {
        let sources = [
            ("main", "refs/heads/main"),
            ("refs/heads/feature/x", "refs/heads/feature/x"),
            ("refs/pull/7/head", "refs/pull/7/head"),
            ("refs/merge-requests/7/head", "refs/merge-requests/7/head"),
        ];
        for (text, source) in sources {
            assert_eq!(Revision::parse(text).map(|revision| revision.source()).as_deref(), Ok(source));
        }
        for text in [
            "",
            "-u",
            "--upload-pack=touch",
            "refs/",
            "refs/-x",
            "refs/heads/",
            "refs/heads/-x",
            "refs/pull/../x",
            "refs/pull/*/head",
            "refs/pull/7/head:refs/heads/main",
            "+refs/heads/*:refs/heads/*",
            "refs/pull/7/head\n",
            "refs/pull/7 /head",
            "refs/refs/heads/x",
            "a:b",
            "../x",
            "^main",
        ] {
            assert!(Revision::parse(text).is_err(), "{text:?}");
        }
    }
}
