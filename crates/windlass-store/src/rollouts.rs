//! Rollouts, and the nodes of each.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::id::{AccountId, ProposalId, RolloutId};
use windlass_core::resource::NodeRollout;
use windlass_core::rollout::{
    Hold, NewRollout, Rollout, RolloutCounts, RolloutNode, RolloutNodeState, RolloutStatus, RolloutUpdate,
};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::read_key_in;
use crate::page::new_id;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// A rollout as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRollout {
    /// The rollout. In lists it is without its nodes.
    pub rollout: Rollout,
    /// Whether it says which of its nodes get their document.
    pub hold: Hold,
    /// Its nodes by state.
    pub counts: RolloutCounts,
    /// The proposals whose changes it moves.
    pub proposals: Vec<ProposalId>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// What somebody decided about a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutDecision {
    /// How it stands from now on.
    pub status: RolloutStatus,
    /// Why.
    pub reason: Option<String>,
    /// The nodes whose failure does not count any more.
    pub tolerated: BTreeSet<String>,
}

/// Which rollouts a list has.
#[derive(Clone, Debug, Default)]
pub struct RolloutFilter {
    /// Only those with one of these; all if it is empty.
    pub statuses: Vec<RolloutStatus>,
    /// Only those with this node.
    pub node: Option<String>,
}

const COLUMNS: &str = "id, governed_kind, governed_name, rollout, status, reason, holds, tolerated, counts, proposals, \
                       started_at, updated_at, ended_at";

fn read_rollout(row: &Row) -> Result<StoredRollout, StoreError> {
    let text = row.text("rollout")?;
    let rollout = NodeRollout::read_stored(&text)
        .ok_or_else(|| StoreError::Broken { column: "rollout".to_owned(), value: text })?;
    Ok(StoredRollout {
        rollout: Rollout {
            id: row.id("id")?,
            governed_by: read_key_in(row, "governed_kind", "governed_name")?,
            rollout,
            status: row.word("status", RolloutStatus::from_slug)?,
            reason: row.optional_text("reason")?,
            tolerated: row.json("tolerated")?,
            nodes: BTreeMap::new(),
        },
        hold: if row.number("holds")? == 1 { Hold::Holds } else { Hold::Released },
        counts: row.json("counts")?,
        proposals: row.json("proposals")?,
        started_at: row.timestamp("started_at")?,
        updated_at: row.timestamp("updated_at")?,
        ended_at: row.optional_timestamp("ended_at")?,
    })
}

fn read_node(row: &Row) -> Result<(String, RolloutNode), StoreError> {
    let node = RolloutNode {
        wave: row.text("wave")?,
        document: row.digest("digest")?,
        state: row.word("state", RolloutNodeState::from_slug)?,
        message: row.optional_text("message")?,
        released_at: row.optional_timestamp("released_at")?,
        settled_at: row.optional_timestamp("settled_at")?,
    };
    Ok((row.text("node")?, node))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("names and numbers are JSON")
}

impl Reading {
    /// The rollouts of an account that hold nodes, with their nodes.
    pub async fn rollouts_holding(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<StoredRollout>, StoreError> {
        let mut rollouts = self.rollouts_holding_counts(account_id).await?;
        for stored in &mut rollouts {
            stored.rollout.nodes = self.rollout_nodes(&stored.rollout.id).await?;
        }
        Ok(rollouts)
    }

    /// The rollouts of an account that hold nodes, without their nodes.
    pub async fn rollouts_holding_counts(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<StoredRollout>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM rollouts WHERE account_id = $1 AND holds = 1 ORDER BY id");
        let rows = self.connection.rows_built(sql, values![account_id]).await?;
        rows.iter().map(read_rollout).collect()
    }

    /// The accounts with rollouts that are not over.
    pub async fn accounts_with_rollouts(&mut self) -> Result<BTreeSet<AccountId>, StoreError> {
        let sql = "SELECT DISTINCT account_id FROM rollouts WHERE holds = 1 AND ended_at IS NULL";
        let rows = self.connection.rows(sql, values![]).await?;
        rows.iter().map(|row| row.id("account_id")).collect()
    }

    /// A rollout of an account, with its nodes.
    pub async fn rollout(
        &mut self,
        account_id: &AccountId,
        id: &RolloutId,
    ) -> Result<Option<StoredRollout>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM rollouts WHERE account_id = $1 AND id = $2");
        let rows = self.connection.rows_built(sql, values![account_id, id]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let mut stored = read_rollout(row)?;
        stored.rollout.nodes = self.rollout_nodes(id).await?;
        Ok(Some(stored))
    }

    /// Rollouts of an account, newest first, before an id, without their nodes.
    pub async fn rollouts(
        &mut self,
        account_id: &AccountId,
        filter: &RolloutFilter,
        before: Option<&RolloutId>,
        limit: usize,
    ) -> Result<Vec<StoredRollout>, StoreError> {
        let mut sql = format!("SELECT {COLUMNS} FROM rollouts WHERE account_id = $1");
        let mut values = values![account_id];
        if let Some(before) = before {
            values.extend(values![before]);
            sql.push_str(&format!(" AND id < ${}", values.len()));
        }
        if !filter.statuses.is_empty() {
            let first = values.len() + 1;
            values.extend(filter.statuses.iter().map(|status| Value::from(status.slug())));
            let places: Vec<String> = (first..=values.len()).map(|place| format!("${place}")).collect();
            sql.push_str(&format!(" AND status IN ({})", places.join(", ")));
        }
        if let Some(node) = &filter.node {
            values.extend(values![node]);
            sql.push_str(&format!(
                " AND EXISTS (SELECT 1 FROM rollout_nodes WHERE rollout_id = rollouts.id AND node = ${})",
                values.len()
            ));
        }
        sql.push_str(&format!(" ORDER BY id DESC LIMIT {limit}"));
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_rollout).collect()
    }

