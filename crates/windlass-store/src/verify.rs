//! Checking the audit log, while others go on writing to it.

use std::collections::BTreeMap;

use crate::audit::{Audited, COLUMNS, read_audited};
use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::values;

/// What checking the log found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// Every entry is as it was written.
    Intact {
        /// How many.
        entries: i64,
        /// The hash of the last: what to keep elsewhere to notice a log cut short.
        head: String,
    },
    /// From this entry on, the log is not what was written.
    Broken {
        /// The first entry that is wrong.
        seq: i64,
        /// What is wrong with it.
        reason: String,
    },
}

/// Entries read at a time.
const AT_ONCE: i64 = 2_000;

/// An entry that others follow; number 0 without a hash is the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    /// Its number.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
}

/// What the log must hold, besides entries that follow one another and match its checkpoints.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The hash of an entry, whatever its number.
    pub hash: Option<String>,
    /// An entry that was seen before, kept outside the database.
    pub seen: Option<AuditHead>,
}

/// The places of a log whose hashes are known from elsewhere, while it is walked.
struct Known {
    at: BTreeMap<i64, String>,
    hash: Option<String>,
}

impl Known {
    /// What is wrong with an entry that itself is whole.
    fn contradicts(&mut self, entry: &Audited) -> Option<String> {
        if self.hash.as_ref() == Some(&entry.hash) {
            self.hash = None;
        }
        let known = self.at.remove(&entry.seq)?;
        (known != entry.hash)
            .then(|| format!("a checkpoint gives it the hash {known}: the log was written anew"))
    }

    /// What is missing at the end.
    fn missing(&self, last: &AuditHead) -> Option<Verified> {
        let cut = self.at.keys().next().map(|seq| {
            format!("a checkpoint tells of entry {seq}, which is not there: the log was cut short")
        });
        let unseen = self.hash.as_ref().map(|hash| {
            format!("no entry has the expected hash {hash}: the log was written anew or cut short")
        });
        cut.or(unseen).map(|reason| Verified::Broken { seq: last.seq, reason })
    }
}

impl Reading {
    /// Checks every entry of an account against its hash, the one before it and the account's checkpoints.
    pub async fn audit_verify(&mut self, account_id: &str) -> Result<Verified, StoreError> {
        self.audit_verify_expecting(account_id, &Expected::default()).await
    }

    /// The same, and that the log holds what is expected.
    pub async fn audit_verify_expecting(
        &mut self,
        account_id: &str,
        expected: &Expected,
    ) -> Result<Verified, StoreError> {
        let checkpoints = self.checkpoints(account_id, i64::MAX, i32::MAX as usize).await?;
        let mut at: BTreeMap<i64, String> =
            checkpoints.into_iter().map(|checkpoint| (checkpoint.seq, checkpoint.hash)).collect();
        if let Some(seen) = &expected.seen
            && at.insert(seen.seq, seen.hash.clone()).is_some_and(|hash| hash != seen.hash)
        {
            let reason = "its checkpoint is not the one this server signed".to_owned();
            return Ok(Verified::Broken { seq: seen.seq, reason });
        }
        let known = Known { at, hash: expected.hash.clone() };
        self.walk(account_id, AuditHead::default(), known).await
    }

    /// Checks the entries from the first that is known to be good on, and that the log still holds the others that are.
    pub async fn audit_verify_through(
        &mut self,
        account_id: &str,
        good: impl IntoIterator<Item = AuditHead>,
    ) -> Result<Verified, StoreError> {
        let mut at: BTreeMap<i64, String> = good.into_iter().map(|head| (head.seq, head.hash)).collect();
        let from = at.pop_first().map(|(seq, hash)| AuditHead { seq, hash }).unwrap_or_default();
        self.walk(account_id, from, Known { at, hash: None }).await
    }

    async fn walk(
        &mut self,
        account_id: &str,
        from: AuditHead,
        mut known: Known,
    ) -> Result<Verified, StoreError> {
        let broken = |seq, reason: &str| Ok(Verified::Broken { seq, reason: reason.to_owned() });
        // What was put in before the first entry is found too.
        let mut after = if from.seq == 0 { i64::MIN } else { from.seq };
        let mut last = from;
        let mut promised = 0;
        loop {
            let entries = self.audit_after(account_id, after).await?;
            for entry in &entries {
                let fault = fault_of(entry, account_id, &last).or_else(|| known.contradicts(entry));
                if let Some(reason) = fault {
                    return Ok(Verified::Broken { seq: entry.seq.min(last.seq + 1), reason });
                }
                last = AuditHead { seq: entry.seq, hash: entry.hash.clone() };
                after = last.seq;
            }
            if !entries.is_empty() {
                continue;
            }
            match self.audit_head(account_id).await? {
                Some(head) if head == last => {
                    let intact = Verified::Intact { entries: last.seq, head: last.hash.clone() };
                    return Ok(known.missing(&last).unwrap_or(intact));
                }
                // Perhaps written since the last look: what the head counts is there when the head is.
                Some(head) if head.seq > last.seq && promised <= last.seq => promised = head.seq,
                Some(head) if head.seq > last.seq => {
                    return broken(last.seq + 1, "the last entries are missing");
                }
                Some(_) => return broken(last.seq, "the last entries are not those that were written"),
                None if last.seq == 0 => return Ok(Verified::Intact { entries: 0, head: String::new() }),
                None => return broken(last.seq, "what the last entry was is not known any more"),
            }
        }
    }

    async fn audit_after(&mut self, account_id: &str, seq: i64) -> Result<Vec<Audited>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM audit WHERE account_id = $1 AND seq > $2 ORDER BY seq LIMIT {AT_ONCE}"
        );
        let mut rows = self.connection.rows_built(sql, values![account_id, seq]).await?;
        rows.iter_mut().map(read_audited).collect()
    }

    async fn audit_head(&mut self, account_id: &str) -> Result<Option<AuditHead>, StoreError> {
        let sql = "SELECT audit_seq, audit_hash FROM chains WHERE account_id = $1";
        let mut rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first_mut().map(|row| Ok(AuditHead { seq: row.number()?, hash: row.text()? })).transpose()
    }
}

fn fault_of(entry: &Audited, account_id: &str, last: &AuditHead) -> Option<String> {
    if entry.seq <= last.seq {
        return Some("it was put in before the first".to_owned());
    }
    if entry.seq != last.seq + 1 {
        return Some(format!("entry {} is missing", last.seq + 1));
    }
    if entry.previous_hash != last.hash {
        return Some("it does not follow the entry before it".to_owned());
    }
    (entry.hash != entry.expected_hash(account_id)).then(|| "its content is not what was written".to_owned())
}
