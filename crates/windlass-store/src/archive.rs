//! The first entries of an audit log in an archive file instead of the database. What stays here is the anchor: the last
//! archived entry, which the rest of the log continues and of which there is a signed checkpoint.

use serde_json::{Value as Json, json};
use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;

use crate::audit::{Actor, AuditEntry, AuditRecord, COLUMNS, Outcome, read_audit_record};
use crate::audit_head::AuditHead;
use crate::checkpoints::Checkpoint;
use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::values;
use crate::write::AccountWriting;

/// What the audit log calls archiving its own entries.
pub(crate) const ACTION: &str = "audit.archive";

/// Entries read at a time.
const AT_ONCE: i64 = 2_000;

/// Up to where a log is archived. It is always up to a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveLimit {
    /// What was signed before a moment.
    Before(Timestamp),
    /// An entry's number.
    UpTo(i64),
}

/// The first entries of a log, in a file.
#[derive(Clone, Debug)]
pub struct ArchivedEntries {
    /// The last of them.
    pub up_to: AuditHead,
    /// The name of the file.
    pub file: String,
    /// The SHA-256 of the file.
    pub digest: Digest,
}

impl Reading {
    /// The last archived entry of a log; none if the log is whole.
    pub async fn audit_anchor(&mut self, account_id: &AccountId) -> Result<Option<AuditHead>, StoreError> {
        let sql = "SELECT seq, hash FROM audit_anchors WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first().map(|row| Ok(AuditHead { seq: row.number("seq")?, hash: row.text("hash")? })).transpose()
    }

    /// Entries of a log after one number up to another, oldest first: the first of them, not more than fit in memory.
    pub async fn audit_between(
        &mut self,
        account_id: &AccountId,
        after: i64,
        up_to: i64,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit WHERE account_id = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT {AT_ONCE}"
        );
        let rows = self.connection.rows_built(sql, values![account_id, after, up_to]).await?;
        rows.iter().map(read_audit_record).collect()
    }

    /// The newest checkpoint of a log that is not later than a limit.
    pub async fn checkpoint_within(
        &mut self,
        account_id: &AccountId,
        limit: ArchiveLimit,
    ) -> Result<Option<Checkpoint>, StoreError> {
        let newest = match limit {
            ArchiveLimit::UpTo(seq) => seq,
            ArchiveLimit::Before(moment) => {
                let sql = "SELECT COALESCE(MAX(seq), 0) AS last_seq FROM audit_checkpoints WHERE account_id = $1 AND at < $2";
                let rows = self.connection.rows(sql, values![account_id, moment]).await?;
                rows.first().map_or(Ok(0), |row| row.number("last_seq"))?
            }
        };
        Ok(self.checkpoints(account_id, newest.saturating_add(1), 1).await?.pop())
    }
}

impl AccountWriting {
    /// Deletes the entries of the log that are in a file, keeps the last of them as its anchor, and enters that into the
    /// log. Says how many were deleted; none, and nothing happens, if the log does not hold the last of them.
    pub async fn audit_archive(
        &mut self,
        archived: &ArchivedEntries,
        actor: Actor,
        now: Timestamp,
    ) -> Result<Option<u64>, StoreError> {
        let account_id = self.account_id().clone();
        let AuditHead { seq, hash } = &archived.up_to;
        let sql = "SELECT 1 FROM audit WHERE account_id = $1 AND seq = $2 AND hash = $3";
        if self.connection.rows(sql, values![&account_id, *seq, hash]).await?.is_empty() {
            return Ok(None);
        }
        let sql = "DELETE FROM audit WHERE account_id = $1 AND seq <= $2";
        let deleted = self.connection.execute(sql, values![&account_id, *seq]).await?;
        let sql = "INSERT INTO audit_anchors (account_id, seq, hash, archived_at) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, \
                   archived_at = excluded.archived_at";
        self.connection.execute(sql, values![&account_id, *seq, hash, now]).await?;
        let detail = json!({
            "up_to": seq, "hash": hash, "entries": deleted,
            "file": archived.file, "file_digest": archived.digest.to_string(),
        });
        self.audit(AuditEntry {
            actor,
            action: ACTION,
            target_kind: "audit".to_owned(),
            target: if account_id.is_installation() {
                "installation".to_owned()
            } else {
                account_id.to_string()
            },
            outcome: Outcome::Done,
            before: None,
            after: None,
            detail,
            at: now,
        });
        Ok(Some(deleted))
    }
}

/// Whether an entry tells that the log was archived up to a place.
pub(crate) fn tells_of(entry: &AuditRecord, anchor: &AuditHead) -> bool {
    let detail = || serde_json::from_str::<Json>(&entry.detail).unwrap_or_default();
    entry.action == ACTION && {
        let detail = detail();
        detail["up_to"] == anchor.seq && detail["hash"] == anchor.hash.as_str()
    }
}
