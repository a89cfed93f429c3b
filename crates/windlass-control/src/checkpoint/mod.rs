//! Checkpoints: the heads of the audit chains, signed with a key that is not in the database.
//!
//! Someone who can write to the database can recompute every hash, but cannot sign. The server signs only a log that
//! continues what it signed before. It keeps the last signed heads in a file beside its key, so that it does not sign a
//! rewritten log whose checkpoints were deleted, too.

pub mod export;
pub mod sign;
pub mod trust;

use windlass_api::types::{AuditKeyInfo, CheckpointInfo};
use windlass_store::{AuditKey, Checkpoint};

/// A checkpoint as responses, files and webhooks show it.
pub(crate) fn info(checkpoint: &Checkpoint) -> CheckpointInfo {
    CheckpointInfo {
        account_id: checkpoint.account_id.to_string(),
        seq: checkpoint.seq,
        head: checkpoint.hash.clone(),
        at: checkpoint.at.to_string(),
        key_id: checkpoint.key_id.to_string(),
        signature: checkpoint.signature.clone(),
    }
}

/// A key as responses show it.
pub(crate) fn key_info(key: &AuditKey) -> AuditKeyInfo {
    AuditKeyInfo {
        id: key.id.to_string(),
        public_key: key.public_key.clone(),
        previous_id: key.previous_id.as_ref().map(ToString::to_string),
        endorsement: key.endorsement.clone(),
        acknowledgement: key.acknowledgement.clone(),
        created_at: key.created_at.to_string(),
    }
}
