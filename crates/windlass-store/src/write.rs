//! Transactions: what is written together becomes true together, events and audit entries included.

use std::ops::{Deref, DerefMut};

use windlass_core::event::NewEvent;
use windlass_core::id::{AccountId, ReplicaId};

use crate::audit::{AuditEntry, append_audit};
use crate::db::{Reading, Store};
use crate::error::StoreError;
use crate::new_events::append_events;
use crate::replicas::tell_replicas;
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

/// A transaction of one account, or of two. The writes of an account happen one after the other, on every replica.
pub struct AccountWriting {
    writing: Writing,
    chain: Chain,
    /// The other account of a transaction about two.
    beside: Option<Chain>,
    /// Who writes, among replicas.
    replica_id: ReplicaId,
}

/// Where the events and audit entries of an account continue, and what is to be added to them.
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
    /// Waits for the transactions of the account that are under way, and keeps later ones waiting.
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

    /// The version that the account's state has after this transaction.
    fn next_version(&self) -> i64 {
        if self.keeps_state { self.state_version } else { self.state_version + 1 }
    }

    /// Writes what is to be added. Returns the number of the last event.
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

    /// Begins a transaction of an account, after those of it that are under way. The
    /// installation itself counts as one.
    pub async fn write_account(&self, account_id: &AccountId) -> Result<AccountWriting, StoreError> {
        let writing = self.write().await?;
        self.continue_in_account(writing, account_id).await
    }

    /// Goes on with a transaction that belongs to no account as one of an account, such as one that it adds itself.
    pub async fn continue_in_account(
        &self,
        mut writing: Writing,
        account_id: &AccountId,
    ) -> Result<AccountWriting, StoreError> {
        let chain = Chain::lock(&mut writing, account_id).await?;
        Ok(AccountWriting { writing, chain, beside: None, replica_id: self.replica_id().clone() })
    }

    /// Begins a transaction of two accounts: what is written for both becomes true together. It is about the first until
    /// [`AccountWriting::switch_account`] says otherwise.
    pub async fn write_accounts(
        &self,
        first: &AccountId,
        other: &AccountId,
    ) -> Result<AccountWriting, StoreError> {
        let mut writing = self.write().await?;
        // Always in the same order, so that two such transactions never wait for each other.
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

    /// In a transaction of two accounts: what follows is about this one of them.
    pub fn switch_account(&mut self, account_id: &AccountId) {
        if let Some(beside) = &mut self.beside
            && beside.account_id == *account_id
        {
            std::mem::swap(&mut self.chain, beside);
        }
        debug_assert_eq!(&self.chain.account_id, account_id, "a transaction of other accounts");
    }

    /// The version of what is compared in the account: it changes with every transaction that does not say otherwise.
    pub fn state_version(&self) -> i64 {
        self.chain.state_version
    }

    /// The version that this transaction leaves behind.
    pub fn next_state_version(&self) -> i64 {
        self.chain.next_version()
    }

    /// Says that this transaction changes nothing that a comparison looks at: neither the accepted state, nor proposals,
    /// accepted drift or settings. Whoever is in doubt does not say it.
    pub fn keep_state(&mut self) {
        self.chain.keeps_state = true;
    }

    /// Tells an event with the rest of the transaction.
    pub fn event(&mut self, event: NewEvent) {
        self.chain.events.push(event);
    }

    /// Enters something into the audit log with the rest of the transaction.
    pub fn audit(&mut self, entry: AuditEntry) {
        self.chain.entries.push(entry);
    }

    /// Makes it true. Returns the number of the account's last event, for those who watch.
    pub async fn commit(mut self) -> Result<i64, StoreError> {
        if let Some(beside) = self.beside.take() {
            beside.append(&mut self.writing).await?;
        }
        let event_seq = self.chain.append(&mut self.writing).await?;
        tell_replicas(&mut self.writing.reading.connection, &self.replica_id).await?;
        self.writing.commit().await?;
        Ok(event_seq)
    }
}