    async fn rollout_nodes(&mut self, id: &RolloutId) -> Result<BTreeMap<String, RolloutNode>, StoreError> {
        let sql = "SELECT node, wave, digest, state, message, released_at, settled_at FROM rollout_nodes \
                   WHERE rollout_id = $1";
        let rows = self.connection.rows(sql, values![id]).await?;
        rows.iter().map(read_node).collect()
    }
}

impl Writing {
    /// Stores a rollout that begins. Returns its id.
    pub async fn rollout_start(
        &mut self,
        account_id: &AccountId,
        new: &NewRollout,
        proposals: &[ProposalId],
        now: Timestamp,
    ) -> Result<RolloutId, StoreError> {
        let id: RolloutId = new_id();
        let counts: RolloutCounts = new.nodes.values().map(|node| node.state).collect();
        let sql = "INSERT INTO rollouts (id, account_id, governed_kind, governed_name, rollout, status, reason, holds, \
                   tolerated, counts, proposals, started_at, updated_at, ended_at) \
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '[]', $9, $10, $11, $11, $12)";
        let ended_at = (!new.status.is_open()).then_some(now);
        let values = values![
            &id,
            account_id,
            new.governed_by.kind.slug(),
            &new.governed_by.name,
            new.rollout.to_stored(),
            new.status.slug(),
            &new.reason,
            true,
            json(&counts),
            json(&proposals),
            now,
            ended_at
        ];
        self.connection.execute(sql, values).await?;
        self.rollout_nodes_put(&id, &new.nodes).await?;
        Ok(id)
    }

    /// Stores how a rollout stands. False if its status is not `from` any more; then nothing is stored.
    pub async fn rollout_update(
        &mut self,
        account_id: &AccountId,
        from: RolloutStatus,
        update: &RolloutUpdate,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE rollouts SET status = $4, reason = $5, holds = $6, counts = $7, updated_at = $8, \
                   ended_at = CASE WHEN $9 = 1 THEN COALESCE(ended_at, $8) ELSE NULL END \
                   WHERE account_id = $1 AND id = $2 AND status = $3";
        let values = values![
            account_id,
            &update.id,
            from.slug(),
            update.status.slug(),
            &update.reason,
            update.hold == Hold::Holds,
            json(&update.counts),
            now,
            !update.status.is_open()
        ];
        let is_stored = self.connection.execute(sql, values).await? == 1;
        if is_stored {
            self.rollout_nodes_put(&update.id, &update.changed).await?;
        }
        Ok(is_stored)
    }

    async fn rollout_nodes_put(
        &mut self,
        id: &RolloutId,
        nodes: &BTreeMap<String, RolloutNode>,
    ) -> Result<(), StoreError> {
        let row = |(name, node): (&String, &RolloutNode)| -> Vec<Value> {
            values![
                id,
                name,
                &node.wave,
                node.document,
                node.state.slug(),
                &node.message,
                node.released_at,
                node.settled_at
            ]
        };
        let prefix = "INSERT INTO rollout_nodes (rollout_id, node, wave, digest, state, message, released_at, settled_at) \
                      VALUES";
        let suffix = "ON CONFLICT (rollout_id, node) DO UPDATE SET state = excluded.state, message = excluded.message, \
                      released_at = excluded.released_at, settled_at = excluded.settled_at";
        self.connection.execute_many(prefix, nodes.iter().map(row).collect(), suffix).await?;
        Ok(())
    }

    /// Stores what somebody decided about a rollout. False if its status is not `from` any more.
    pub async fn rollout_decide(
        &mut self,
        account_id: &AccountId,
        id: &RolloutId,
        from: RolloutStatus,
        decision: &RolloutDecision,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE rollouts SET status = $4, reason = $5, tolerated = $6, updated_at = $7, \
                   ended_at = CASE WHEN $8 = 1 THEN $7 ELSE NULL END \
                   WHERE account_id = $1 AND id = $2 AND status = $3";
        let values = values![
            account_id,
            id,
            from.slug(),
            decision.status.slug(),
            &decision.reason,
            json(&decision.tolerated),
            now,
            !decision.status.is_open()
        ];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes rollouts that ended before a time and hold nothing. Returns how many rows they had.
    pub async fn rollouts_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let condition = "rollout_id IN (SELECT id FROM rollouts WHERE holds = 0 AND ended_at < $1)";
        // The nodes first, so that the rows of a large rollout count as what they are.
        let nodes = OldRows::new("rollout_nodes", "rollout_id, node", condition);
        let deleted = self.delete_old(nodes, values![before], budget).await?;
        let condition = "holds = 0 AND ended_at < $1 \
                         AND NOT EXISTS (SELECT 1 FROM rollout_nodes WHERE rollout_id = rollouts.id)";
        let old = OldRows::new("rollouts", "id", condition);
        Ok(deleted + self.delete_old(old, values![before], budget).await?)
    }
}
