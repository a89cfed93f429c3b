//! The newest report of each target: when it arrived, and what it says about the host.

use serde_json::Value as Json;
use windlass_core::id::AccountId;
use windlass_core::observed::Generation;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::observed::{number_from, stored_number};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::{AccountWriting, Writing};

/// What is stored of a target's reports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeReport {
    /// When the newest report arrived.
    pub reported_at: Option<Timestamp>,
    /// When the newest report that listed everything arrived.
    pub complete_at: Option<Timestamp>,
    /// When someone last asked the agent to look.
    pub observe_requested_at: Option<Timestamp>,
    /// How many items differ beside those that are stored.
    pub drift_left_out: u64,
    /// How many events were dropped since the target was enrolled, by the agent or by the server.
    pub events_dropped: u64,
    /// About the host.
    pub facts: Option<Json>,
}

impl NodeReport {
    /// Whether someone asked for a complete report and none arrived since.
    pub fn is_complete_report_wanted(&self) -> bool {
        self.observe_requested_at
            .is_some_and(|asked| self.complete_at.is_none_or(|complete| complete < asked))
    }
}

/// What a report adds.
#[derive(Clone, Debug)]
pub struct NewNodeReport<'r> {
    /// The account.
    pub account_id: &'r AccountId,
    /// The node or cluster.
    pub target: &'r ResourceKey,
    /// When it arrived.
    pub at: Timestamp,
    /// When the newest complete report of this group arrived, if there is one.
    pub complete_at: Option<Timestamp>,
    /// How many items differ beside those that are stored; none leaves the number as it is.
    pub drift_left_out: Option<u64>,
    /// How many more events were dropped.
    pub events_dropped: u64,
    /// About the host; none leaves it as it is.
    pub facts: Option<&'r Json>,
}

const COLUMNS: &str = "target_kind, target_name, reported_at, complete_at, observe_requested_at, drift_left_out, \
                       events_dropped, facts";

fn read_report(row: &Row) -> Result<NodeReport, StoreError> {
    Ok(NodeReport {
        reported_at: row.optional_timestamp("reported_at")?,
        complete_at: row.optional_timestamp("complete_at")?,
        observe_requested_at: row.optional_timestamp("observe_requested_at")?,
        drift_left_out: number_from(row.number("drift_left_out")?),
        events_dropped: number_from(row.number("events_dropped")?),
        facts: row.optional_json("facts")?,
    })
}

impl Reading {
    /// What is stored of a target's reports.
    pub async fn node_report(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<NodeReport, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM node_reports WHERE account_id = $1 AND target_kind = $2 AND target_name = $3"
        );
        let rows = self.connection.rows_built(sql, resource_row(account_id, target)).await?;
        rows.first().map_or_else(|| Ok(NodeReport::default()), read_report)
    }

    /// What is stored of the reports of every target of an account.
    pub async fn node_reports(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<NodeReport>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM node_reports WHERE account_id = $1");
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((read_target(row)?, read_report(row)?))).collect()
    }

    /// What is stored of the reports of some targets.
    pub async fn node_reports_of(
        &mut self,
        targets: &[(&AccountId, &ResourceKey)],
    ) -> Result<Vec<((AccountId, ResourceKey), NodeReport)>, StoreError> {
        let given = targets.iter().map(|(account_id, target)| resource_row(*account_id, target)).collect();
        let suffix = "SELECT node_reports.account_id, node_reports.target_kind, node_reports.target_name, reported_at, \
                      complete_at, observe_requested_at, drift_left_out, events_dropped, facts \
                      FROM given CROSS JOIN node_reports WHERE node_reports.account_id = given.account_id \
                      AND node_reports.target_kind = given.target_kind \
                      AND node_reports.target_name = given.target_name";
        let prefix = "WITH given (account_id, target_kind, target_name) AS (VALUES";
        let rows = self.connection.rows_many(prefix, given, &format!(") {suffix}")).await?;
        rows.iter().map(|row| Ok(((row.id("account_id")?, read_target(row)?), read_report(row)?))).collect()
    }
}

