//! The lease and the tracked work of a run.

use windlass_core::quarantine::WorkEnd;
use windlass_store::{Lease, StoreError, Writing};

use crate::work::tracked::TrackedWork;

/// What is needed to end a run: its lease, and the tracked work that ends with it.
#[derive(Clone, Copy)]
pub(crate) struct RunLease<'h> {
    pub(crate) lease: &'h Lease,
    pub(crate) work: Option<(&'h TrackedWork<'h>, WorkEnd)>,
}

impl<'h> RunLease<'h> {
    /// The lease only: no work has begun.
    pub(crate) fn lease(lease: &'h Lease) -> RunLease<'h> {
        RunLease { lease, work: None }
    }

    /// Ends the work in the transaction that ends the run. Fails if the lease was lost.
    pub(crate) async fn end_in(&self, writing: &mut Writing) -> Result<(), StoreError> {
        writing.lease_check(self.lease).await?;
        if let Some((work, end)) = self.work {
            work.end_in(writing, end).await?;
        }
        Ok(())
    }
}
