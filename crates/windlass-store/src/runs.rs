//! Sync runs.

use serde_json::Value as Json;
use windlass_core::code::Code;
use windlass_core::gate::Contributors;
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::run::{Movement, Run, RunError, RunStatus, Stage, Trigger};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::proposals::{gap_slug, people_text, read_gap, read_people};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

const COLUMNS: &str = "id, account_id, repository_id, repository_name, trigger_kind, requested_by, \
                       confirm_mass_destroy, status, stage, attempt, commit_sha, commit_author, commit_email, \
                       commit_subject, commit_message, movement, diff, diff_count, remaining, skipped, problems, error_code, \
                       error_message, error_help, drift_after_apply, created_at, started_at, completed_at, applied_at, \
                       contributors, contributors_gap, plan_id, next_position, confirmed_commit";

/// The same columns, with empty values for those that can be long: commit message, diff, problems and drift.
const HEAD: &str = "id, account_id, repository_id, repository_name, trigger_kind, requested_by, \
                    confirm_mass_destroy, status, stage, attempt, commit_sha, commit_author, commit_email, \
                    commit_subject, NULL AS commit_message, movement, '{}' AS diff, diff_count, remaining, skipped, \
                    '[]' AS problems, error_code, error_message, error_help, NULL AS drift_after_apply, created_at, started_at, completed_at, applied_at, \
                    contributors, contributors_gap, plan_id, next_position, confirmed_commit";

fn read_run(row: &Row) -> Result<Run, StoreError> {
    Ok(Run {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        repository_name: row.text("repository_name")?,
        trigger: row.word("trigger_kind", Trigger::from_slug)?,
        requested_by: row.optional_text("requested_by")?,
        confirm_mass_destroy: row.boolean("confirm_mass_destroy")?,
        status: row.word("status", RunStatus::from_slug)?,
        stage: row.word("stage", Stage::from_slug)?,
        attempt: row.number("attempt")?,
        commit_sha: row.optional_text("commit_sha")?,
        commit_author: row.optional_text("commit_author")?,
        commit_email: row.optional_text("commit_email")?,
        commit_subject: row.optional_text("commit_subject")?,
        commit_message: row.optional_text("commit_message")?,
        movement: row.optional_word("movement", Movement::from_slug)?,
        diff: row.json("diff")?,
        diff_count: row.count("diff_count")?,
        remaining: row.count("remaining")?,
        skipped: row.json("skipped")?,
        problems: row.json("problems")?,
        error: read_error(row)?,
        drift_after_apply: row
            .optional_text("drift_after_apply")?
            .and_then(|text| serde_json::from_str(&text).ok()),
        created_at: row.timestamp("created_at")?,
        started_at: row.optional_timestamp("started_at")?,
        completed_at: row.optional_timestamp("completed_at")?,
        applied_at: row.optional_timestamp("applied_at")?,
        contributors: Contributors::kept(read_people(row)?, read_gap(row)?),
        plan_id: row.optional_id("plan_id")?,
        next_position: row
            .optional_number("next_position")?
            .and_then(|position| usize::try_from(position).ok()),
        confirmed_commit: row.optional_text("confirmed_commit")?,
    })
}

fn read_error(row: &Row) -> Result<Option<RunError>, StoreError> {
    let (code, message, help) = (
        row.optional_text("error_code")?,
        row.optional_text("error_message")?,
        row.optional_text("error_help")?,
    );
    Ok(code.map(|code| RunError {
        code,
        message: message.unwrap_or_default(),
        help: help.unwrap_or_default(),
    }))
}

