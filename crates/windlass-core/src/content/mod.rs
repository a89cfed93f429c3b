//! Content: the files and directories of the repository that a resource names.
//!
//! A spec names paths; git has their content. Git already has an id for every file and directory that depends only on
//! its content. A resource's digest includes those ids (`resource/content.rs`), so that a changed byte is noticed
//! without reading the files. A [`ContentDifference`] shows such a change to people.

mod difference;
mod side;
mod text;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::digest::write_hex;

pub use difference::{ContentDifference, FileChange, FileDifference, MAX_FILE_BYTES, MAX_FILES};
pub use side::FileSide;
pub use text::masked_text;

/// The kind of content at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentKind {
    /// A file.
    Blob,
    /// A directory with everything below it.
    Tree,
}

impl ContentKind {
    /// Git's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            ContentKind::Blob => "blob",
            ContentKind::Tree => "tree",
        }
    }
}

/// The git object id of a file or directory, written `blob:<40 hex digits>` or `tree:<40 hex digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentId {
    kind: ContentKind,
    id: [u8; 20],
}

impl ContentId {
    /// The id of a file.
    pub const fn blob(id: [u8; 20]) -> ContentId {
        ContentId { kind: ContentKind::Blob, id }
    }

    /// The id of a directory.
    pub const fn tree(id: [u8; 20]) -> ContentId {
        ContentId { kind: ContentKind::Tree, id }
    }

    /// The kind of content.
    pub const fn kind(&self) -> ContentKind {
        self.kind
    }

    /// The raw 20 bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.id
    }

    /// Parses the written form.
    pub fn parse(text: &str) -> Option<ContentId> {
        let (word, hex) = text.split_once(':')?;
        let kind = [ContentKind::Blob, ContentKind::Tree].into_iter().find(|kind| kind.word() == word)?;
        if hex.len() != 40 || !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut id = [0; 20];
        for (index, byte) in id.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(ContentId { kind, id })
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.word())?;
        f.write_str(":")?;
        write_hex(f, &self.id)
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentId, D::Error> {
        let text = String::deserialize(deserializer)?;
        ContentId::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("content is written blob:<40 hex digits>"))
    }
}

/// A path whose content changes, or that is named for the first time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContentChange {
    /// The path, as the resource names it.
    pub path: String,
    /// The content before, if it is known.
    pub before: Option<ContentId>,
    /// The content after.
    pub after: ContentId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_nothing_else_is_one() {
        let id = ContentId::blob([0xab; 20]);
        assert_eq!(id.to_string(), format!("blob:{}", "ab".repeat(20)));
        assert_eq!(ContentId::parse(&id.to_string()), Some(id));
        assert_eq!(ContentId::parse(&format!("tree:{}", "0".repeat(40))), Some(ContentId::tree([0; 20])));
        for text in ["", "blob:", "blob:ab", "commit:0000000000000000000000000000000000000000"] {
            assert_eq!(ContentId::parse(text), None, "{text}");
        }
        assert_eq!(ContentId::parse(&format!("blob:{}", "AB".repeat(20))), None);
    }
}
