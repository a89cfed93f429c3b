//! Checkpoints of the audit log: its heads, signed with a key that is not in the database, and the public keys. The
//! server creates and checks the signatures; here they are text.

use windlass_core::id::{AccountId, AuditKeyId};
use windlass_core::time::Timestamp;

use crate::audit_head::AuditHead;
use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// A signed head of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The account; empty for the installation itself.
    pub account_id: AccountId,
    /// The number of the entry.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
    /// When it was signed.
    pub at: Timestamp,
    /// With which key.
    pub key_id: AuditKeyId,
    /// The signature.
    pub signature: String,
}

/// The public key of a key pair that signs checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditKey {
    /// Its id.
    pub id: AuditKeyId,
    /// The key.
    pub public_key: String,
    /// The previous key.
    pub previous_id: Option<AuditKeyId>,
    /// The signature of the previous key on the statement that this key follows it.
    pub endorsement: Option<String>,
    /// The signature of this key on the statement that it follows the previous key.
    pub acknowledgement: Option<String>,
    /// Since when it is used.
    pub created_at: Timestamp,
}

const COLUMNS: &str = "account_id, seq, hash, at, key_id, signature";

fn read_checkpoint(row: &Row) -> Result<Checkpoint, StoreError> {
    Ok(Checkpoint {
        account_id: row.id("account_id")?,
        seq: row.number("seq")?,
        hash: row.text("hash")?,
        at: row.timestamp("at")?,
        key_id: row.id("key_id")?,
        signature: row.text("signature")?,
    })
}

impl Reading {
    /// The checkpoints of a chain before an entry's number, newest first.
    pub async fn checkpoints(
        &mut self,
        account_id: &AccountId,
        before: i64,
        limit: usize,
    ) -> Result<Vec<Checkpoint>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit_checkpoints WHERE account_id = $1 AND seq < $2 \
             ORDER BY seq DESC LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![account_id, before]).await?;
        rows.iter().map(read_checkpoint).collect()
    }

    /// Checkpoints that were not sent to the external destination yet, oldest first.
    pub async fn checkpoints_unsent(&mut self, limit: usize) -> Result<Vec<Checkpoint>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit_checkpoints WHERE sent_at IS NULL ORDER BY at, account_id, seq LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, Vec::new()).await?;
        rows.iter().map(read_checkpoint).collect()
    }

    /// The head of every chain, with its account; the account id of the installation is empty.
    pub async fn audit_heads(&mut self) -> Result<Vec<(AccountId, AuditHead)>, StoreError> {
        let sql = "SELECT account_id, audit_seq, audit_hash FROM chains ORDER BY account_id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter()
            .map(|row| {
                Ok((
                    row.id("account_id")?,
                    AuditHead { seq: row.number("audit_seq")?, hash: row.text("audit_hash")? },
                ))
            })
            .collect()
    }

    /// Every key that signed or signs checkpoints, oldest first.
    pub async fn audit_keys(&mut self) -> Result<Vec<AuditKey>, StoreError> {
        let sql = "SELECT id, public_key, previous_id, endorsement, acknowledgement, created_at \
                   FROM audit_keys ORDER BY created_at, id";
        let rows = self.connection.rows(sql, Vec::new()).await?;
        rows.iter()
            .map(|row| {
                Ok(AuditKey {
                    id: row.id("id")?,
                    public_key: row.text("public_key")?,
                    previous_id: row.optional_id("previous_id")?,
                    endorsement: row.optional_text("endorsement")?,
                    acknowledgement: row.optional_text("acknowledgement")?,
                    created_at: row.timestamp("created_at")?,
                })
            })
            .collect()
    }
}

impl Writing {
    /// Adds a checkpoint, unless there is one of the same entry. Without `sent_at`, it will be sent to the external
    /// destination.
    pub async fn checkpoint_add(
        &mut self,
        checkpoint: &Checkpoint,
        sent_at: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO audit_checkpoints (account_id, seq, hash, at, key_id, signature, sent_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (account_id, seq) DO NOTHING";
        let values = values![
            &checkpoint.account_id,
            checkpoint.seq,
            &checkpoint.hash,
            checkpoint.at,
            &checkpoint.key_id,
            &checkpoint.signature,
            sent_at
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Records that a checkpoint was sent to the external destination.
    pub async fn checkpoint_mark_sent(
        &mut self,
        checkpoint: &Checkpoint,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE audit_checkpoints SET sent_at = $3 WHERE account_id = $1 AND seq = $2";
        self.connection.execute(sql, values![&checkpoint.account_id, checkpoint.seq, now]).await?;
        Ok(())
    }

    /// Adds a key that signs checkpoints, unless it is stored already.
    pub async fn audit_key_add(&mut self, key: &AuditKey) -> Result<bool, StoreError> {
        let sql = "INSERT INTO audit_keys (id, public_key, previous_id, endorsement, acknowledgement, created_at) \
                   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO NOTHING";
        let values = values![
            &key.id,
            &key.public_key,
            &key.previous_id,
            key.endorsement.as_deref(),
            key.acknowledgement.as_deref(),
            key.created_at
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }
}
