//! Receives gix's progress reports to count the objects that a pack announces and the bytes they unpack to.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use gix::progress::{Id, MessageLevel, Step, StepShared, UNKNOWN, Unit};
use gix::{Count, NestedProgress, Progress};

use super::limits::FetchGuard;

/// The step at which gix has read only the pack's header.
const INDEXING: &str = "indexing";

/// The step that counts the bytes of inflated entries.
const INFLATING: &str = "decompressing";

/// The step that counts the bytes of resolved delta objects.
const RESOLVING: &str = "Decoding";

/// Reports the cost of a pack to the guard, and ignores all other progress.
pub(super) struct ObjectCount {
    fetch_guard: Arc<FetchGuard>,
    name: String,
}

impl ObjectCount {
    pub(super) fn new(fetch_guard: &Arc<FetchGuard>) -> ObjectCount {
        ObjectCount { fetch_guard: Arc::clone(fetch_guard), name: String::new() }
    }
}

impl Count for ObjectCount {
    fn set(&self, _step: Step) {}

    fn step(&self) -> Step {
        0
    }

    fn inc_by(&self, step: Step) {
        if self.name == INFLATING {
            self.fetch_guard.count_inflated(step);
        }
    }

    fn counter(&self) -> StepShared {
        match self.name.as_str() {
            RESOLVING => self.fetch_guard.resolved_counter(),
            _ => Arc::new(AtomicUsize::default()),
        }
    }
}

impl Progress for ObjectCount {
    fn init(&mut self, max: Option<Step>, _unit: Option<Unit>) {
        if let (INDEXING, Some(objects)) = (self.name.as_str(), max) {
            self.fetch_guard.expect_objects(objects as u64);
        }
    }

    fn set_name(&mut self, name: String) {
        self.name = name;
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn id(&self) -> Id {
        UNKNOWN
    }

    fn message(&self, _level: MessageLevel, _message: String) {}
}

impl NestedProgress for ObjectCount {
    type SubProgress = ObjectCount;

    fn add_child(&mut self, name: impl Into<String>) -> ObjectCount {
        ObjectCount { fetch_guard: Arc::clone(&self.fetch_guard), name: name.into() }
    }

    fn add_child_with_id(&mut self, name: impl Into<String>, _id: Id) -> ObjectCount {
        self.add_child(name)
    }
}
