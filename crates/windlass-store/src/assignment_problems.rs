//! Why targets have no assignment that equals the accepted state.

use windlass_core::id::AccountId;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::sql::{Row, values};
use crate::write::Writing;

/// Why a target has no new assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentProblem {
    /// The reason, in one sentence without a full stop.
    pub reason: String,
    /// Since when this is the reason.
    pub since: Timestamp,
}

fn read_problem(row: &Row) -> Result<AssignmentProblem, StoreError> {
    Ok(AssignmentProblem { reason: row.text("reason")?, since: row.timestamp("since")? })
}

impl Reading {
    /// Why the targets of an account have no new assignment. Targets without a problem are not among them.
    pub async fn assignment_problems(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<AssignmentProblem>, StoreError> {
        let sql =
            "SELECT target_kind, target_name, reason, since FROM assignment_problems WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((read_target(row)?, read_problem(row)?))).collect()
    }

    /// Why a target has no new assignment; none if nothing is wrong.
    pub async fn assignment_problem(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Option<AssignmentProblem>, StoreError> {
        let sql = "SELECT reason, since FROM assignment_problems \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.first().map(read_problem).transpose()
    }
}

impl Writing {
    /// Stores problems. The time of a problem with the same reason stays.
    pub async fn assignment_problems_put(
        &mut self,
        account_id: &AccountId,
        problems: &[(ResourceKey, &str)],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let row = |(target, reason): &(ResourceKey, &str)| {
            let mut row = resource_row(account_id, target);
            row.extend(values![*reason, now]);
            row
        };
        let rows = problems.iter().map(row).collect();
        let prefix =
            "INSERT INTO assignment_problems (account_id, target_kind, target_name, reason, since) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET reason = excluded.reason, \
                      since = excluded.since WHERE assignment_problems.reason <> excluded.reason";
        self.connection.execute_many(prefix, rows, suffix).await
    }

    /// Removes problems that were resolved.
    pub async fn assignment_problems_remove(
        &mut self,
        account_id: &AccountId,
        targets: &[ResourceKey],
    ) -> Result<u64, StoreError> {
        let rows = targets.iter().map(|target| resource_row(account_id, target)).collect();
        let prefix =
            "DELETE FROM assignment_problems WHERE (account_id, target_kind, target_name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}
