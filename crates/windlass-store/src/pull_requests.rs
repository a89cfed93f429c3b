//! Pull requests to preview: a forge's webhook adds a row, and the preview removes it.

use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::quarantine::WorkSubject;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// A pull request to preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPullRequest {
    /// The repository's account.
    pub account_id: AccountId,
    /// The repository.
    pub repository_id: RepositoryId,
    /// Its number there.
    pub number: i64,
    /// The git reference of its head.
    pub reference: String,
    /// The commit that the forge reported.
    pub commit_sha: String,
    /// How often the preview failed.
    pub attempts: i64,
}

impl PendingPullRequest {
    /// The subject for which crashes during its preview are counted.
    pub fn subject(&self) -> WorkSubject<'_> {
        WorkSubject::PullRequest(&self.repository_id, self.number)
    }
}

fn read_pending(row: &Row) -> Result<PendingPullRequest, StoreError> {
    Ok(PendingPullRequest {
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        number: row.number("number")?,
        reference: row.text("reference")?,
        commit_sha: row.text("commit_sha")?,
        attempts: row.number("attempts")?,
    })
}

impl Reading {
    /// Pull requests of every account that are due, including those due later than `latest`, which were scheduled
    /// before the clock was set back. Accounts take turns, and so do the repositories of an account.
    pub async fn pull_requests_due(
        &mut self,
        now: Timestamp,
        latest: Timestamp,
        limit: usize,
    ) -> Result<Vec<PendingPullRequest>, StoreError> {
        let sql = format!(
            "SELECT account_id, repository_id, number, reference, commit_sha, attempts FROM \
             (SELECT due.*, ROW_NUMBER() OVER (PARTITION BY account_id ORDER BY in_lane, next_at, repository_id, number) \
             AS in_account FROM (SELECT waiting.*, ROW_NUMBER() OVER (PARTITION BY repository_id \
             ORDER BY next_at, number) AS in_lane FROM (SELECT * FROM pull_requests WHERE next_at <= $1 \
             UNION ALL SELECT * FROM pull_requests WHERE next_at > $2) AS waiting) AS due) AS fair ORDER BY in_account, next_at, repository_id, number LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![now, latest]).await?;
        rows.iter().map(read_pending).collect()
    }
}

impl Writing {
    /// Schedules the preview of a pull request, and replaces one that is scheduled already. A pull request with a crash
    /// history keeps its time: previewing it delays all other work, and its author must not decide how often that
    /// happens.
    pub async fn pull_request_add(
        &mut self,
        pending: &PendingPullRequest,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO pull_requests (account_id, repository_id, number, reference, commit_sha, attempts, next_at) \
                   VALUES ($1, $2, $3, $4, $5, 0, $6) ON CONFLICT (repository_id, number) DO UPDATE SET \
                   reference = excluded.reference, commit_sha = excluded.commit_sha, \
                   attempts = CASE WHEN EXISTS (SELECT 1 FROM suspicions WHERE subject = $7) \
                   THEN pull_requests.attempts ELSE 0 END, \
                   next_at = CASE WHEN EXISTS (SELECT 1 FROM suspicions WHERE subject = $7) \
                   THEN pull_requests.next_at ELSE excluded.next_at END";
        let PendingPullRequest { account_id, repository_id, number, reference, commit_sha, .. } = pending;
        let subject = pending.subject().key();
        let values = values![account_id, repository_id, *number, reference, commit_sha, now, subject];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Deletes a pull request that was previewed. False if it was scheduled anew meanwhile.
    pub async fn pull_request_delete(&mut self, pending: &PendingPullRequest) -> Result<bool, StoreError> {
        let sql = "DELETE FROM pull_requests WHERE repository_id = $1 AND number = $2 AND commit_sha = $3 \
                   AND attempts = $4";
        let values = values![&pending.repository_id, pending.number, &pending.commit_sha, pending.attempts];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes a pull request that was closed, unless it has a crash history: closing and reopening it must not make it
    /// due immediately.
    pub async fn pull_request_delete_closed(
        &mut self,
        repository_id: &RepositoryId,
        number: i64,
    ) -> Result<(), StoreError> {
        let sql = "DELETE FROM pull_requests WHERE repository_id = $1 AND number = $2 \
                   AND NOT EXISTS (SELECT 1 FROM suspicions WHERE subject = $3)";
        let subject = WorkSubject::PullRequest(repository_id, number).key();
        self.connection.execute(sql, values![repository_id, number, subject]).await?;
        Ok(())
    }

    /// Postpones a pull request after its preview failed.
    pub async fn pull_request_reschedule(
        &mut self,
        pending: &PendingPullRequest,
        next_at: Timestamp,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE pull_requests SET attempts = attempts + 1, next_at = $5 WHERE repository_id = $1 \
                   AND number = $2 AND commit_sha = $3 AND attempts = $4";
        let values =
            values![&pending.repository_id, pending.number, &pending.commit_sha, pending.attempts, next_at];
        self.connection.execute(sql, values).await?;
        Ok(())
    }
}
