//! Crash histories of work, and quarantines. An attempt is counted before the work begins and uncounted after it ends.

use windlass_core::id::RepositoryId;
use windlass_core::quarantine::{CrashHistory, Quarantines, WorkSubject};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::values;
use crate::write::Writing;

impl Reading {
    /// The crash history of work. Valid only while no server is doing the work.
    pub async fn suspicion(&mut self, subject: WorkSubject<'_>) -> Result<CrashHistory, StoreError> {
        let sql = "SELECT begun, tries_alone FROM suspicions WHERE subject = $1";
        let rows = self.connection.rows(sql, values![subject.key()]).await?;
        let Some(row) = rows.first() else { return Ok(CrashHistory::default()) };
        Ok(CrashHistory { deaths: row.number("begun")?, tries_alone: row.number("tries_alone")? })
    }
}

impl Writing {
    /// Records that work with this crash history begins. If [`Writing::work_end`] is not called, a server crashed
    /// during it.
    pub async fn work_begin(
        &mut self,
        subject: WorkSubject<'_>,
        before: CrashHistory,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let after_begin = CrashHistory { deaths: before.deaths + 1, ..before };
        self.suspicion_put(subject, after_begin, now).await
    }

    /// Stores the crash history of work that ended.
    pub async fn work_end(
        &mut self,
        subject: WorkSubject<'_>,
        after: CrashHistory,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if after != CrashHistory::default() {
            return self.suspicion_put(subject, after, now).await;
        }
        let sql = "DELETE FROM suspicions WHERE subject = $1";
        self.connection.execute(sql, values![subject.key()]).await?;
        Ok(())
    }

    async fn suspicion_put(
        &mut self,
        subject: WorkSubject<'_>,
        suspicion: CrashHistory,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO suspicions (subject, begun, tries_alone, at) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (subject) DO UPDATE SET begun = excluded.begun, \
                   tries_alone = excluded.tries_alone, at = excluded.at";
        let values = values![subject.key(), suspicion.deaths, suspicion.tries_alone, now];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Deletes old crash histories of connection tests of repositories that are not registered: nobody could release
    /// them.
    pub async fn suspicions_of_tests_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("suspicions", "subject", "subject LIKE 'test:%' AND at < $1");
        self.delete_old(old, values![before], budget).await
    }

    /// Sets the quarantines of a repository.
    pub async fn repository_quarantine(
        &mut self,
        id: &RepositoryId,
        quarantines: &Quarantines,
    ) -> Result<(), StoreError> {
        let text = (!quarantines.is_empty())
            .then(|| serde_json::to_string(quarantines).expect("texts and numbers are JSON"));
        let sql = "UPDATE repositories SET quarantines = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, text]).await?;
        Ok(())
    }
}
