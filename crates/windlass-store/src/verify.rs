//! Checking the audit log, while others go on writing to it.

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

/// An entry that others follow.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    seq: i64,
    hash: String,
}

impl Reading {
    /// Checks every entry of an account against its hash and the one before it.
    pub async fn audit_verify(&mut self, account_id: &str) -> Result<Verified, StoreError> {
        let broken = |seq, reason: &str| Ok(Verified::Broken { seq, reason: reason.to_owned() });
        let mut last = Head::default();
        // What was put in before the first entry is found too.
        let mut after = i64::MIN;
        let mut promised = 0;
        loop {
            let entries = self.audit_after(account_id, after).await?;
            for entry in &entries {
                if let Some(reason) = fault_of(entry, account_id, &last) {
                    return Ok(Verified::Broken { seq: entry.seq.min(last.seq + 1), reason });
                }
                last = Head { seq: entry.seq, hash: entry.hash.clone() };
                after = last.seq;
            }
            if !entries.is_empty() {
                continue;
            }
            match self.audit_head(account_id).await? {
                Some(head) if head == last => {
                    return Ok(Verified::Intact { entries: last.seq, head: last.hash });
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

    async fn audit_head(&mut self, account_id: &str) -> Result<Option<Head>, StoreError> {
        let sql = "SELECT audit_seq, audit_hash FROM chains WHERE account_id = $1";
        let mut rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first_mut().map(|row| Ok(Head { seq: row.number()?, hash: row.text()? })).transpose()
    }
}

fn fault_of(entry: &Audited, account_id: &str, last: &Head) -> Option<String> {
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
