//! The name of a branch.

use std::fmt;

/// Longer names do not fit into messages.
const MAX_CHARS: usize = 128;

/// Why a text is not the name of a branch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid branch name: {reason}")]
pub struct BranchError {
    reason: &'static str,
}

impl BranchError {
    /// How to fix it.
    pub fn help(&self) -> &'static str {
        "write only the branch name, such as `main` or `release/2026`, without `refs/heads/`"
    }
}

/// The name of a branch, without `refs/heads/`. Git accepts it, and no program takes it for an option.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Branch(String);

impl Branch {
    /// Parses and checks a name.
    pub fn parse(text: &str) -> Result<Branch, BranchError> {
        match problem(text) {
            None => Ok(Branch(text.to_owned())),
            Some(reason) => Err(BranchError { reason }),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full reference.
    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn problem(text: &str) -> Option<&'static str> {
    let forbidden = |char: char| char.is_control() || char.is_whitespace() || "~^:?*[\\".contains(char);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if text.is_empty() {
        Some("it is empty")
    } else if text.chars().count() > MAX_CHARS {
        Some("it has more than 128 characters")
    } else if text.starts_with('-') {
        Some("it begins with `-`")
    } else if text.starts_with("refs/") {
        Some("it is a full reference")
    } else if text.chars().any(forbidden) {
        Some("it contains a space, a control character or one of ~^:?*[\\")
    } else if text.contains("..") || text.contains("@{") || text == "@" || text.ends_with('.') {
        Some("it contains `..` or `@{`, is `@`, or ends with `.`")
    } else if text.split('/').any(bad_part) {
        Some("a part is empty, begins with `.` or ends with `.lock`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_what_git_accepts_and_never_an_option() {
        for text in ["main", "release/2026-11", "feature/a_b.c", "a@b", "+main", "ümlaut"] {
            assert_eq!(Branch::parse(text).map(|branch| branch.to_string()).as_deref(), Ok(text));
        }
        let long = "a".repeat(129);
        for text in [
            "",
            &long,
            "-u",
            "--upload-pack=touch",
            "a b",
            "a\nb",
            "a\u{7f}",
            "../../config",
            "a/../b",
            "a..b",
            "a@{1}",
            "@",
            "a:b",
            "a^",
            "a~1",
            "a*",
            "a[",
            "a\\b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.",
            "refs/heads/main",
        ] {
            assert!(Branch::parse(text).is_err(), "{text:?}");
        }
    }
}
