//! A request with an idempotency key, while it is carried out.
//!
//! The key is committed together with the first change of the request. After a crash, either both are stored or neither
//! is, so a repeated request never makes the change twice. The response is added when there is one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_core::id::AccountId;
use windlass_store::{AccountWriting, StoreError};

use crate::clock::now;
use crate::crash::crash_point;

tokio::task_local! {
    /// The request that this task carries out, if it has a key.
    static CARRIED_OUT: Arc<IdempotentRequest>;
}

/// A request that must be carried out only once.
#[derive(Debug)]
pub struct IdempotentRequest {
    account_id: AccountId,
    key: String,
    digest: String,
    has_changed_something: AtomicBool,
}

impl IdempotentRequest {
    /// A request with a key that its sender chose.
    pub fn new(account_id: &AccountId, key: &str, digest: &str) -> Arc<IdempotentRequest> {
        Arc::new(IdempotentRequest {
            account_id: account_id.to_owned(),
            key: key.to_owned(),
            digest: digest.to_owned(),
            has_changed_something: AtomicBool::new(false),
        })
    }

    /// Does the work of the request.
    pub async fn carry_out<T>(self: &Arc<IdempotentRequest>, work: impl Future<Output = T>) -> T {
        CARRIED_OUT.scope(Arc::clone(self), work).await
    }

    /// Whether it committed anything, and its key with it.
    pub fn has_changed_something(&self) -> bool {
        self.has_changed_something.load(Ordering::Relaxed)
    }
}

fn current() -> Option<Arc<IdempotentRequest>> {
    CARRIED_OUT.try_with(Arc::clone).ok()
}

/// Stores the key of the current request in the transaction of its first change. Fails if the request was carried out
/// elsewhere meanwhile.
pub(crate) async fn record_key(writing: &mut AccountWriting) -> Result<(), StoreError> {
    let Some(request) = current().filter(|request| !request.has_changed_something()) else { return Ok(()) };
    if !writing.request_begin(&request.account_id, &request.key, &request.digest, now()).await? {
        return Err(StoreError::Repeated);
    }
    crash_point("request.before_commit");
    Ok(())
}

/// Records that the transaction with the key was committed.
pub(crate) fn mark_committed() {
    if let Some(request) = current() {
        request.has_changed_something.store(true, Ordering::Relaxed);
    }
}