impl Reading {
    /// A run of an account.
    pub async fn run(&mut self, account_id: &AccountId, id: &RunId) -> Result<Option<Run>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sync_runs WHERE id = $1 AND account_id = $2");
        let rows = self.connection.rows_built(sql, values![id, account_id]).await?;
        rows.first().map(read_run).transpose()
    }

    /// A run of an account without its commit message, diff, problems and drift.
    pub async fn run_head(&mut self, account_id: &AccountId, id: &RunId) -> Result<Option<Run>, StoreError> {
        let sql = format!("SELECT {HEAD} FROM sync_runs WHERE id = $1 AND account_id = $2");
        let rows = self.connection.rows_built(sql, values![id, account_id]).await?;
        rows.first().map(read_run).transpose()
    }

    /// Runs of an account, newest first, before an id; of one repository if given. Without commit messages, diffs,
    /// problems and drift.
    pub async fn runs(
        &mut self,
        account_id: &AccountId,
        repository_id: Option<&RepositoryId>,
        before: Option<&RunId>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        let mut sql = format!("SELECT {HEAD} FROM sync_runs WHERE account_id = $1");
        let mut values = values![account_id];
        if let Some(repository) = repository_id {
            values.extend(values![repository]);
            sql.push_str(&format!(" AND repository_id = ${}", values.len()));
        }
        if let Some(before) = before {
            values.extend(values![before]);
            sql.push_str(&format!(" AND id < ${}", values.len()));
        }
        sql.push_str(&format!(" ORDER BY id DESC LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_run).collect()
    }

    /// The newest run of a repository that read a commit, without its commit message, diff, problems and drift.
    pub async fn run_of_last_commit(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "SELECT {HEAD} FROM sync_runs WHERE repository_id = $1 AND account_id = $2 AND commit_sha IS NOT NULL \
             ORDER BY id DESC LIMIT 1"
        );
        let rows = self.connection.rows_built(sql, values![repository_id, account_id]).await?;
        rows.first().map(read_run).transpose()
    }

    /// The newest run of a repository that the mass-destroy guard stopped, without its commit message, diff, problems
    /// and drift.
    pub async fn run_last_stopped(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<Option<Run>, StoreError> {
        let sql = format!(
            "SELECT {HEAD} FROM sync_runs WHERE repository_id = $1 AND account_id = $2 AND error_code = $3 \
             ORDER BY id DESC LIMIT 1"
        );
        let values = values![repository_id, account_id, Code::MassDestroy.slug()];
        let rows = self.connection.rows_built(sql, values).await?;
        rows.first().map(read_run).transpose()
    }

    /// Unfinished runs of every account, oldest first.
    pub async fn runs_unfinished(&mut self) -> Result<Vec<Run>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sync_runs WHERE status = 'in_progress' ORDER BY id");
        let rows = self.connection.rows_built(sql, Vec::new()).await?;
        rows.iter().map(read_run).collect()
    }

    /// The queued run of a repository.
    pub async fn run_queued(&mut self, repository_id: &RepositoryId) -> Result<Option<Run>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM sync_runs WHERE repository_id = $1 AND stage = 'queued'");
        let rows = self.connection.rows_built(sql, values![repository_id]).await?;
        rows.first().map(read_run).transpose()
    }
}

