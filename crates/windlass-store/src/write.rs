//! Transactions: changes, events and audit entries are committed together.

use std::ops::{Deref, DerefMut};

use windlass_core::event::NewEvent;
use windlass_core::id::{AccountId, ReplicaId};

use crate::audit::{AuditEntry, append_audit};
use crate::db::{Reading, Store};
use crate::error::StoreError;
use crate::new_events::append_events;
use crate::replicas::notify_replicas;
use crate::sql::values;

/// A transaction. It is rolled back if it is dropped without [`Writing::commit`].
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
    /// Commits.
    pub async fn commit(self) -> Result<(), StoreError> {
        self.reading.connection.commit().await
    }
}

/// A transaction of one account, or of two. The transactions of an account run one after the other, on all replicas.
pub struct AccountWriting {
    writing: Writing,
    chain: Chain,
    /// The other account of a transaction of two.
    beside: Option<Chain>,
    /// The replica that writes.
    replica_id: ReplicaId,
}

/// The last event and audit entry of an account, and those to append.
struct Chain {
    account_id: AccountId,
    event_seq: i64,
    audit_seq: i64,
    audit_hash: String,
    events: Vec<NewEvent>,
    entries: Vec<AuditEntry>,
    state_version: i64,
    keeps_state: bool,
}

impl Chain {
    /// Waits for the running transactions of the account, and blocks later ones.
    async fn lock(writing: &mut Writing, account_id: &AccountId) -> Result<Chain, StoreError> {
        let sql = "UPDATE chains SET event_seq = event_seq WHERE account_id = $1 \
                   RETURNING event_seq, audit_seq, audit_hash, state_version";
        let rows = writing.connection.rows(sql, values![account_id]).await?;
        let row = rows.first().ok_or_else(|| StoreError::NoAccount { id: account_id.clone() })?;
        Ok(Chain {
            account_id: account_id.clone(),
            event_seq: row.number("event_seq")?,
            audit_seq: row.number("audit_seq")?,
            audit_hash: row.text("audit_hash")?,
            events: Vec::new(),
            entries: Vec::new(),
            state_version: row.number("state_version")?,
            keeps_state: false,
        })
    }

    /// The version of the account's state after this transaction.
    fn next_version(&self) -> i64 {
        if self.keeps_state { self.state_version } else { self.state_version + 1 }
    }

    /// Appends the new events and entries. Returns the number of the last event.
    async fn append(self, writing: &mut Writing) -> Result<i64, StoreError> {
        let next_version = self.next_version();
        let Chain { account_id, event_seq, audit_seq, audit_hash, events, entries, state_version, .. } = self;
        if events.is_empty() && entries.is_empty() && next_version == state_version {
            return Ok(event_seq);
        }
        let connection = &mut writing.reading.connection;
        let event_seq = append_events(connection, &account_id, event_seq, events).await?;
        let (audit_seq, audit_hash) =
            append_audit(connection, &account_id, audit_seq, &audit_hash, entries).await?;
        let sql = "UPDATE chains SET event_seq = $2, audit_seq = $3, audit_hash = $4, state_version = $5 \
                   WHERE account_id = $1";
        connection.execute(sql, values![&account_id, event_seq, audit_seq, audit_hash, next_version]).await?;
        Ok(event_seq)
    }
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

    /// Commits a transaction that belongs to no account, and notifies the other replicas of it.
    pub async fn commit_for_replicas(&self, mut writing: Writing) -> Result<(), StoreError> {
        notify_replicas(&mut writing.reading.connection, self.replica_id()).await?;
        writing.commit().await
    }

    /// Begins a transaction of an account, after its running ones. The installation itself counts as an account.
    pub async fn write_account(&self, account_id: &AccountId) -> Result<AccountWriting, StoreError> {
        let writing = self.write().await?;
        self.continue_in_account(writing, account_id).await
    }

    /// Continues a transaction that belongs to no account as one of an account, which the transaction may have added
    /// itself.
    pub async fn continue_in_account(
        &self,
        mut writing: Writing,
        account_id: &AccountId,
    ) -> Result<AccountWriting, StoreError> {
        let chain = Chain::lock(&mut writing, account_id).await?;
        Ok(AccountWriting { writing, chain, beside: None, replica_id: self.replica_id().clone() })
    }

    /// Begins a transaction of two accounts: the writes for both are committed together. It writes for the first
    /// account until [`AccountWriting::switch_account`] is called.
    pub async fn write_accounts(
        &self,
        first: &AccountId,
        other: &AccountId,
    ) -> Result<AccountWriting, StoreError> {
        let mut writing = self.write().await?;
        // Always in the same order, so that two such transactions never deadlock.
        let (low, high) = if first < other { (first, other) } else { (other, first) };
        let low = Chain::lock(&mut writing, low).await?;
        let high = Chain::lock(&mut writing, high).await?;
        let mut writing =
            AccountWriting { writing, chain: low, beside: Some(high), replica_id: self.replica_id().clone() };
        writing.switch_account(first);
        Ok(writing)
    }
}

impl AccountWriting {
    /// The account.
    pub fn account_id(&self) -> &AccountId {
        &self.chain.account_id
    }

    /// In a transaction of two accounts, selects the account of the following writes.
    pub fn switch_account(&mut self, account_id: &AccountId) {
        if let Some(beside) = &mut self.beside
            && beside.account_id == *account_id
        {
            std::mem::swap(&mut self.chain, beside);
        }
        debug_assert_eq!(&self.chain.account_id, account_id, "a transaction of other accounts");
    }

    /// The version of everything in the account that a comparison reads. Every transaction raises it, except after
    /// [`AccountWriting::keep_state`].
    pub fn state_version(&self) -> i64 {
        self.chain.state_version
    }

    /// The version after this transaction.
    pub fn next_state_version(&self) -> i64 {
        self.chain.next_version()
    }

    /// Declares that this transaction changes nothing that a comparison reads: neither the accepted state, nor
    /// proposals, accepted drift or settings. If in doubt, do not call it.
    pub fn keep_state(&mut self) {
        self.chain.keeps_state = true;
    }

    /// Adds an event as part of the transaction.
    pub fn event(&mut self, event: NewEvent) {
        self.chain.events.push(event);
    }

    /// Adds an audit entry as part of the transaction.
    pub fn audit(&mut self, entry: AuditEntry) {
        self.chain.entries.push(entry);
    }

    /// Commits. Returns the number of the account's last event, for subscribers.
    pub async fn commit(mut self) -> Result<i64, StoreError> {
        if let Some(beside) = self.beside.take() {
            beside.append(&mut self.writing).await?;
        }
        let event_seq = self.chain.append(&mut self.writing).await?;
        notify_replicas(&mut self.writing.reading.connection, &self.replica_id).await?;
        self.writing.commit().await?;
        Ok(event_seq)
    }
}
