//! Transactions: what is written together becomes true together, events and audit entries included.

use std::ops::{Deref, DerefMut};

use crate::audit::{AuditEntry, append_audit};
use crate::db::{Reading, Store};
use crate::error::StoreError;
use crate::events::{NewEvent, append_events};
use crate::sql::values;

/// A transaction. Dropped without [`Writing::commit`], nothing of it happened.
pub struct Writing {
    reading: Reading,
}

impl Deref for Writing {
    type Target = Reading;

    fn deref(&self) -> &Reading {
        &self.reading
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut Reading {
        &mut self.reading
    }
}

impl Writing {
    /// Makes it true.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.reading.connection.commit().await
    }
}

/// A transaction of one account. The writes of an account happen one after the other, on every replica.
pub struct AccountWriting {
    writing: Writing,
    account_id: String,
    event_seq: i64,
    audit_seq: i64,
    audit_hash: String,
    events: Vec<NewEvent>,
    entries: Vec<AuditEntry>,
}

impl Deref for AccountWriting {
    type Target = Writing;

    fn deref(&self) -> &Writing {
        &self.writing
    }
}

impl DerefMut for AccountWriting {
    fn deref_mut(&mut self) -> &mut Writing {
        &mut self.writing
    }
}

impl Store {
    /// Begins a transaction that belongs to no account.
    pub async fn write(&self) -> Result<Writing, StoreError> {
        Ok(Writing { reading: Reading { connection: self.begin().await? } })
    }

    /// Begins a transaction of an account, after those of it that are under way. The account `""` is the
    /// installation itself.
    pub async fn write_account(&self, account_id: &str) -> Result<AccountWriting, StoreError> {
        let mut writing = self.write().await?;
        let sql = "UPDATE chains SET event_seq = event_seq WHERE account_id = $1 \
                   RETURNING event_seq, audit_seq, audit_hash";
        let mut rows = writing.connection.rows(sql, values![account_id]).await?;
        let row = rows.first_mut().ok_or_else(|| StoreError::NoAccount { id: account_id.to_owned() })?;
        let (event_seq, audit_seq, audit_hash) = (row.number()?, row.number()?, row.text()?);
        Ok(AccountWriting {
            writing,
            account_id: account_id.to_owned(),
            event_seq,
            audit_seq,
            audit_hash,
            events: Vec::new(),
            entries: Vec::new(),
        })
    }
}

impl AccountWriting {
    /// The account.
    pub fn account_id(&self) -> &str {
        &self.account_id
    }

    /// Tells an event with the rest of the transaction.
    pub fn event(&mut self, event: NewEvent) {
        self.events.push(event);
    }

    /// Enters something into the audit log with the rest of the transaction.
    pub fn audit(&mut self, entry: AuditEntry) {
        self.entries.push(entry);
    }

    /// Makes it true. Returns the number of the last event, for those who watch.
    pub async fn commit(mut self) -> Result<i64, StoreError> {
        let events = std::mem::take(&mut self.events);
        let entries = std::mem::take(&mut self.entries);
        if events.is_empty() && entries.is_empty() {
            self.writing.commit().await?;
            return Ok(self.event_seq);
        }
        let connection = &mut self.writing.reading.connection;
        let event_seq = append_events(connection, &self.account_id, self.event_seq, events).await?;
        let (audit_seq, audit_hash) =
            append_audit(connection, &self.account_id, self.audit_seq, &self.audit_hash, entries).await?;
        let sql = "UPDATE chains SET event_seq = $2, audit_seq = $3, audit_hash = $4 WHERE account_id = $1";
        connection.execute(sql, values![&self.account_id, event_seq, audit_seq, audit_hash]).await?;
        self.writing.commit().await?;
        Ok(event_seq)
    }
}
