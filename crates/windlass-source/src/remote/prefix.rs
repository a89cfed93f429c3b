//! The directory of a fleet in its repository.

use std::fmt;

/// Longer than any reasonable path in a repository.
const MAX_CHARS: usize = 512;

/// Why a text is not a directory of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path prefix is not a directory inside the repository: {reason}")]
pub struct PathPrefixError {
    reason: &'static str,
}

impl PathPrefixError {
    /// How to fix it.
    pub fn help(&self) -> &'static str {
        "write it relative to the repository's root, such as `fleets/edge`; omit it for the root"
    }
}

/// A directory of a repository, relative to its root; empty for the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathPrefix(String);

impl PathPrefix {
    /// Parses and checks a directory. Empty, `.` and `./` are the root; one `/` at the end is removed.
    pub fn parse(text: &str) -> Result<PathPrefix, PathPrefixError> {
        let fail = |reason| Err(PathPrefixError { reason });
        if text.chars().count() > MAX_CHARS {
            return fail("it has more than 512 characters");
        }
        if text.chars().any(|char| char.is_control() || char == '\\') {
            return fail("it contains a control character or a backslash");
        }
        if text.starts_with(['/', '-', '~']) {
            return fail("it begins with `/`, `-` or `~`");
        }
        let inner = text.strip_prefix("./").unwrap_or(text);
        let inner = inner.strip_suffix('/').unwrap_or(inner);
        if inner.is_empty() || inner == "." {
            return Ok(PathPrefix::default());
        }
        for part in inner.split('/') {
            match part {
                "" | "." | ".." => return fail("a part is empty, `.` or `..`"),
                part if part.eq_ignore_ascii_case(".git") => return fail("a part is `.git`"),
                _ => {}
            }
        }
        Ok(PathPrefix(inner.to_owned()))
    }

    /// The directory, without `/` at either end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PathPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_stay_inside_the_repository() {
        for (text, expected) in [
            ("", ""),
            (".", ""),
            ("./", ""),
            ("fleets/edge", "fleets/edge"),
            ("fleets/", "fleets"),
            ("./a", "a"),
        ] {
            assert_eq!(PathPrefix::parse(text).map(|prefix| prefix.to_string()).as_deref(), Ok(expected));
        }
        let long = "a/".repeat(300);
        for text in [
            "/",
            "/etc",
            "..",
            "../a",
            "a/../..",
            "a/./b",
            "a//b",
            "//host",
            ".git",
            "a/.GIT/hooks",
            "-a",
            "~root",
            "a\\b",
            "a\nb",
            "a\0",
            &long,
        ] {
            assert!(PathPrefix::parse(text).is_err(), "{text:?}");
        }
    }
}
