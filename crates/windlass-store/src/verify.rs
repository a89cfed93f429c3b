//! Checking the audit log while others write to it. A log whose first entries are archived is checked from its anchor
//! on.

use std::collections::BTreeMap;

use windlass_core::id::AccountId;

use crate::archive::records_archiving;
use crate::audit::AuditRecord;
use crate::audit_head::AuditHead;
use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::values;

/// The result of checking a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogVerification {
    /// Every entry is as it was written.
    Intact {
        /// How many.
        entries: i64,
        /// The hash of the last entry: keep it elsewhere to detect a truncated log.
        head: String,
    },
    /// From this entry on, the log differs from what was written.
    Broken {
        /// The first entry that is wrong.
        seq: i64,
        /// What is wrong with it.
        reason: String,
    },
}

/// What the log must contain, besides entries that follow one another and match its checkpoints.
#[derive(Clone, Debug, Default)]
pub struct ExpectedLog {
    /// The hash of an entry, whatever its number.
    pub hash: Option<String>,
    /// An entry that was seen earlier and is stored outside the database.
    pub seen: Option<AuditHead>,
}

/// Checks that entries follow one another, whether they are from the database or an archive.
#[derive(Clone, Debug)]
pub struct ChainCheck {
    account_id: AccountId,
    last: AuditHead,
}

impl ChainCheck {
    /// A check of the log of an account, after an entry that is known to be good.
    pub fn after(account_id: &AccountId, good: AuditHead) -> ChainCheck {
        ChainCheck { account_id: account_id.clone(), last: good }
    }

    /// What is wrong with the next entry, if anything is.
    pub fn check(&mut self, entry: &AuditRecord) -> Result<(), String> {
        if let Some(fault) = fault_of(entry, &self.account_id, &self.last) {
            return Err(fault);
        }
        self.last = AuditHead { seq: entry.seq, hash: entry.hash.clone() };
        Ok(())
    }

    /// The last entry that was good.
    pub fn head(&self) -> &AuditHead {
        &self.last
    }
}

/// Hashes of entries that are known from checkpoints and from outside the log, and are not found yet.
#[derive(Default)]
struct Known {
    at: BTreeMap<i64, String>,
    hash: Option<String>,
    /// The last archived entry, until an entry is found that records the archiving.
    unrecorded_anchor: Option<AuditHead>,
}

impl Known {
    /// What is wrong with an entry that is intact itself but contradicts what is known; none if nothing is wrong.
    fn contradicts(&mut self, entry: &AuditRecord) -> Option<String> {
        if self.hash.as_ref() == Some(&entry.hash) {
            self.hash = None;
        }
        if self.unrecorded_anchor.as_ref().is_some_and(|anchor| records_archiving(entry, anchor)) {
            self.unrecorded_anchor = None;
        }
        let known = self.at.remove(&entry.seq)?;
        (known != entry.hash).then(|| format!("a checkpoint has the hash {known}: the log was rewritten"))
    }

    /// What is still missing after the last entry.
    fn missing(&self, last: &AuditHead) -> Option<LogVerification> {
        let cut =
            self.at.keys().next().map(|seq| {
                format!("a checkpoint covers entry {seq}, which is missing: the log was truncated")
            });
        let unrecorded = self.unrecorded_anchor.as_ref().map(|anchor| {
            format!("no entry records that entries up to {} were archived: someone deleted them", anchor.seq)
        });
        let unseen = self.hash.as_ref().map(|hash| {
            format!(
                "no entry has the expected hash {hash}: it is archived, or the log was rewritten or truncated"
            )
        });
        cut.or(unrecorded).or(unseen).map(|reason| LogVerification::Broken { seq: last.seq, reason })
    }
}

impl Reading {
    /// Checks every entry of an account against its hash, the one before it and the account's checkpoints.
    pub async fn audit_verify(&mut self, account_id: &AccountId) -> Result<LogVerification, StoreError> {
        self.audit_verify_expecting(account_id, &ExpectedLog::default()).await
    }

    /// [`Reading::audit_verify`], and checks that the log contains what is expected.
    pub async fn audit_verify_expecting(
        &mut self,
        account_id: &AccountId,
        expected: &ExpectedLog,
    ) -> Result<LogVerification, StoreError> {
        loop {
            let anchor = self.audit_anchor(account_id).await?;
            let found = self.verify_whole(account_id, expected, anchor.as_ref()).await?;
            if !self.is_archived_since(account_id, &found, anchor.as_ref()).await? {
                return Ok(found);
            }
        }
    }

    /// Whether a log looks broken only because its first entries were archived while it was read.
    async fn is_archived_since(
        &mut self,
        account_id: &AccountId,
        found: &LogVerification,
        anchor: Option<&AuditHead>,
    ) -> Result<bool, StoreError> {
        let is_broken = matches!(found, LogVerification::Broken { .. });
        Ok(is_broken && self.audit_anchor(account_id).await?.as_ref() != anchor)
    }

