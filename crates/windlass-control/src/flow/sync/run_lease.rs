//! The lease and the turn that a run holds while it works.

use windlass_core::quarantine::WorkEnd;
use windlass_store::{Lease, StoreError, Writing};

use crate::work::tracked::TrackedWork;

/// What whoever ends a run holds: the lease under which it was made, and the work to be ended with it.
#[derive(Clone, Copy)]
pub(crate) struct RunLease<'h> {
    pub(crate) lease: &'h Lease,
    pub(crate) work: Option<(&'h TrackedWork<'h>, WorkEnd)>,
}

impl<'h> RunLease<'h> {
    /// Nothing was begun.
    pub(crate) fn lease(lease: &'h Lease) -> RunLease<'h> {
        RunLease { lease, work: None }
    }

    /// Ends the work in the transaction that ends the run, if the lease still holds.
    pub(crate) async fn end_in(&self, writing: &mut Writing) -> Result<(), StoreError> {
        writing.lease_check(self.lease).await?;
        if let Some((work, end)) = self.work {
            work.end_in(writing, end).await?;
        }
        Ok(())
    }
}
