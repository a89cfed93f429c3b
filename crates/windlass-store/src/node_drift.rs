//! Drift of targets: the items that differ from what is assigned, as their agents last listed them.

use std::collections::BTreeMap;

use windlass_core::digest::Digest;
use windlass_core::drift::{DriftedItem, ItemKey};
use windlass_core::id::AccountId;
use windlass_core::observed::AgentMessage;
use windlass_core::resource::{DriftMode, ResourceKey, ResourceMap};
use windlass_core::states::{self, Spelled as _};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_target, resource_row};
use crate::observed::number_from;
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// An item that differs, without its differences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftHead {
    /// The item.
    pub item: ItemKey,
    /// Its module.
    pub module: String,
    /// Since when it differs.
    pub since: Timestamp,
    /// What differs, in a digest.
    pub digest: Digest,
    /// The size of its differences.
    pub bytes: usize,
}

/// What changes in the items of a target.
#[derive(Clone, Debug)]
pub struct DriftItemsChange<'c> {
    /// The account.
    pub account_id: &'c AccountId,
    /// The node or cluster.
    pub target: &'c ResourceKey,
    /// Items that no longer differ.
    pub gone: Vec<ItemKey>,
    /// Items that are new or differ otherwise, each with its place in the agent's list.
    pub changed: Vec<(usize, DriftedItem)>,
}

pub(crate) fn item_row(account_id: &AccountId, target: &ResourceKey, item: &ItemKey) -> Vec<Value> {
    let mut row = resource_row(account_id, target);
    row.extend(values![&item.kind, &item.name]);
    row
}

pub(crate) fn read_item(row: &Row) -> Result<ItemKey, StoreError> {
    Ok(ItemKey { kind: row.text("item_kind")?, name: row.text("item_name")? })
}

fn read_head(row: &Row) -> Result<DriftHead, StoreError> {
    Ok(DriftHead {
        item: read_item(row)?,
        module: row.text("module")?,
        since: row.timestamp("since")?,
        digest: row.digest("digest")?,
        bytes: row.count("bytes")?,
    })
}

fn read_drifted(row: &Row) -> Result<DriftedItem, StoreError> {
    Ok(DriftedItem {
        key: read_item(row)?,
        module: row.text("module")?,
        mode: row.word("mode", |word| states::read::<DriftMode>(word).ok())?,
        since: row.timestamp("since")?,
        fields: row.json("fields")?,
        problem: row.optional_text("problem")?.map(|text| AgentMessage::new(&text)),
    })
}

impl Reading {
    /// The items of a target that differ, in the order of the agent.
    pub async fn node_drift(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Vec<DriftedItem>, StoreError> {
        let sql = "SELECT item_kind, item_name, module, mode, since, fields, problem FROM node_drift \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 \
                   ORDER BY module, position, item_kind, item_name";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.iter().map(read_drifted).collect()
    }

    /// The items of some targets that differ, without their differences.
    pub async fn node_drift_heads(
        &mut self,
        targets: &[(&AccountId, &ResourceKey)],
    ) -> Result<BTreeMap<(AccountId, ResourceKey), Vec<DriftHead>>, StoreError> {
        let given = targets.iter().map(|(account_id, target)| resource_row(*account_id, target)).collect();
        let prefix = "WITH given (account_id, target_kind, target_name) AS (VALUES";
        let suffix = ") SELECT node_drift.account_id, node_drift.target_kind, node_drift.target_name, item_kind, \
                      item_name, module, since, digest, bytes FROM given CROSS JOIN node_drift \
                      WHERE node_drift.account_id = given.account_id \
                      AND node_drift.target_kind = given.target_kind \
                      AND node_drift.target_name = given.target_name";
        let mut found: BTreeMap<(AccountId, ResourceKey), Vec<DriftHead>> = BTreeMap::new();
        for row in self.connection.rows_many(prefix, given, suffix).await? {
            found.entry((row.id("account_id")?, read_target(&row)?)).or_default().push(read_head(&row)?);
        }
        Ok(found)
    }

    /// How many items of each target of an account differ.
    pub async fn node_drift_counts(
        &mut self,
        account_id: &AccountId,
    ) -> Result<ResourceMap<u64>, StoreError> {
        let sql = "SELECT target_kind, target_name, COUNT(*) AS items FROM node_drift WHERE account_id = $1 \
                   GROUP BY target_kind, target_name";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((read_target(row)?, number_from(row.number("items")?)))).collect()
    }
}

impl Writing {
    /// Stores changes of the items of targets, at most one for each target.
    pub async fn node_drift_save(&mut self, changes: &[DriftItemsChange<'_>]) -> Result<(), StoreError> {
        let gone = changes
            .iter()
            .flat_map(|change| {
                change.gone.iter().map(|item| item_row(change.account_id, change.target, item))
            })
            .collect();
        let prefix = "DELETE FROM node_drift WHERE (account_id, target_kind, target_name, item_kind, item_name) \
                      IN (VALUES";
        self.connection.execute_many(prefix, gone, ")").await?;
        let row = |change: &DriftItemsChange<'_>, position: usize, item: &DriftedItem| {
            let mut row = item_row(change.account_id, change.target, &item.key);
            row.extend(values![
                &item.module,
                item.mode.spelling(),
                item.since,
                position,
                item.digest(),
                item.bytes(),
                item.fields_json(),
                item.problem.as_ref().map(AgentMessage::as_str)
            ]);
            row
        };
        let changed = changes
            .iter()
            .flat_map(|change| change.changed.iter().map(move |(position, item)| (change, *position, item)))
            .map(|(change, position, item)| row(change, position, item))
            .collect();
        let prefix = "INSERT INTO node_drift (account_id, target_kind, target_name, item_kind, item_name, module, \
                      mode, since, position, digest, bytes, fields, problem) VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name, item_kind, item_name) DO UPDATE SET \
                      module = excluded.module, mode = excluded.mode, since = excluded.since, \
                      position = excluded.position, digest = excluded.digest, bytes = excluded.bytes, \
                      fields = excluded.fields, problem = excluded.problem";
        self.connection.execute_many(prefix, changed, suffix).await?;
        Ok(())
    }
}
