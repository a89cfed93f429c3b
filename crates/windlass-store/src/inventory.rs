//! The inventory of a target: the resources that may be present on it. Windlass adds a resource before an agent applies
//! it, and removes it only when the agent confirmed that nothing of it is left.

use windlass_core::id::{AccountId, ResourceId};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, resource_row};
use crate::sql::values;
use crate::write::Writing;

/// A resource that may be on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryItem {
    /// The id of the resource, which differs from the id of a later resource with the same name.
    pub resource_id: ResourceId,
    /// Which.
    pub key: ResourceKey,
}

impl Reading {
    /// The inventory of a target, by kind and name.
    pub async fn inventory(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
    ) -> Result<Vec<InventoryItem>, StoreError> {
        let sql = "SELECT kind, name, resource_id FROM inventory \
                   WHERE account_id = $1 AND target_kind = $2 AND target_name = $3 \
                   ORDER BY kind, name, resource_id";
        let rows = self.connection.rows(sql, resource_row(account_id, target)).await?;
        rows.iter()
            .map(|row| {
                let key = read_key(row)?;
                Ok(InventoryItem { resource_id: row.id("resource_id")?, key })
            })
            .collect()
    }
}

impl Writing {
    /// Adds resources to the inventory of a target.
    pub async fn inventory_add(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
        items: &[InventoryItem],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let row = |item: &InventoryItem| {
            let mut row = resource_row(account_id, target);
            row.extend(values![&item.resource_id, item.key.kind.slug(), &item.key.name, now]);
            row
        };
        let rows = items.iter().map(row).collect();
        let prefix = "INSERT INTO inventory (account_id, target_kind, target_name, resource_id, kind, name, noted_at) \
                      VALUES";
        let suffix = "ON CONFLICT (account_id, target_kind, target_name, resource_id) DO NOTHING";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Removes resources, by id, that an agent confirmed to be absent from its target.
    pub async fn inventory_remove(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
        resource_ids: &[&ResourceId],
    ) -> Result<u64, StoreError> {
        let row = |id: &&ResourceId| {
            let mut row = resource_row(account_id, target);
            row.push((*id).into());
            row
        };
        let rows = resource_ids.iter().map(row).collect();
        let prefix =
            "DELETE FROM inventory WHERE (account_id, target_kind, target_name, resource_id) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}
