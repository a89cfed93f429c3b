//! Approvals of sets: a whole plan, or a group of identical changes in it.

use std::collections::BTreeSet;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, ApprovalSetId, PlanId, RepositoryId};
use windlass_core::plan::SetScope;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// Someone's approval of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSet {
    /// Its id.
    pub id: ApprovalSetId,
    /// Its account.
    pub account_id: AccountId,
    /// The repository of the plan.
    pub repository_id: RepositoryId,
    /// The plan. A newer plan replaces it as long as the set stays the same.
    pub plan_id: PlanId,
    /// Which changes of the plan.
    pub scope: SetScope,
    /// The digest that was approved.
    pub digest: Digest,
    /// How many changes it had.
    pub members: usize,
    /// How many of them destroy something.
    pub destroys: usize,
    /// Who approved.
    pub approver: String,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
    /// Since when and why it no longer counts.
    pub lapsed: Option<(Timestamp, String)>,
}

const COLUMNS: &str = "id, account_id, repository_id, plan_id, group_digest, digest, members, destroys, approver, \
                       reason, at, fallen_at, fallen_reason";

fn read_set(row: &Row) -> Result<ApprovalSet, StoreError> {
    Ok(ApprovalSet {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        repository_id: row.id("repository_id")?,
        plan_id: row.id("plan_id")?,
        scope: row.optional_digest("group_digest")?.map_or(SetScope::Plan, SetScope::Group),
        digest: row.digest("digest")?,
        members: row.count("members")?,
        destroys: row.count("destroys")?,
        approver: row.text("approver")?,
        reason: row.optional_text("reason")?,
        at: row.timestamp("at")?,
        lapsed: {
            let (at, reason) = (row.optional_timestamp("fallen_at")?, row.optional_text("fallen_reason")?);
            at.map(|at| (at, reason.unwrap_or_default()))
        },
    })
}

impl Reading {
    /// Approvals of sets of a repository that count, oldest first.
    pub async fn approval_sets_in_force(
        &mut self,
        repository_id: &RepositoryId,
    ) -> Result<Vec<ApprovalSet>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM approval_sets WHERE repository_id = $1 AND fallen_at IS NULL ORDER BY id"
        );
        let rows = self.connection.rows_built(sql, values![repository_id]).await?;
        rows.iter().map(read_set).collect()
    }

    /// Approvals of sets of an account that someone gave and that count, oldest first.
    pub async fn approval_sets_in_force_by(
        &mut self,
        account_id: &AccountId,
        approver: &str,
    ) -> Result<Vec<ApprovalSet>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM approval_sets WHERE account_id = $1 AND approver = $2 AND fallen_at IS NULL \
             ORDER BY id"
        );
        let rows = self.connection.rows_built(sql, values![account_id, approver]).await?;
        rows.iter().map(read_set).collect()
    }

    /// Approvals of sets of a plan, including those that lapsed, oldest first.
    pub async fn approval_sets_of(&mut self, plan_id: &PlanId) -> Result<Vec<ApprovalSet>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM approval_sets WHERE plan_id = $1 ORDER BY id");
        let rows = self.connection.rows_built(sql, values![plan_id]).await?;
        rows.iter().map(read_set).collect()
    }

    /// For which of these contents a proposal already has the approval of a set: set and content.
    pub async fn approval_sets_used(
        &mut self,
        sets: &[&ApprovalSetId],
        contents: &[Digest],
    ) -> Result<BTreeSet<(ApprovalSetId, Digest)>, StoreError> {
        let pairs = sets.iter().flat_map(|set| contents.iter().map(move |content| values![*set, *content]));
        let prefix = "WITH given (set_id, digest) AS (VALUES";
        let suffix = ") SELECT approvals.set_id, approvals.digest FROM given CROSS JOIN approvals \
                      WHERE approvals.set_id = given.set_id AND approvals.digest = given.digest";
        let rows = self.connection.rows_many(prefix, pairs.collect(), suffix).await?;
        rows.iter().map(|row| Ok((row.id("set_id")?, row.digest("digest")?))).collect()
    }
}

impl Writing {
    /// Stores an approval of a set.
    pub async fn approval_set_add(&mut self, set: &ApprovalSet) -> Result<(), StoreError> {
        let sql = "INSERT INTO approval_sets (id, account_id, repository_id, plan_id, group_digest, digest, members, \
                   destroys, approver, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        let group = match set.scope {
            SetScope::Plan => None,
            SetScope::Group(signature) => Some(signature),
        };
        let values = values![
            &set.id,
            &set.account_id,
            &set.repository_id,
            &set.plan_id,
            group,
            set.digest,
            set.members,
            set.destroys,
            &set.approver,
            &set.reason,
            set.at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Moves an approval to a newer plan that has the same set.
    pub async fn approval_set_move_to_plan(
        &mut self,
        id: &ApprovalSetId,
        plan_id: &PlanId,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE approval_sets SET plan_id = $2 WHERE id = $1 AND fallen_at IS NULL";
        self.connection.execute(sql, values![id, plan_id]).await?;
        Ok(())
    }

    /// Records that an approval of a set no longer counts. False if it lapsed before.
    pub async fn approval_set_lapse(
        &mut self,
        id: &ApprovalSetId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql =
            "UPDATE approval_sets SET fallen_at = $2, fallen_reason = $3 WHERE id = $1 AND fallen_at IS NULL";
        Ok(self.connection.execute(sql, values![id, now, reason]).await? == 1)
    }
}
