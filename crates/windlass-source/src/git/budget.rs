//! The cost limit for reading the objects of one revision.
//!
//! An object can be small in the pack and large when it is read: a delta of a hundred bytes can expand to sixty
//! megabytes. So sizes are checked before anything is read, and decoded bytes are added up.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::walk::WalkLimitExceeded;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A larger commit is not read: no person writes such a message.
pub(super) const MAX_COMMIT_BYTES: u64 = 1024 * 1024;
/// The size of a directory with about 200,000 names.
const MAX_TREE_BYTES: u64 = 8 << 20;
/// The total size of the directories that are decoded for one revision; large ones may be decoded more than once.
const MAX_DECODED_BYTES: u64 = 256 << 20;
/// Reading takes seconds, even on a slow disk.
const MAX_TIME: Duration = Duration::from_secs(60);

/// The remaining budget for reading objects.
pub(super) struct ObjectBudget {
    decoded: Cell<u64>,
    ends: Instant,
}

impl ObjectBudget {
    /// The full budget.
    pub(super) fn start() -> ObjectBudget {
        ObjectBudget { decoded: Cell::new(0), ends: Instant::now() + MAX_TIME }
    }

    /// Fails when the time is used up. Called before each object.
    pub(super) fn check(&self) -> Result<(), WalkLimitExceeded> {
        match Instant::now() < self.ends {
            true => Ok(()),
            false => Err(WalkLimitExceeded(format!("reading it took more than {} s", MAX_TIME.as_secs()))),
        }
    }

    /// Subtracts a directory of this size.
    fn take_tree(&self, bytes: u64) -> Result<(), WalkLimitExceeded> {
        self.check()?;
        if bytes > MAX_TREE_BYTES {
            let limit = MAX_TREE_BYTES >> 20;
            return Err(WalkLimitExceeded(format!(
                "a directory of it has {bytes} bytes, more than {limit} MiB"
            )));
        }
        let decoded = self.decoded.get().saturating_add(bytes);
        self.decoded.set(decoded);
        match decoded > MAX_DECODED_BYTES {
            true => Err(WalkLimitExceeded(format!(
                "its directories have more than {} MiB",
                MAX_DECODED_BYTES >> 20
            ))),
            false => Ok(()),
        }
    }
}

/// Reads a directory, if it is not too large.
pub(super) fn sized_tree<'repo>(
    repository: &'repo gix::Repository,
    id: gix::ObjectId,
    budget: &ObjectBudget,
) -> Result<gix::Tree<'repo>, BoxedError> {
    budget.take_tree(repository.find_header(id)?.size())?;
    Ok(repository.find_tree(id)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_directories_are_refused_and_small_ones_are_added_up() {
        let budget = ObjectBudget::start();
        assert!(budget.take_tree(MAX_TREE_BYTES + 1).is_err());
        for _ in 0..MAX_DECODED_BYTES / MAX_TREE_BYTES {
            assert!(budget.take_tree(MAX_TREE_BYTES).is_ok());
        }
        assert!(budget.take_tree(1).is_err());
        let over = ObjectBudget { decoded: Cell::new(0), ends: Instant::now() };
        assert!(over.check().is_err());
    }
}
