//! The audit log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// `done`, `refused` or `failed`.
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
    /// How many entries are.
    pub entries: i64,
    /// The hash of the last: keep it elsewhere to notice a log that was cut short.
    pub head: Option<String>,
    /// The first entry that is wrong.
    pub broken_at: Option<i64>,
    /// What is wrong with it.
    pub reason: Option<String>,
}