impl Writing {
    /// Stores that reports arrived, one row for each target.
    pub async fn node_reports_put(&mut self, reports: &[NewNodeReport<'_>]) -> Result<(), StoreError> {
        // An absent number of items is stored as -1 in the given row, because COALESCE needs a column.
        let row = |new: &NewNodeReport<'_>| -> Vec<Value> {
            let mut row = resource_row(new.account_id, new.target);
            row.extend(values![
                new.at,
                new.complete_at,
                new.drift_left_out.map_or(-1, stored_number),
                stored_number(new.events_dropped),
                new.facts.map(Json::to_string)
            ]);
            row
        };
        let rows = reports.iter().map(row).collect();
        let prefix = "INSERT INTO node_reports (account_id, target_kind, target_name, reported_at, complete_at, \
                      drift_left_out, events_dropped, facts) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET \
                      reported_at = excluded.reported_at, \
                      complete_at = COALESCE(excluded.complete_at, node_reports.complete_at), \
                      drift_left_out = CASE WHEN excluded.drift_left_out < 0 THEN node_reports.drift_left_out \
                      ELSE excluded.drift_left_out END, \
                      events_dropped = node_reports.events_dropped + excluded.events_dropped, \
                      facts = COALESCE(excluded.facts, node_reports.facts)";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Deletes what is stored of targets that no longer exist and whose agents last reported before this time.
    pub async fn targets_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        for (table, key) in [
            ("node_drift", "account_id, target_kind, target_name, item_kind, item_name"),
            ("node_drift_acceptances", "account_id, target_kind, target_name, item_kind, item_name"),
            ("target_contacts", "account_id, target_kind, target_name"),
            ("observed", "account_id, target_kind, target_name, kind, name"),
            ("observed_targets", "account_id, target_kind, target_name"),
            // The last: it says which targets are old.
            ("node_reports", "account_id, target_kind, target_name"),
        ] {
            let condition = "(account_id, target_kind, target_name) IN (SELECT node_reports.account_id, \
                             node_reports.target_kind, node_reports.target_name FROM node_reports \
                             WHERE node_reports.reported_at < $1 AND NOT EXISTS (SELECT 1 FROM resources \
                             WHERE resources.account_id = node_reports.account_id \
                             AND resources.kind = node_reports.target_kind \
                             AND resources.name = node_reports.target_name))";
            deleted += self.delete_old(OldRows::new(table, key, condition), values![before], budget).await?;
        }
        Ok(deleted)
    }
}

impl AccountWriting {
    /// Notes that someone asked the agent of a target to look.
    pub async fn observe_request(&mut self, target: &ResourceKey, now: Timestamp) -> Result<(), StoreError> {
        let sql = "INSERT INTO node_reports (account_id, target_kind, target_name, observe_requested_at, \
                   drift_left_out, events_dropped) VALUES ($1, $2, $3, $4, 0, 0) \
                   ON CONFLICT (account_id, target_kind, target_name) DO UPDATE SET \
                   observe_requested_at = excluded.observe_requested_at";
        let mut row = resource_row(self.account_id(), target);
        row.push(now.into());
        self.connection.execute(sql, row).await?;
        Ok(())
    }

    /// Assigns the same document to a target again, under the next generation: its agent applies the whole document.
    /// None if the target has no assignment.
    pub async fn assignment_reissue(
        &mut self,
        target: &ResourceKey,
        now: Timestamp,
    ) -> Result<Option<Generation>, StoreError> {
        let sql = "UPDATE assignments SET generation = generation + 1, assigned_at = $4 \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 RETURNING generation";
        let mut row = resource_row(self.account_id(), target);
        row.push(now.into());
        let rows = self.connection.rows(sql, row).await?;
        let generation = rows.first().map(|row| row.number("generation")).transpose()?;
        Ok(generation.map(|generation| Generation(number_from(generation))))
    }
}
