//! Plans of runs: their changes, in order, by digests.
//!
//! The changes of a plan are kept only while it is the newest of its repository: for older plans, the proposals that
//! were opened from them show what was planned.

use std::collections::BTreeSet;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, PlanId, RepositoryId, RunId};
use windlass_core::plan::{ChangeSet, StoredPlan, StoredStep};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::retention::RowBudget;
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// Changes in one row.
const STEPS_PER_ROW: usize = 250;

/// A plan, without its changes.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanRecord {
    /// Its id.
    pub id: PlanId,
    /// Its account.
    pub account_id: AccountId,
    /// Its repository.
    pub repository_id: RepositoryId,
    /// The first run with this plan.
    pub run_id: RunId,
    /// The previous plan of the repository.
    pub parent_id: Option<PlanId>,
    /// The plan's digest.
    pub digest: Digest,
    /// How many changes it has.
    pub steps: usize,
    /// The plan sets: the whole plan first, then groups.
    pub sets: Vec<ChangeSet>,
    /// The commit for which someone confirmed that it destroys most of what the repository owns.
    pub confirmed_commit: Option<String>,
    /// When it was first made.
    pub created_at: Timestamp,
}

/// A run whose plan has changes for which proposals are not opened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnopenedPlan {
    /// The run.
    pub run_id: RunId,
    /// Its repository.
    pub repository_id: RepositoryId,
    /// Its plan.
    pub plan_id: PlanId,
    /// The position of the first such change.
    pub next_position: usize,
}

const COLUMNS: &str = "plans.id, plans.account_id, plans.repository_id, plans.run_id, plans.parent_id, plans.digest, \
                       plans.steps, plans.sets, plans.confirmed_commit, plans.created_at";

fn read_plan(row: &Row) -> Result<PlanRecord, StoreError> {
    Ok(PlanRecord {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        run_id: row.id("run_id")?,
        parent_id: row.optional_id("parent_id")?,
        digest: row.digest("digest")?,
        steps: row.count("steps")?,
        sets: row.json("sets")?,
        confirmed_commit: row.optional_text("confirmed_commit")?,
        created_at: row.timestamp("created_at")?,
    })
}

