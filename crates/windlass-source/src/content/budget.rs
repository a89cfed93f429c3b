//! What looking at all differences of one call may cost together.
//!
//! Whoever can push decides what directories look like: a pack of some kilobytes holds directories of megabytes that lead
//! to one another a thousand times. Sizes are asked for before anything is decoded, and what was decoded is added up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::objects::{DirectoryLimits, SeenDirectory};

/// A directory of about 200,000 names.
const MAX_DIRECTORY_BYTES: u64 = 8 << 20;

/// All directories that are decoded.
const MAX_DECODED_BYTES: u64 = 64 << 20;

/// All their entries.
const MAX_ENTRIES: usize = 400_000;

/// People wait for it.
const MAX_TIME: Duration = Duration::from_secs(10);

/// What is left.
pub(super) struct DifferenceBudget {
    bytes: Cell<u64>,
    entries: Cell<usize>,
    ends: Instant,
}

impl DifferenceBudget {
    /// The whole budget.
    pub(super) fn start() -> DifferenceBudget {
        DifferenceBudget::of(MAX_DECODED_BYTES, MAX_ENTRIES, MAX_TIME)
    }

    pub(super) fn of(bytes: u64, entries: usize, time: Duration) -> DifferenceBudget {
        DifferenceBudget { bytes: Cell::new(bytes), entries: Cell::new(entries), ends: Instant::now() + time }
    }

    /// Whether nothing more may be looked at. Asked before each object.
    pub(super) fn is_spent(&self) -> bool {
        self.bytes.get() == 0 || self.entries.get() == 0 || Instant::now() >= self.ends
    }

    /// How much of one directory may be looked at, of which so many entries are wanted at most.
    pub(super) fn of_directory(&self, entries: usize) -> DirectoryLimits {
        DirectoryLimits {
            bytes: self.bytes.get().min(MAX_DIRECTORY_BYTES),
            entries: self.entries.get().min(entries),
        }
    }

    /// Takes what was looked at from what is left.
    pub(super) fn take(&self, seen: &SeenDirectory) {
        self.bytes.set(self.bytes.get().saturating_sub(seen.bytes));
        self.entries.set(self.entries.get().saturating_sub(seen.entries.len()));
    }
}
