//! The audit log: append-only. Each entry contains the hash of the previous entry, so every later hash reveals an entry
//! that was changed, removed or inserted.

use serde_json::{Value as Json, json};
pub use windlass_core::audit::Outcome;
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, TokenId, UserId};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::connection::AnyConnection;
use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, resource_row};
use crate::sql::{Row, Value, storable, values};

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// For people: an e-mail address, `token deploy (ada@example.com)`, or `windlass`.
    pub name: String,
    /// The user's id; none for Windlass itself.
    pub id: Option<UserId>,
    /// The API token used.
    pub token_id: Option<TokenId>,
    /// The network address of the client.
    pub address: Option<String>,
    /// The id of the request.
    pub request_id: Option<String>,
}

impl Actor {
    /// Windlass itself.
    pub fn windlass() -> Actor {
        Actor { name: "windlass".to_owned(), id: None, token_id: None, address: None, request_id: None }
    }

    fn storable(self) -> Actor {
        Actor {
            name: storable(self.name),
            id: self.id,
            token_id: self.token_id,
            address: self.address.map(storable),
            request_id: self.request_id.map(storable),
        }
    }
}

/// A new entry.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// Who.
    pub actor: Actor,
    /// The action, for example `proposal.approve`.
    pub action: &'static str,
    /// The kind of the target: a resource kind, `repository`, `user`.
    pub target_kind: String,
    /// Its name or id.
    pub target: String,
    /// The outcome of the action.
    pub outcome: Outcome,
    /// The digest of the target before the action.
    pub before: Option<Digest>,
    /// The digest of the target after it.
    pub after: Option<Digest>,
    /// Details. Must not contain a secret: an entry cannot be changed later.
    pub detail: Json,
    /// When.
    pub at: Timestamp,
}

/// An entry of the log.
#[derive(Clone, Debug)]
pub struct AuditRecord {
    /// Its number.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// The action.
    pub action: String,
    /// The kind of the target.
    pub target_kind: String,
    /// Its name or id.
    pub target: String,
    /// The outcome of the action.
    pub outcome: String,
    /// The digest of the target before the action.
    pub before: Option<String>,
    /// The digest of the target after it.
    pub after: Option<String>,
    /// Details, as they were written.
    pub detail: String,
    /// The hash of the previous entry.
    pub previous_hash: String,
    /// The hash of this one.
    pub hash: String,
}

pub(crate) const COLUMNS: &str = "seq, at, actor, actor_id, token_id, address, request_id, action, target_kind, target, outcome, \
                       before_digest, after_digest, detail, previous_hash, hash";

pub(crate) fn read_audit_record(row: &Row) -> Result<AuditRecord, StoreError> {
    Ok(AuditRecord {
        seq: row.number("seq")?,
        at: row.timestamp("at")?,
        actor: Actor {
            name: row.text("actor")?,
            id: row.optional_id("actor_id")?,
            token_id: row.optional_id("token_id")?,
            address: row.optional_text("address")?,
            request_id: row.optional_text("request_id")?,
        },
        action: row.text("action")?,
        target_kind: row.text("target_kind")?,
        target: row.text("target")?,
        outcome: row.text("outcome")?,
        before: row.optional_text("before_digest")?,
        after: row.optional_text("after_digest")?,
        detail: row.text("detail")?,
        previous_hash: row.text("previous_hash")?,
        hash: row.text("hash")?,
    })
}

impl AuditRecord {
    /// The hash this entry should have: of its content, its number, its account and the hash of the previous entry.
    pub(crate) fn expected_hash(&self, account_id: &AccountId) -> String {
        let content = json!([
            account_id,
            self.seq,
            self.at.as_millis(),
            self.actor.name,
            self.actor.id,
            self.actor.token_id,
            self.actor.address,
            self.actor.request_id,
            self.action,
            self.target_kind,
            self.target,
            self.outcome,
            self.before,
            self.after,
            self.detail,
            self.previous_hash,
        ]);
        Digest::of(content.to_string().as_bytes()).to_string()
    }
}

/// Appends entries and returns the number and hash of the new last one.
pub(crate) async fn append_audit(
    connection: &mut AnyConnection,
    account_id: &AccountId,
    last: i64,
    last_hash: &str,
    entries: Vec<AuditEntry>,
) -> Result<(i64, String), StoreError> {
    let (mut seq, mut hash) = (last, last_hash.to_owned());
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(entries.len());
    for entry in entries {
        seq += 1;
        let mut audited = AuditRecord {
            seq,
            at: entry.at,
            // The hash covers the texts as they are stored.
            actor: entry.actor.storable(),
            action: entry.action.to_owned(),
            target_kind: storable(entry.target_kind),
            target: storable(entry.target),
            outcome: entry.outcome.slug().to_owned(),
            before: entry.before.map(|digest| digest.to_string()),
            after: entry.after.map(|digest| digest.to_string()),
            detail: entry.detail.to_string(),
            previous_hash: hash,
            hash: String::new(),
        };
        audited.hash = audited.expected_hash(account_id);
        hash = audited.hash.clone();
        rows.push(values![
            account_id,
            audited.seq,
            audited.at,
            audited.actor.name,
            &audited.actor.id,
            &audited.actor.token_id,
            audited.actor.address,
            audited.actor.request_id,
            audited.action,
            audited.target_kind,
            audited.target,
            audited.outcome,
            audited.before,
            audited.after,
            audited.detail,
            audited.previous_hash,
            audited.hash
        ]);
    }
    let prefix = "INSERT INTO audit (account_id, seq, at, actor, actor_id, token_id, address, request_id, action, \
                  target_kind, target, outcome, before_digest, after_digest, detail, previous_hash, hash) VALUES";
    connection.execute_many(prefix, rows, "").await?;
    Ok((seq, hash))
}

impl Reading {
    /// Who last changed each of these resources, and when; without those that are not in the log.
    pub async fn audit_last_changes(
        &mut self,
        account_id: &AccountId,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<(String, Timestamp)>, StoreError> {
        let rows = keys.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT given.kind, given.name, actor, at FROM given CROSS JOIN audit \
                      WHERE audit.account_id = given.account_id AND audit.seq = (SELECT MAX(last.seq) \
                      FROM audit AS last WHERE last.account_id = given.account_id \
                      AND last.target_kind = given.kind AND last.target = given.name)";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((read_key(row)?, (row.text("actor")?, row.timestamp("at")?)))).collect()
    }

    /// Entries of an account before a number, newest first; of one target (kind and name) if given.
    pub async fn audit(
        &mut self,
        account_id: &AccountId,
        target: Option<(&str, &str)>,
        before: i64,
        limit: usize,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        let mut sql = format!("SELECT {COLUMNS} FROM audit WHERE account_id = $1 AND seq < $2");
        let mut values = values![account_id, before];
        if let Some((kind, name)) = target {
            sql.push_str(" AND target_kind = $3 AND target = $4");
            values.extend(values![kind, name]);
        }
        sql.push_str(&format!(" ORDER BY seq DESC LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_audit_record).collect()
    }
}
