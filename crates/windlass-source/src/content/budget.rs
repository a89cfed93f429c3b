//! The cost limit for all differences of one call.
//!
//! Whoever can push decides the shape of directories: a pack of a few kilobytes can contain directories of megabytes
//! that refer to each other a thousand times. So sizes are checked before anything is decoded, and decoded bytes are
//! added up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::objects::{DirectoryLimits, SeenDirectory};

/// The size of a directory with about 200,000 names.
const MAX_DIRECTORY_BYTES: u64 = 8 << 20;

/// The total size of all decoded directories.
const MAX_DECODED_BYTES: u64 = 64 << 20;

/// The total number of their entries.
const MAX_ENTRIES: usize = 400_000;

/// Short, because a person waits for the result.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The remaining budget.
pub(super) struct DifferenceBudget {
    bytes: Cell<u64>,
    entries: Cell<usize>,
    ends: Instant,
}

impl DifferenceBudget {
    /// The full budget.
    pub(super) fn start() -> DifferenceBudget {
        DifferenceBudget::of(MAX_DECODED_BYTES, MAX_ENTRIES, MAX_TIME)
    }

    pub(super) fn of(bytes: u64, entries: usize, time: Duration) -> DifferenceBudget {
        DifferenceBudget { bytes: Cell::new(bytes), entries: Cell::new(entries), ends: Instant::now() + time }
    }

    /// Whether the budget is used up. Checked before each object.
    pub(super) fn is_spent(&self) -> bool {
        self.bytes.get() == 0 || self.entries.get() == 0 || Instant::now() >= self.ends
    }

    /// The limits for reading one directory of which at most `entries` entries are needed.
    pub(super) fn of_directory(&self, entries: usize) -> DirectoryLimits {
        DirectoryLimits {
            bytes: self.bytes.get().min(MAX_DIRECTORY_BYTES),
            entries: self.entries.get().min(entries),
        }
    }

    /// Subtracts the cost of a directory that was read.
    pub(super) fn take(&self, seen: &SeenDirectory) {
        self.bytes.set(self.bytes.get().saturating_sub(seen.bytes));
        self.entries.set(self.entries.get().saturating_sub(seen.entries.len()));
    }
}
