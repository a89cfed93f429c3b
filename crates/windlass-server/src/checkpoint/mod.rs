//! Checkpoints: the heads of the audit chains, signed with a key that is not in the database.
//!
//! Whoever can write the database can compute every hash anew, but signs nothing. The server signs only what continues
//! what it signed before: it keeps the last heads in a file beside its key, so that a rewritten log does not get a
//! signature because its checkpoints were deleted, too.

mod heads;
mod ship;
mod sign;
mod trust;

use std::path::PathBuf;
use std::time::Duration;

use windlass_api::types::{AuditKeyInfo, CheckpointInfo};
use windlass_core::access::CheckpointPace;
use windlass_store::{AuditKey, Checkpoint};

pub(crate) use heads::SignedHeads;
pub(crate) use ship::ship;
pub use ship::{CheckpointWebhook, WebhookAddressError};
pub use sign::check_checkpoints;
pub(crate) use sign::{SignOutcome, When, find_fault, sign_chain};
pub use trust::{CheckpointFault, first_fault};

/// New entries after which a head is signed at once.
const ENTRIES: i64 = 1_000;

/// How checkpoints are made, and where they go besides the database.
#[derive(Clone, Debug)]
pub struct CheckpointSettings {
    /// How long a new entry may be without a checkpoint.
    pub interval: Duration,
    /// A file to which each is appended as a line of JSON.
    pub file: Option<PathBuf>,
    /// An address to which each is sent.
    pub webhook: Option<CheckpointWebhook>,
}

impl Default for CheckpointSettings {
    fn default() -> CheckpointSettings {
        CheckpointSettings { interval: Duration::from_secs(3600), file: None, webhook: None }
    }
}

impl CheckpointSettings {
    pub(crate) fn pace(&self) -> CheckpointPace {
        CheckpointPace { entries: ENTRIES, interval: self.interval }
    }

    /// Whether they go anywhere besides the database.
    pub(crate) fn is_shipped(&self) -> bool {
        self.file.is_some() || self.webhook.is_some()
    }
}

/// A checkpoint as answers, files and webhooks show it.
pub(crate) fn info(checkpoint: &Checkpoint) -> CheckpointInfo {
    CheckpointInfo {
        account_id: checkpoint.account_id.clone(),
        seq: checkpoint.seq,
        head: checkpoint.hash.clone(),
        at: checkpoint.at.to_string(),
        key_id: checkpoint.key_id.clone(),
        signature: checkpoint.signature.clone(),
    }
}

/// A key as answers show it.
pub(crate) fn key_info(key: &AuditKey) -> AuditKeyInfo {
    AuditKeyInfo {
        id: key.id.clone(),
        public_key: key.public_key.clone(),
        previous_id: key.previous_id.clone(),
        endorsement: key.endorsement.clone(),
        acknowledgement: key.acknowledgement.clone(),
        created_at: key.created_at.to_string(),
    }
}