impl Reading {
    /// The newest plan of a repository.
    pub async fn plan_newest(
        &mut self,
        repository_id: &RepositoryId,
    ) -> Result<Option<PlanRecord>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM plans WHERE repository_id = $1 ORDER BY id DESC LIMIT 1");
        let rows = self.connection.rows_built(sql, values![repository_id]).await?;
        rows.first().map(read_plan).transpose()
    }

    /// The plan of a run of an account; none if the run found no changes, or the plan was deleted because of its age.
    pub async fn plan_of_run(
        &mut self,
        account_id: &AccountId,
        run_id: &RunId,
    ) -> Result<Option<PlanRecord>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM sync_runs JOIN plans ON plans.id = sync_runs.plan_id \
             WHERE sync_runs.id = $1 AND sync_runs.account_id = $2"
        );
        let rows = self.connection.rows_built(sql, values![run_id, account_id]).await?;
        rows.first().map(read_plan).transpose()
    }

    /// The changes of a plan, in order; empty if the plan is not the newest of its repository.
    pub async fn plan_steps(&mut self, plan_id: &PlanId) -> Result<Vec<StoredStep>, StoreError> {
        let sql = "SELECT steps FROM plan_steps WHERE plan_id = $1 ORDER BY position";
        let mut steps = Vec::new();
        for row in &self.connection.rows(sql, values![plan_id]).await? {
            steps.extend(row.json::<Vec<StoredStep>>("steps")?);
        }
        Ok(steps)
    }

    /// Changes of a plan from a position on, each with its position: at most those of one stored row.
    pub async fn plan_steps_from(
        &mut self,
        plan_id: &PlanId,
        position: usize,
    ) -> Result<Vec<(usize, StoredStep)>, StoreError> {
        let first = position / STEPS_PER_ROW * STEPS_PER_ROW;
        let sql = "SELECT steps FROM plan_steps WHERE plan_id = $1 AND position = $2";
        let rows = self.connection.rows(sql, values![plan_id, first]).await?;
        let Some(row) = rows.first() else { return Ok(Vec::new()) };
        let steps: Vec<StoredStep> = row.json("steps")?;
        Ok(steps
            .into_iter()
            .enumerate()
            .map(|(index, step)| (first + index, step))
            .filter(|(at, _)| *at >= position)
            .collect())
    }

    /// Runs of an account whose plan has changes for which proposals are not opened yet: only the last good run of each
    /// repository.
    pub async fn plans_unopened(&mut self, account_id: &AccountId) -> Result<Vec<UnopenedPlan>, StoreError> {
        let sql = "SELECT sync_runs.id, sync_runs.repository_id, sync_runs.plan_id, sync_runs.next_position \
                   FROM sync_runs JOIN repositories ON repositories.good_run_id = sync_runs.id \
                   WHERE sync_runs.account_id = $1 AND sync_runs.next_position IS NOT NULL \
                   AND sync_runs.plan_id IS NOT NULL ORDER BY sync_runs.id";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter()
            .map(|row| {
                Ok(UnopenedPlan {
                    run_id: row.id("id")?,
                    repository_id: row.id("repository_id")?,
                    plan_id: row.id("plan_id")?,
                    next_position: row.count("next_position")?,
                })
            })
            .collect()
    }

    /// Those of these changes of a repository that were applied as planned, by the digests that approvals refer to.
    pub async fn steps_applied(
        &mut self,
        repository_id: &RepositoryId,
        steps: &[StoredStep],
    ) -> Result<BTreeSet<Digest>, StoreError> {
        let given = steps.iter().map(|step| values![repository_id, step.kind.slug(), &step.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT proposals.kind, proposals.name, proposals.base_digest, proposals.desired_digest \
                      FROM given CROSS JOIN proposals WHERE proposals.repository_id = given.repository_id \
                      AND proposals.kind = given.kind AND proposals.name = given.name \
                      AND proposals.status = 'applied' AND proposals.edited_digest IS NULL";
        let rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter()
            .map(|row| {
                let kind = row.word("kind", Kind::from_word)?;
                let key = ResourceKey::new(kind, row.text("name")?);
                Ok(windlass_core::gate::approval_digest(
                    &key,
                    row.optional_digest("base_digest")?,
                    row.optional_digest("desired_digest")?,
                ))
            })
            .collect()
    }
}

impl Writing {
    /// Stores a plan with its changes, and deletes the changes of the repository's earlier plans.
    pub async fn plan_add(&mut self, record: &PlanRecord, plan: &StoredPlan) -> Result<(), StoreError> {
        let sql = "DELETE FROM plan_steps WHERE plan_id IN (SELECT id FROM plans WHERE repository_id = $1)";
        self.connection.execute(sql, values![&record.repository_id]).await?;
        let sql = "INSERT INTO plans (id, account_id, repository_id, run_id, parent_id, digest, steps, sets, \
                   confirmed_commit, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let values = values![
            &record.id,
            &record.account_id,
            &record.repository_id,
            &record.run_id,
            &record.parent_id,
            record.digest,
            record.steps,
            json_text(&record.sets),
            &record.confirmed_commit,
            record.created_at
        ];
        self.connection.execute(sql, values).await?;
        let row = |(index, steps): (usize, &[StoredStep])| -> Vec<Value> {
            values![&record.id, index * STEPS_PER_ROW, json_text(&steps)]
        };
        let rows = plan.steps.chunks(STEPS_PER_ROW).enumerate().map(row).collect();
        self.connection
            .execute_many("INSERT INTO plan_steps (plan_id, position, steps) VALUES", rows, "")
            .await?;
        Ok(())
    }

    /// Records for which commit someone confirmed that a plan destroys most of what its repository owns.
    pub async fn plan_confirm(&mut self, id: &PlanId, commit: &str) -> Result<(), StoreError> {
        let sql = "UPDATE plans SET confirmed_commit = $2 WHERE id = $1";
        self.connection.execute(sql, values![id, commit]).await?;
        Ok(())
    }

    /// Records the plan of a run, and the position of the first change for which no proposal is opened yet.
    pub async fn run_set_plan(
        &mut self,
        run_id: &RunId,
        plan_id: Option<&PlanId>,
        next_position: Option<usize>,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE sync_runs SET plan_id = $2, next_position = $3 WHERE id = $1";
        let next = next_position.map_or(Value::Number(None), Value::from);
        self.connection.execute(sql, vec![run_id.into(), plan_id.into(), next]).await?;
        Ok(())
    }

    /// Records that proposals were opened for changes of a run's plan: how many are left, and the position of the first
    /// one. False if another replica did it meanwhile.
    pub async fn run_record_opened(
        &mut self,
        unopened: &UnopenedPlan,
        remaining: usize,
        next_position: Option<usize>,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE sync_runs SET remaining = $3, next_position = $4 WHERE id = $1 AND next_position = $2";
        let next = next_position.map_or(Value::Number(None), Value::from);
        let values = vec![(&unopened.run_id).into(), unopened.next_position.into(), remaining.into(), next];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes plans older than a time that no run refers to. The approvals of their sets are kept. Each plan is
    /// deleted completely, because a plan without some of its changes would be wrong; so the last one may need more
    /// rows than the budget has left.
    pub async fn plans_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        if budget.is_spent() {
            return Ok(0);
        }
        let sql = "SELECT plans.id, (SELECT COUNT(*) AS count FROM plan_steps WHERE plan_steps.plan_id = plans.id) AS parts FROM plans \
                   WHERE created_at < $1 AND NOT EXISTS (SELECT 1 FROM sync_runs WHERE sync_runs.plan_id = plans.id) \
                   LIMIT $2";
        let mut ids: Vec<Vec<Value>> = Vec::new();
        for row in &self.connection.rows(sql, values![before, budget.rows_left()]).await? {
            if budget.is_spent() {
                break;
            }
            ids.push(values![&row.id::<PlanId>("id")?]);
            budget.spend(1 + row.count("parts")? as u64);
        }
        for prefix in
            ["DELETE FROM plan_steps WHERE plan_id IN (VALUES", "DELETE FROM plans WHERE id IN (VALUES"]
        {
            self.connection.execute_many(prefix, ids.clone(), ")").await?;
        }
        Ok(ids.len() as u64)
    }
}

fn json_text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("digests, words and numbers are JSON")
}
