//! The id of a commit.

use std::fmt;

/// The full id of a commit: 40 hexadecimal digits, or 64 in a repository that uses SHA-256.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(String);

impl CommitId {
    /// Parses an id. Abbreviated ids are rejected: they can become ambiguous.
    pub fn parse(text: &str) -> Option<CommitId> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        (is_hex && (text.len() == 40 || text.len() == 64)).then(|| CommitId(text.to_owned()))
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn of(id: &gix::oid) -> CommitId {
        CommitId(id.to_hex().to_string())
    }

    pub(super) fn object(&self) -> Option<gix::ObjectId> {
        gix::ObjectId::from_hex(self.0.as_bytes()).ok()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_are_ids() {
        for (text, expected) in [
            ("a".repeat(40), true),
            ("0".repeat(64), true),
            ("a".repeat(39), false),
            ("A".repeat(40), false),
            ("g".repeat(40), false),
            ("main".to_owned(), false),
            (format!("{}\n", "a".repeat(39)), false),
        ] {
            assert_eq!(CommitId::parse(&text).is_some(), expected, "{text:?}");
        }
    }
}
