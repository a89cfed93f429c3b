//! Generated directories that exceed one limit each: every limit ends the work on its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
use std::cell::Cell;
use std::time::Duration;

use super::*;
use crate::entry::ReadError;
use crate::walk::MAX_NAME_BYTES;

/// Every directory contains this many directories with different ids, without end, and one file.
struct Endless {
    wide: u8,
    /// The size of each directory.
    bytes: u64,
    name_bytes: usize,
    decoded: Cell<u64>,
}

impl Endless {
    fn new(wide: u8, bytes: u64, name_bytes: usize) -> Endless {
        Endless { wide, bytes, name_bytes, decoded: Cell::new(0) }
    }
}

impl Objects for Endless {
    fn has(&self, _: &ContentId) -> bool {
        true
    }

    fn directory(&self, id: &[u8; 20], limits: DirectoryLimits) -> Result<Option<SeenDirectory>, ReadError> {
        if self.bytes > limits.bytes {
            return Ok(Some(SeenDirectory::too_large()));
        }
        self.decoded.set(self.decoded.get() + self.bytes);
        let below = |nth: u8| {
            let mut id = *id;
            id[0] = id[0].wrapping_add(nth + 1);
            let name = format!("{nth:0width$}", width = self.name_bytes).into_bytes();
            ObjectEntry { name, kind: ObjectKind::Directory, id }
        };
        let file = ObjectEntry { name: b"file".to_vec(), kind: ObjectKind::File, id: *id };
        let entries = (0..self.wide).map(below).chain([file]);
        Ok(Some(SeenDirectory { bytes: self.bytes, ..SeenDirectory::of(entries, limits) }))
    }

    fn file(&self, _: &[u8; 20], _: u64) -> Result<Option<FileSide>, ReadError> {
        Ok(Some(FileSide::Bytes(b"x\n".to_vec())))
    }
}

fn changes(count: u8) -> Vec<ContentChange> {
    let change =
        |nth| ContentChange { path: format!("d{nth}"), before: None, after: ContentId::tree([nth; 20]) };
    (0..count).map(change).collect()
}

fn is_cut(difference: &ContentDifference) -> bool {
    difference.note.as_deref().is_some_and(|note| note.contains("the list is incomplete"))
}

#[test]
fn large_nested_directories_are_decoded_within_one_budget() {
    let endless = Endless::new(10, 1 << 20, 1);
    let found = content_differences(&endless, changes(3));
    assert!(is_cut(&found[0]));
    assert!(found[2].note.as_deref().unwrap().contains("not compared"), "the others had nothing left");
    assert!(endless.decoded.get() <= 64 << 20, "{}", endless.decoded.get());
    let larger = Endless::new(10, 9 << 20, 1);
    assert!(is_cut(&content_differences(&larger, changes(1))[0]));
    assert_eq!(larger.decoded.get(), 0, "it was asked for its size first");
}

#[test]
fn names_paths_and_depth_are_limited_before_paths_are_built() {
    for endless in [
        Endless::new(2, 100, MAX_NAME_BYTES + 1),
        Endless::new(1, 100, MAX_NAME_BYTES),
        Endless::new(1, 100, 1),
        Endless::new(200, 100, MAX_NAME_BYTES),
    ] {
        let found = content_differences(&endless, changes(1));
        assert!(is_cut(&found[0]), "{} {}", endless.wide, endless.name_bytes);
        assert!(found[0].files.iter().all(|file| file.path.len() <= MAX_PATH_BYTES));
        assert!(found[0].files.len() <= MAX_DEPTH.max(windlass_core::content::MAX_FILES));
    }
}

#[test]
fn what_takes_too_long_is_cut_off_and_says_so() {
    let late = DifferenceBudget::of(u64::MAX, usize::MAX, Duration::ZERO);
    let found = differences_within(&late, &Endless::new(2, 1, 1), changes(1));
    assert!(found[0].note.as_deref().unwrap().contains("not compared"));
}
