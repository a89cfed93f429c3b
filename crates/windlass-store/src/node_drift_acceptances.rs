//! Drift of targets that someone accepted.

use windlass_core::digest::Digest;
use windlass_core::drift::{ItemAcceptance, ItemKey};
use windlass_core::id::AccountId;
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::node_drift::{item_row, read_item};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::{AccountWriting, Writing};

/// An acceptance, and how the item differs now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedItem {
    /// The node or cluster.
    pub target: ResourceKey,
    /// The acceptance.
    pub acceptance: ItemAcceptance,
    /// What differs now; none if the item does not differ any more.
    pub current: Option<Digest>,
}

fn read_acceptance(row: &Row) -> Result<ItemAcceptance, StoreError> {
    Ok(ItemAcceptance {
        item: read_item(row)?,
        digest: row.digest("digest")?,
        until: row.optional_timestamp("until")?,
        reason: row.text("reason")?,
        by: row.text("accepted_by")?,
        at: row.timestamp("at")?,
    })
}

impl Reading {
    /// What was accepted of a target.
    pub async fn node_drift_acceptances(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Vec<ItemAcceptance>, StoreError> {
        let sql = "SELECT item_kind, item_name, digest, until, reason, accepted_by, at FROM node_drift_acceptances \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 ORDER BY item_kind, item_name";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.iter().map(read_acceptance).collect()
    }

    /// Everything that was accepted of targets of an account, each with how the item differs now. People accept few.
    pub async fn node_drift_accepted(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<AcceptedItem>, StoreError> {
        let sql = "SELECT accepted.target_kind, accepted.target_name, accepted.item_kind, accepted.item_name, \
                   accepted.digest, accepted.until, accepted.reason, accepted.accepted_by, accepted.at, \
                   node_drift.digest AS current_digest FROM node_drift_acceptances AS accepted LEFT JOIN node_drift \
                   ON node_drift.account_id = accepted.account_id AND node_drift.target_kind = accepted.target_kind \
                   AND node_drift.target_name = accepted.target_name AND node_drift.item_kind = accepted.item_kind \
                   AND node_drift.item_name = accepted.item_name WHERE accepted.account_id = $1 \
                   ORDER BY accepted.target_kind, accepted.target_name, accepted.item_kind, accepted.item_name";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter()
            .map(|row| {
                Ok(AcceptedItem {
                    target: read_target(row)?,
                    acceptance: read_acceptance(row)?,
                    current: row.optional_digest("current_digest")?,
                })
            })
            .collect()
    }
}

impl AccountWriting {
    /// Stores an acceptance; an earlier one of the same item is replaced.
    pub async fn node_drift_accept(
        &mut self,
        target: &ResourceKey,
        acceptance: &ItemAcceptance,
    ) -> Result<(), StoreError> {
        let mut row = item_row(&self.account_id().clone(), target, &acceptance.item);
        row.extend(values![
            acceptance.digest,
            acceptance.until,
            &acceptance.reason,
            &acceptance.by,
            acceptance.at
        ]);
        let sql = "INSERT INTO node_drift_acceptances (account_id, target_kind, target_name, item_kind, item_name, \
                   digest, until, reason, accepted_by, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                   ON CONFLICT (account_id, target_kind, target_name, item_kind, item_name) DO UPDATE SET \
                   digest = excluded.digest, until = excluded.until, reason = excluded.reason, \
                   accepted_by = excluded.accepted_by, at = excluded.at";
        self.connection.execute(sql, row).await?;
        Ok(())
    }

    /// Removes the acceptance of an item. False if there is none.
    pub async fn node_drift_unaccept(
        &mut self,
        target: &ResourceKey,
        item: &ItemKey,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM node_drift_acceptances WHERE account_id = $1 AND target_kind = $2 \
                   AND target_name = $3 AND item_kind = $4 AND item_name = $5";
        let row = item_row(&self.account_id().clone(), target, item);
        Ok(self.connection.execute(sql, row).await? == 1)
    }
}

impl Writing {
    /// Deletes acceptances that expired before this time.
    pub async fn node_drift_acceptances_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let key = "account_id, target_kind, target_name, item_kind, item_name";
        let old = OldRows::new("node_drift_acceptances", key, "until < $1");
        self.delete_old(old, values![before], budget).await
    }
}