    async fn verify_whole(
        &mut self,
        account_id: &AccountId,
        expected: &ExpectedLog,
        anchor: Option<&AuditHead>,
    ) -> Result<LogVerification, StoreError> {
        let broken = |seq, reason: &str| Ok(LogVerification::Broken { seq, reason: reason.to_owned() });
        let checkpoints = self.checkpoints(account_id, i64::MAX, i32::MAX as usize).await?;
        let mut at: BTreeMap<i64, String> =
            checkpoints.into_iter().map(|checkpoint| (checkpoint.seq, checkpoint.hash)).collect();
        if let Some(seen) = &expected.seen
            && at.insert(seen.seq, seen.hash.clone()).is_some_and(|hash| hash != seen.hash)
        {
            return broken(seen.seq, "its checkpoint differs from the one this server signed");
        }
        let mut hash = expected.hash.clone();
        if let Some(anchor) = anchor {
            // Entries before the anchor are in the archive. The checkpoint of the anchor covers them.
            if at.get(&anchor.seq) != Some(&anchor.hash) {
                return broken(
                    anchor.seq,
                    "it is the last archived entry, and its checkpoint differs or is missing",
                );
            }
            at = at.split_off(&(anchor.seq + 1));
            hash = hash.filter(|hash| *hash != anchor.hash);
        }
        let known = Known { at, hash, unrecorded_anchor: anchor.cloned() };
        // From the lowest number, to find entries that were inserted before the first.
        self.walk(account_id, anchor.cloned().unwrap_or_default(), i64::MIN, known).await
    }

    /// Checks the entries from the first of the good ones on, and that the log still contains the other good ones. For
    /// good entries that are archived, it uses the anchor instead; the caller must check the signature of the anchor.
    pub async fn audit_verify_through(
        &mut self,
        account_id: &AccountId,
        good: impl IntoIterator<Item = AuditHead>,
    ) -> Result<LogVerification, StoreError> {
        let good: BTreeMap<i64, String> = good.into_iter().map(|head| (head.seq, head.hash)).collect();
        loop {
            let anchor = self.audit_anchor(account_id).await?;
            let found = self.verify_from(account_id, good.clone(), anchor.as_ref()).await?;
            if !self.is_archived_since(account_id, &found, anchor.as_ref()).await? {
                return Ok(found);
            }
        }
    }

    async fn verify_from(
        &mut self,
        account_id: &AccountId,
        mut at: BTreeMap<i64, String>,
        anchor: Option<&AuditHead>,
    ) -> Result<LogVerification, StoreError> {
        if let Some(anchor) = anchor {
            at = at.split_off(&anchor.seq);
            if at.insert(anchor.seq, anchor.hash.clone()).is_some_and(|hash| hash != anchor.hash) {
                let reason = "it is the last archived entry, but not the signed one".to_owned();
                return Ok(LogVerification::Broken { seq: anchor.seq, reason });
            }
        }
        let from = at.pop_first().map(|(seq, hash)| AuditHead { seq, hash }).unwrap_or_default();
        let after = if from.seq == 0 { i64::MIN } else { from.seq };
        self.walk(account_id, from, after, Known { at, ..Known::default() }).await
    }

    /// Checks the entries with numbers greater than `after`. The first of them must follow the entry `from`.
    async fn walk(
        &mut self,
        account_id: &AccountId,
        from: AuditHead,
        mut after: i64,
        mut known: Known,
    ) -> Result<LogVerification, StoreError> {
        let broken = |seq, reason: &str| Ok(LogVerification::Broken { seq, reason: reason.to_owned() });
        let mut chain = ChainCheck::after(account_id, from);
        let mut expected_seq = 0;
        loop {
            let entries = self.audit_between(account_id, after, i64::MAX).await?;
            for entry in &entries {
                let next = chain.head().seq + 1;
                let fault = chain.check(entry).err().or_else(|| known.contradicts(entry));
                if let Some(reason) = fault {
                    return Ok(LogVerification::Broken { seq: entry.seq.min(next), reason });
                }
                after = entry.seq;
            }
            if !entries.is_empty() {
                continue;
            }
            let last = chain.head();
            match self.audit_head(account_id).await? {
                Some(head) if head == *last => {
                    let intact = LogVerification::Intact { entries: last.seq, head: last.hash.clone() };
                    return Ok(known.missing(last).unwrap_or(intact));
                }
                // The missing entries may have been written after the last read. They are committed together with the
                // head, so the next read must return them.
                Some(head) if head.seq > last.seq && expected_seq <= last.seq => expected_seq = head.seq,
                Some(head) if head.seq > last.seq => {
                    return broken(last.seq + 1, "the last entries are missing");
                }
                Some(_) => return broken(last.seq, "the last entries were modified"),
                None if last.seq == 0 => {
                    return Ok(LogVerification::Intact { entries: 0, head: String::new() });
                }
                None => return broken(last.seq, "the record of the last entry is missing"),
            }
        }
    }

    async fn audit_head(&mut self, account_id: &AccountId) -> Result<Option<AuditHead>, StoreError> {
        let sql = "SELECT audit_seq, audit_hash FROM chains WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first()
            .map(|row| Ok(AuditHead { seq: row.number("audit_seq")?, hash: row.text("audit_hash")? }))
            .transpose()
    }
}

fn fault_of(entry: &AuditRecord, account_id: &AccountId, last: &AuditHead) -> Option<String> {
    if entry.seq <= last.seq {
        return Some("it was inserted before the first".to_owned());
    }
    if entry.seq != last.seq + 1 {
        return Some(format!("entry {} is missing", last.seq + 1));
    }
    if entry.previous_hash != last.hash {
        return Some("it does not follow the entry before it".to_owned());
    }
    (entry.hash != entry.expected_hash(account_id)).then(|| "its content was modified".to_owned())
}