impl Writing {
    /// Adds a queued run. False if one is queued already.
    pub async fn run_add(&mut self, run: &Run) -> Result<bool, StoreError> {
        let sql = "INSERT INTO sync_runs (id, account_id, repository_id, repository_name, trigger_kind, requested_by, \
                   confirm_mass_destroy, status, stage, attempt, diff, diff_count, remaining, skipped, problems, \
                   created_at, confirmed_commit) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '{}', 0, 0, '[]', '[]', $10, $11) \
                   ON CONFLICT DO NOTHING";
        let values = values![
            &run.id,
            &run.account_id,
            &run.repository_id,
            &run.repository_name,
            run.trigger.slug(),
            &run.requested_by,
            run.confirm_mass_destroy,
            run.status.slug(),
            run.stage.slug(),
            run.created_at,
            &run.confirmed_commit
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Makes a queued run the run of a person who requests a sync. It keeps its confirmation, if any, with the commit
    /// of the confirmation.
    pub async fn run_request(&mut self, id: &RunId, by: &str) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET trigger_kind = 'request', requested_by = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, by]).await?;
        Ok(())
    }

    /// Confirms for a queued run that destroying most of what its repository owns is intended: for this commit or,
    /// without one, for the commit that the run fetches.
    pub async fn run_confirm(&mut self, id: &RunId, commit: Option<&str>) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET confirm_mass_destroy = 1, confirmed_commit = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, commit]).await?;
        Ok(())
    }

    /// Changes the trigger of a queued run that would not have fetched from git to one that fetches.
    pub async fn run_set_trigger(&mut self, id: &RunId, trigger: Trigger) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET trigger_kind = $2 WHERE id = $1 AND stage = 'queued'";
        self.connection.execute(sql, values![id, trigger.slug()]).await?;
        Ok(())
    }

    /// Begins a run, or begins it again after a server crashed during it.
    pub async fn run_begin(&mut self, id: &RunId, now: Timestamp) -> Result<bool, StoreError> {
        let sql = "UPDATE sync_runs SET stage = 'fetching', started_at = $2, attempt = attempt + 1 \
                   WHERE id = $1 AND status = 'in_progress'";
        Ok(self.connection.execute(sql, values![id, now]).await? == 1)
    }

    /// Stores the stage of a run.
    pub async fn run_set_stage(&mut self, id: &RunId, stage: Stage) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET stage = $2 WHERE id = $1 AND status = 'in_progress'";
        self.connection.execute(sql, values![id, stage.slug()]).await?;
        Ok(())
    }

    /// Ends a run that is in progress, and stores its results. False if it had ended.
    pub async fn run_finish(&mut self, run: &Run) -> Result<bool, StoreError> {
        let sql = "UPDATE sync_runs SET status = $2, stage = 'finished', commit_sha = $3, commit_author = $4, \
                   commit_email = $5, commit_subject = $6, movement = $7, diff = $8, diff_count = $9, remaining = $10, \
                   skipped = $11, problems = $12, error_code = $13, error_message = $14, error_help = $15, \
                   completed_at = $16, commit_message = $17, contributors = $18, contributors_gap = $19 \
                   WHERE id = $1 AND status = 'in_progress'";
        let error = run.error.as_ref();
        let values = values![
            &run.id,
            run.status.slug(),
            &run.commit_sha,
            &run.commit_author,
            &run.commit_email,
            &run.commit_subject,
            run.movement.map(Movement::slug),
            run.diff.to_string(),
            run.diff_count,
            run.remaining,
            run.skipped.to_string(),
            run.problems.to_string(),
            error.map(|error| error.code.as_str()),
            error.map(|error| error.message.as_str()),
            error.map(|error| error.help.as_str()),
            run.completed_at,
            &run.commit_message,
            people_text(&run.contributors),
            gap_slug(&run.contributors)
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Changes the status of a run after its proposals changed their states.
    pub async fn run_set_status(
        &mut self,
        id: &RunId,
        status: RunStatus,
        drift_after_apply: Option<&Json>,
        applied_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET status = $2, drift_after_apply = $3, applied_at = $4 \
                   WHERE id = $1 AND stage = 'finished'";
        let drift = drift_after_apply.map(ToString::to_string);
        self.connection.execute(sql, values![id, status.slug(), drift, applied_at]).await?;
        Ok(())
    }

    /// Deletes finished runs older than `before`, failed and partial ones older than `failed_before`; never the last
    /// run or the last good run of a repository, or a run with open proposals.
    pub async fn runs_delete_old(
        &mut self,
        before: Timestamp,
        failed_before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        const OLD: &str = "SELECT old.id FROM sync_runs AS old WHERE stage = 'finished' AND created_at < $1 \
                           AND (created_at < $2 OR status NOT IN ('failed', 'partial')) \
                           AND id NOT IN (SELECT last_run_id FROM repositories WHERE last_run_id IS NOT NULL) \
                           AND id NOT IN (SELECT good_run_id FROM repositories WHERE good_run_id IS NOT NULL) \
                           AND NOT EXISTS (SELECT 1 FROM run_proposals JOIN proposals \
                           ON proposals.id = run_proposals.proposal_id WHERE run_proposals.run_id = old.id \
                           AND proposals.status IN ('pending_approval', 'approved'))";
        let values = || values![before, failed_before];
        // A run may have more proposals than one transaction may delete: the run is deleted after the last of these
        // rows.
        let members = format!("run_id IN ({OLD} LIMIT $3)");
        let members = OldRows::new("run_proposals", "run_id, proposal_id", members);
        self.delete_old(members, values(), budget).await?;
        let alone = "NOT EXISTS (SELECT 1 FROM run_proposals WHERE run_proposals.run_id = old.id)";
        let runs = OldRows::new("sync_runs", "id", format!("id IN ({OLD} AND {alone} LIMIT $3)"));
        self.delete_old(runs, values(), budget).await
    }
}
