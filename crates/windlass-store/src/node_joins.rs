//! Nodes that want to join with a batch token and wait for a person.

use windlass_core::enrolment::{JoinState, NodeJoin};
use windlass_core::id::{AccountId, JoinId};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::Writing;

const COLUMNS: &str = "id, account_id, token_id, target_kind, target_name, public_key, address, state, created_at, \
    decided_at, decided_by";

fn read_join(row: &Row) -> Result<NodeJoin, StoreError> {
    Ok(NodeJoin {
        id: row.id("id")?,
        account_id: row.id("account_id")?,
        token_id: row.id("token_id")?,
        target: read_target(row)?,
        public_key: row.text("public_key")?,
        address: row.text("address")?,
        state: row.word("state", JoinState::from_slug)?,
        created_at: row.timestamp("created_at")?,
        decided_at: row.optional_timestamp("decided_at")?,
        decided_by: row.optional_text("decided_by")?,
    })
}

/// A decision about a join.
#[derive(Clone, Copy, Debug)]
pub struct JoinMove<'m> {
    /// The state that it must have.
    pub from: JoinState,
    /// Its new state.
    pub to: JoinState,
    /// Who decides.
    pub by: &'m str,
    /// When.
    pub at: Timestamp,
}

impl Reading {
    /// The joins of an account that are not finished, oldest first, at most `limit`.
    pub async fn node_joins(
        &mut self,
        account_id: &AccountId,
        limit: usize,
    ) -> Result<Vec<NodeJoin>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM node_joins WHERE account_id = $1 AND state IN ('pending', 'approved') \
             ORDER BY id LIMIT $2"
        );
        let rows = self.connection.rows_built(sql, values![account_id, limit]).await?;
        rows.iter().map(read_join).collect()
    }

    /// The newest joins of a node, newest first: the open one and those that were decided before it, at most `limit`.
    pub async fn node_joins_of(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
        limit: usize,
    ) -> Result<Vec<NodeJoin>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM node_joins WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 \
             ORDER BY id DESC LIMIT $4"
        );
        let mut values = resource_row(account_id, target);
        values.push(limit.into());
        let rows = self.connection.rows_built(sql, values).await?;
        rows.iter().map(read_join).collect()
    }

    /// A join of an account.
    pub async fn node_join(
        &mut self,
        account_id: &AccountId,
        id: &JoinId,
    ) -> Result<Option<NodeJoin>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM node_joins WHERE id = $2 AND account_id = $1");
        let rows = self.connection.rows_built(sql, values![account_id, id]).await?;
        rows.first().map(read_join).transpose()
    }
}

impl Writing {
    /// Adds a join.
    pub async fn node_join_add(&mut self, join: &NodeJoin) -> Result<(), StoreError> {
        let sql = "INSERT INTO node_joins (account_id, target_kind, target_name, id, token_id, public_key, address, state, \
                   created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let mut values = resource_row(&join.account_id, &join.target);
        values.extend(values![
            &join.id,
            &join.token_id,
            &join.public_key,
            &join.address,
            join.state.slug(),
            join.created_at
        ]);
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Moves a join to another state. False if it has another state than the expected one.
    pub async fn node_join_move(&mut self, id: &JoinId, step: JoinMove<'_>) -> Result<bool, StoreError> {
        let sql =
            "UPDATE node_joins SET state = $3, decided_by = $4, decided_at = $5 WHERE id = $1 AND state = $2";
        let values = values![id, step.from.slug(), step.to.slug(), step.by, step.at];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Deletes joins from before this time.
    pub async fn node_joins_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new("node_joins", "id", "created_at < $1");
        self.delete_old(old, values![before], budget).await
    }
}
