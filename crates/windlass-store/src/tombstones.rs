//! Tombstones: records of destroyed resources, kept while something of them may be present on a target.

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId, ResourceId};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, resource_row};
use crate::resources::ResourceToDestroy;
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, values};
use crate::write::{AccountWriting, Writing};

/// The record of a destroyed resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// Which resource it was.
    pub key: ResourceKey,
    /// Its id: a later resource with the same name has another.
    pub resource_id: ResourceId,
    /// The digest of its last spec.
    pub digest: Digest,
    /// The repository that owned it.
    pub owner_id: Option<RepositoryId>,
    /// How often it was changed.
    pub generation: i64,
    /// When it was destroyed.
    pub ended_at: Timestamp,
    /// Who destroyed it.
    pub ended_by: String,
}

const COLUMNS: &str = "kind, name, resource_id, digest, owner_id, generation, ended_at, ended_by";

fn read_tombstone(row: &Row) -> Result<Tombstone, StoreError> {
    Ok(Tombstone {
        key: read_key(row)?,
        resource_id: row.id("resource_id")?,
        digest: row.digest("digest")?,
        owner_id: row.optional_id("owner_id")?,
        generation: row.number("generation")?,
        ended_at: row.timestamp("ended_at")?,
        ended_by: row.text("ended_by")?,
    })
}

impl Reading {
    /// The tombstones of resources with this kind and name, the last first.
    pub async fn tombstones(
        &mut self,
        account_id: &AccountId,
        key: &ResourceKey,
    ) -> Result<Vec<Tombstone>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tombstones WHERE account_id = $1 AND kind = $2 AND name = $3 \
             ORDER BY generation DESC"
        );
        let rows = self.connection.rows_built(sql, resource_row(account_id, key)).await?;
        rows.iter().map(read_tombstone).collect()
    }
}

impl AccountWriting {
    /// Adds a tombstone for each of these resources that exists.
    pub(crate) async fn tombstones_add(
        &mut self,
        ended: &[ResourceToDestroy<'_>],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let account_id = self.account_id().clone();
        let row = |ended: &ResourceToDestroy<'_>| {
            let mut row = resource_row(&account_id, ended.key);
            row.extend(values![ended.by, now]);
            row
        };
        let rows = ended.iter().map(row).collect();
        let prefix = "WITH given (account_id, kind, name, ended_by, ended_at) AS (VALUES";
        let suffix = ") INSERT INTO tombstones (resource_id, account_id, kind, name, digest, owner_id, generation, ended_by, \
                      ended_at) SELECT resources.id, resources.account_id, resources.kind, resources.name, digest, \
                      owner_id, generation, given.ended_by, given.ended_at FROM given CROSS JOIN resources \
                      WHERE resources.account_id = given.account_id AND resources.kind = given.kind \
                      AND resources.name = given.name";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// The last generation of the destroyed resources with these keys.
    pub(crate) async fn last_generations(
        &mut self,
        keys: &[&ResourceKey],
    ) -> Result<ResourceMap<i64>, StoreError> {
        let account_id = self.account_id().clone();
        let rows = keys.iter().map(|key| resource_row(&account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT tombstones.kind, tombstones.name, MAX(generation) AS last_generation FROM given CROSS JOIN tombstones \
                      WHERE tombstones.account_id = given.account_id AND tombstones.kind = given.kind \
                      AND tombstones.name = given.name GROUP BY tombstones.kind, tombstones.name";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((read_key(row)?, row.number("last_generation")?))).collect()
    }
}

impl Writing {
    /// Deletes tombstones of resources that were destroyed before a time and are in no target's inventory.
    pub async fn tombstones_delete_old(
        &mut self,
        before: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old = OldRows::new(
            "tombstones",
            "resource_id",
            "ended_at < $1 AND NOT EXISTS (SELECT 1 FROM inventory \
             WHERE inventory.resource_id = tombstones.resource_id)",
        );
        self.delete_old(old, values![before], budget).await
    }
}
