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
    /// With which API token.
    pub token_id: Option<String>,
    /// From which network address.
    pub address: Option<String>,
    /// In which request.
    pub request_id: Option<String>,
    /// What.
    pub action: String,
    /// The kind of thing it was done to.
    pub target_kind: String,
    /// Its name or id.
    pub target: String,
    /// What became of it. Told as it was written, so that a log that was tampered with can still be read.
    #[schemars(with = "Word<Outcome>")]
    pub outcome: String,
    /// What it was before.
    pub before_digest: Option<String>,
    /// What it was after.
    pub after_digest: Option<String>,
    /// More.
    pub detail: Value,
    /// The hash of this entry, which covers the one before.
    pub hash: String,
}

/// Entries, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// The entries.
    pub audit: Vec<AuditInfo>,
    /// Where the list goes on.
    pub meta: super::PageMeta,
}

/// What checking the log found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerdict {
    /// Whether every entry is as it was written.
    pub intact: bool,
    /// How many entries are, with those that were archived.
    pub entries: i64,
    /// The hash of the last: keep it elsewhere to notice a log that was cut short.
    pub head: Option<String>,
    /// The first entry that is wrong.
    pub broken_at: Option<i64>,
    /// What is wrong with it.
    pub reason: Option<String>,
    /// How many signed checkpoints were checked.
    #[serde(default)]
    pub checkpoints: usize,
    /// The last entry that a checkpoint covers.
    #[serde(default)]
    pub signed_to: Option<i64>,
    /// The last entry that was moved to an archive file; none if the log is whole.
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
    /// With which key.
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
    /// Where the list goes on.
    pub meta: super::PageMeta,
}

/// The public half of a key that signs or signed checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKeyInfo {
    /// Its id: the beginning of the SHA-256 of the public key's text.
    pub id: String,
    /// The Ed25519 key, base64.
    pub public_key: String,
    /// The key before it.
    pub previous_id: Option<String>,
    /// The signature of the key before, of the JSON array `["windlass audit key 1", its public key, this public key]`.
    pub endorsement: Option<String>,
    /// This key's signature of the same.
    pub acknowledgement: Option<String>,
    /// Since when it is used.
    pub created_at: String,
}

/// The keys that sign and signed checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditKeys {
    /// The public key that signs now. Keep it elsewhere to verify the log with.
    pub public_key: String,
    /// Every key, oldest first.
    pub keys: Vec<AuditKeyInfo>,
}
