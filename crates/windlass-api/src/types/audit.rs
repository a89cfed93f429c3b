//! The audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::audit::Outcome;

use crate::word::Word;

/// An entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditInfo {
    /// Its number.
    pub seq: i64,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// The API token used.
    pub token_id: Option<String>,
    /// The client's network address.
    pub address: Option<String>,
    /// The request's id.
    pub request_id: Option<String>,
    /// The action.
    pub action: String,
    /// The kind of the target.
    pub target_kind: String,
    /// Its name or id.
    pub target: String,
    /// The outcome. Printed as stored, so that a log that was tampered with stays readable.
    #[schemars(with = "Word<Outcome>")]
    pub outcome: String,
    /// The state before.
    pub before_digest: Option<String>,
    /// The state after.
    pub after_digest: Option<String>,
    /// Further details.
    pub detail: Value,
    /// The hash of this entry, which covers the previous entry's hash.
    pub hash: String,
}

/// Entries, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// The entries.
    pub audit: Vec<AuditInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}

/// The result of verifying the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerdict {
    /// Whether every entry is unchanged.
    pub intact: bool,
    /// The number of verified entries, including archived ones.
    pub entries: i64,
    /// The hash of the last entry: store it elsewhere to detect a truncated log.
    pub head: Option<String>,
    /// The first invalid entry.
    pub broken_at: Option<i64>,
    /// What is wrong with it.
    pub reason: Option<String>,
    /// How many signed checkpoints were checked.
    #[serde(default)]
    pub checkpoints: usize,
    /// The last entry that a checkpoint covers.
    #[serde(default)]
    pub signed_to: Option<i64>,
    /// The last entry that was moved to an archive file; none if nothing was archived.
    #[serde(default)]
    pub archived_to: Option<i64>,
}

/// The head of an audit log at some time, signed by the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointInfo {
    /// The account; empty for the installation itself.
    pub account_id: String,
    /// The number of the entry.
    pub seq: i64,
    /// Its hash.
    pub head: String,
    /// When it was signed.
    pub at: String,
    /// The id of the signing key.
    pub key_id: String,
    /// The Ed25519 signature, base64, of the JSON array `["windlass audit checkpoint 1", account_id, seq, head, at, key_id]`.
    pub signature: String,
}

/// A checkpoint under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointEnvelope {
    /// The newest one.
    pub checkpoint: CheckpointInfo,
}

/// Checkpoints, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointList {
    /// The checkpoints.
    pub checkpoints: Vec<CheckpointInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}

/// The public half of a key that signs or signed checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKeyInfo {
    /// Its id: a prefix of the SHA-256 of the public key's text.
    pub id: String,
    /// The Ed25519 key, base64.
    pub public_key: String,
    /// The previous key.
    pub previous_id: Option<String>,
    /// The previous key's signature of the JSON array `["windlass audit key 1", its public key, this public key]`.
    pub endorsement: Option<String>,
    /// This key's signature of the same.
    pub acknowledgement: Option<String>,
    /// When it was first used.
    pub created_at: String,
}

/// The current and former keys for checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKeys {
    /// The current public key. Store it elsewhere to verify the log.
    pub public_key: String,
    /// Every key, oldest first.
    pub keys: Vec<AuditKeyInfo>,
}
