//! Reports to forges, as an outbox: a report is stored in the transaction of the change that it reports, and sent
//! later.

use windlass_core::digest::Digest;
pub use windlass_core::forge::{ReportKind, ReportState};
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

/// A report for a forge to show.
#[derive(Clone, Copy, Debug)]
pub struct NewForgeReport<'r> {
    /// The repository's account.
    pub account_id: &'r AccountId,
    /// The repository.
    pub repository_id: &'r RepositoryId,
    /// How the forge shows it.
    pub kind: ReportKind,
    /// The commit, or the number of the pull request.
    pub subject: &'r str,
    /// Its text.
    pub content: &'r str,
    /// The run that it is about.
    pub run_id: Option<&'r RunId>,
}

/// A report for a forge to show, with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeReport {
    /// The repository's account.
    pub account_id: AccountId,
    /// The repository.
    pub repository_id: RepositoryId,
    /// How the forge shows it.
    pub kind: ReportKind,
    /// The commit, or the number of the pull request.
    pub subject: String,
    /// Its text.
    pub content: String,
    /// The digest of the text.
    pub digest: Digest,
    /// The run that it is about.
    pub run_id: Option<RunId>,
    /// Its state.
    pub state: ReportState,
    /// How often sending this text failed.
    pub attempts: i64,
    /// When the next attempt is due.
    pub next_at: Timestamp,
    /// Why the last attempt failed.
    pub last_error: Option<String>,
    /// When the report or its state last changed.
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "account_id, repository_id, kind, subject, content, digest, run_id, state, attempts, next_at, \
                       last_error, updated_at";

fn read_report(row: &Row) -> Result<ForgeReport, StoreError> {
    Ok(ForgeReport {
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        kind: row.word("kind", ReportKind::from_slug)?,
        subject: row.text("subject")?,
        content: row.text("content")?,
        digest: row.digest("digest")?,
        run_id: row.optional_id("run_id")?,
        state: row.word("state", ReportState::from_slug)?,
        attempts: row.number("attempts")?,
        next_at: row.timestamp("next_at")?,
        last_error: row.optional_text("last_error")?,
        updated_at: row.timestamp("updated_at")?,
    })
}

impl Reading {
    /// Reports of every account that are due, including those due later than `latest`, which were scheduled before the
    /// clock was set back. Accounts take turns, and so do the repositories of an account; otherwise the longest due
    /// come first.
    pub async fn forge_reports_due(
        &mut self,
        now: Timestamp,
        latest: Timestamp,
        limit: usize,
    ) -> Result<Vec<ForgeReport>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM (SELECT due.*, ROW_NUMBER() OVER (PARTITION BY account_id \
             ORDER BY in_lane, next_at, repository_id) AS in_account FROM (SELECT forge_reports.*, ROW_NUMBER() OVER \
             (PARTITION BY repository_id ORDER BY next_at, kind, subject) AS in_lane FROM forge_reports \
             WHERE state = 'waiting' AND (next_at <= $1 OR next_at > $2)) AS due) AS fair \
             ORDER BY in_account, next_at, repository_id, kind, subject LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, values![now, latest]).await?;
        rows.iter().map(read_report).collect()
    }

    /// Whether a report is still waiting and unchanged since it was read.
    pub async fn forge_report_is_current(&mut self, report: &ForgeReport) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM forge_reports WHERE repository_id = $1 AND kind = $2 AND subject = $3 \
                   AND digest = $4 AND attempts = $5 AND state = 'waiting'";
        let (id, kind) = (&report.repository_id, report.kind.slug());
        let values = values![id, kind, &report.subject, report.digest, report.attempts];
        Ok(!self.connection.rows(sql, values).await?.is_empty())
    }

    /// The reports of one kind of a repository, the last changed first.
    pub async fn forge_reports(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
        kind: ReportKind,
        limit: usize,
    ) -> Result<Vec<ForgeReport>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM forge_reports WHERE repository_id = $1 AND kind = $2 AND account_id = $3 \
             ORDER BY updated_at DESC, subject LIMIT {limit}"
        );
        let values = values![repository_id, kind.slug(), account_id];
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_report).collect()
    }
}

impl Writing {
    /// Stores a report to be sent. False if the stored report has the same text.
    pub async fn forge_report_put(
        &mut self,
        report: &NewForgeReport<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "INSERT INTO forge_reports (account_id, repository_id, kind, subject, content, digest, run_id, state, \
                   attempts, next_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', 0, $8, $8) \
                   ON CONFLICT (repository_id, kind, subject) DO UPDATE SET account_id = excluded.account_id, \
                   content = excluded.content, digest = excluded.digest, run_id = excluded.run_id, state = 'waiting', \
                   attempts = 0, next_at = excluded.next_at, last_error = NULL, updated_at = excluded.updated_at \
                   WHERE forge_reports.digest <> excluded.digest";
        let values = values![
            report.account_id,
            report.repository_id,
            report.kind.slug(),
            report.subject,
            report.content,
            Digest::of(report.content.as_bytes()),
            report.run_id,
            now
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Records that a report was sent. False if it was replaced meanwhile.
    pub async fn forge_report_mark_sent(
        &mut self,
        report: &ForgeReport,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE forge_reports SET state = 'sent', attempts = 0, last_error = NULL, updated_at = $5 \
                   WHERE repository_id = $1 AND kind = $2 AND subject = $3 AND digest = $4 AND state = 'waiting'";
        let values = values![&report.repository_id, report.kind.slug(), &report.subject, report.digest, now];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Records that sending a report failed. The next attempt is due at `next_at`; without it there is none. False if
    /// the report was replaced meanwhile.
    pub async fn forge_report_mark_failed(
        &mut self,
        report: &ForgeReport,
        error: &str,
        next_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let state = if next_at.is_some() { ReportState::Waiting } else { ReportState::Failed };
        let sql = "UPDATE forge_reports SET state = $5, attempts = attempts + 1, next_at = $6, last_error = $7, \
                   updated_at = $8 WHERE repository_id = $1 AND kind = $2 AND subject = $3 AND digest = $4 \
                   AND state = 'waiting'";
        let values = values![
            &report.repository_id,
            report.kind.slug(),
            &report.subject,
            report.digest,
            state.slug(),
            next_at.unwrap_or(report.next_at),
            error,
            now
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Makes all reports of a repository that could not be sent due again, because its settings changed.
    pub async fn forge_reports_retry(
        &mut self,
        repository_id: &RepositoryId,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let sql = "UPDATE forge_reports SET state = 'waiting', attempts = 0, next_at = $2, updated_at = $2 \
                   WHERE repository_id = $1 AND (state = 'failed' OR (state = 'waiting' AND attempts > 0))";
        self.connection.execute(sql, values![repository_id, now]).await
    }

    /// Deletes the reports of a repository whose status reporting was turned off.
    pub async fn forge_reports_remove(&mut self, repository_id: &RepositoryId) -> Result<(), StoreError> {
        let sql = "DELETE FROM forge_reports WHERE repository_id = $1";
        self.connection.execute(sql, values![repository_id]).await?;
        Ok(())
    }

    /// Deletes reports that did not change since a time.
    pub async fn forge_reports_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("forge_reports", "repository_id, kind, subject", "updated_at < $1");
        self.delete_old(old, values![before], budget).await
    }
}
