//! Archiving: the first entries of an audit log are moved from the database to a file. The database keeps the anchor:
//! the last archived entry, which the rest of the log continues and which has a signed checkpoint.

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

/// The action of the audit entry about archiving.
pub(crate) const ARCHIVE_ACTION: &str = "audit.archive";

/// Entries read at a time.
const AT_ONCE: i64 = 2_000;

/// The limit up to which a log is archived. Archiving always ends at a signed checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveLimit {
    /// The last checkpoint signed before this time.
    Before(Timestamp),
    /// The last checkpoint up to the entry with this number.
    UpTo(i64),
}

/// A file with the first entries of a log.
#[derive(Clone, Debug)]
pub struct ArchivedEntries {
    /// The last entry in the file.
    pub up_to: AuditHead,
    /// The name of the file.
    pub file: String,
    /// The SHA-256 of the file.
    pub digest: Digest,
}

impl Reading {
    /// The last archived entry of a log; none if nothing is archived.
    pub async fn audit_anchor(&mut self, account_id: &AccountId) -> Result<Option<AuditHead>, StoreError> {
        let sql = "SELECT seq, hash FROM audit_anchors WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first().map(|row| Ok(AuditHead { seq: row.number("seq")?, hash: row.text("hash")? })).transpose()
    }

    /// The first entries of a log after one number and up to another, oldest first, at most `AT_ONCE`.
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
    /// Deletes the entries of the log that are in a file, stores the last of them as the anchor, and adds an audit
    /// entry about it. Returns how many entries were deleted; none, without changes, if the last of them is not in the
    /// log.
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
            action: ARCHIVE_ACTION,
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

/// Whether an entry records that the log was archived up to this anchor.
pub(crate) fn records_archiving(entry: &AuditRecord, anchor: &AuditHead) -> bool {
    let detail = || serde_json::from_str::<Json>(&entry.detail).unwrap_or_default();
    entry.action == ARCHIVE_ACTION && {
        let detail = detail();
        detail["up_to"] == anchor.seq && detail["hash"] == anchor.hash.as_str()
    }
}
