//! Differences between desired and accepted: manual changes that were reported, and accepted drift.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use windlass_core::digest::Digest;
use windlass_core::drift::Acceptance;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, resource_row};
use crate::retention::{OldRows, RowBudget};
use crate::sql::{Row, Value, values};
use crate::write::Writing;

/// A manual change that was reported and is not resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Which resource.
    pub key: ResourceKey,
    /// The desired digest.
    pub desired: Option<Digest>,
    /// The accepted digest.
    pub accepted: Option<Digest>,
    /// The fields that differ.
    pub fields: Json,
    /// Who made the change.
    pub changed_by: String,
    /// When they did.
    pub changed_at: Timestamp,
    /// When Windlass detected it.
    pub detected_at: Timestamp,
}

const ACCEPTANCE: &str = "acceptances.kind, acceptances.name, acceptances.desired_digest, acceptances.accepted_digest, \
                          acceptances.until, acceptances.reason, acceptances.accepted_by, acceptances.at";

fn read_acceptance(row: &Row) -> Result<Acceptance, StoreError> {
    Ok(Acceptance {
        key: read_key(row)?,
        desired: row.optional_digest("desired_digest")?,
        accepted: row.optional_digest("accepted_digest")?,
        until: row.optional_timestamp("until")?,
        reason: row.text("reason")?,
        by: row.text("accepted_by")?,
        at: row.timestamp("at")?,
    })
}

impl Reading {
    /// The accepted drift of a repository.
    pub async fn acceptances(&mut self, repository_id: &RepositoryId) -> Result<Vec<Acceptance>, StoreError> {
        let sql =
            format!("SELECT {ACCEPTANCE} FROM acceptances WHERE repository_id = $1 ORDER BY kind, name");
        let rows = self.connection.rows_built(sql, values![repository_id]).await?;
        rows.iter().map(read_acceptance).collect()
    }

    /// The accepted drift among these resources of repositories, each with the current desired digest.
    ///
    /// Acceptances are few, so this reads all between the first and the last of the resources: a statement with each
    /// resource as a parameter took longer than the page of resources itself.
    pub async fn acceptances_among(
        &mut self,
        of: &[(&RepositoryId, &ResourceKey)],
    ) -> Result<Vec<(Acceptance, Option<Digest>)>, StoreError> {
        let sought: BTreeSet<(&str, &str, &str)> = of
            .iter()
            .map(|(repository_id, key)| (repository_id.as_str(), key.kind.slug(), key.name.as_str()))
            .collect();
        let names = || sought.iter().map(|(_, kind, name)| (*kind, *name));
        let (Some(first), Some(last)) = (names().min(), names().max()) else { return Ok(Vec::new()) };
        let repositories: BTreeSet<&str> = sought.iter().map(|(repository_id, ..)| *repository_id).collect();
        let mut values = values![first.0, first.1, last.0, last.1];
        values.extend(repositories.iter().map(|id| Value::from(*id)));
        let places: Vec<String> = (5..5 + repositories.len()).map(|place| format!("${place}")).collect();
        let sql = format!(
            "SELECT {ACCEPTANCE}, acceptances.repository_id, desired.digest AS wanted_digest FROM acceptances LEFT JOIN desired \
             ON desired.repository_id = acceptances.repository_id AND desired.kind = acceptances.kind \
             AND desired.name = acceptances.name \
             WHERE (acceptances.kind, acceptances.name) >= ($1, $2) AND (acceptances.kind, acceptances.name) <= ($3, $4) \
             AND acceptances.repository_id IN ({})",
            places.join(", ")
        );
        let rows = self.connection.rows_built(sql, values).await?;
        let mut found = Vec::new();
        for row in &rows {
            let (repository_id, accepted) = (row.text("repository_id")?, read_acceptance(row)?);
            if sought.contains(&(&repository_id, accepted.key.kind.slug(), &accepted.key.name)) {
                found.push((accepted, row.optional_digest("wanted_digest")?));
            }
        }
        Ok(found)
    }

    /// The drift of a repository that was reported and is not resolved.
    pub async fn drifts(&mut self, repository_id: &RepositoryId) -> Result<Vec<Drift>, StoreError> {
        let sql = "SELECT kind, name, desired_digest, accepted_digest, fields, changed_by, changed_at, detected_at \
                   FROM drifts WHERE repository_id = $1 ORDER BY kind, name";
        let rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter()
            .map(|row| {
                Ok(Drift {
                    key: read_key(row)?,
                    desired: row.optional_digest("desired_digest")?,
                    accepted: row.optional_digest("accepted_digest")?,
                    fields: row.json("fields")?,
                    changed_by: row.text("changed_by")?,
                    changed_at: row.timestamp("changed_at")?,
                    detected_at: row.timestamp("detected_at")?,
                })
            })
            .collect()
    }

    /// Those of these resources with reported drift: repository and resource.
    pub async fn drifted_among(
        &mut self,
        of: &[(&RepositoryId, &ResourceKey)],
    ) -> Result<Vec<ResourceKey>, StoreError> {
        let rows = of.iter().map(|(repository_id, key)| values![*repository_id, key.kind.slug(), &key.name]);
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT drifts.kind, drifts.name FROM given CROSS JOIN drifts \
                      WHERE drifts.repository_id = given.repository_id AND drifts.kind = given.kind \
                      AND drifts.name = given.name";
        let rows = self.connection.rows_many(prefix, rows.collect(), suffix).await?;
        rows.iter().map(read_key).collect()
    }

    /// How many resources of an account have reported drift.
    pub async fn drifts_count(&mut self, account_id: &AccountId) -> Result<usize, StoreError> {
        let sql = "SELECT COUNT(*) AS count FROM drifts JOIN repositories ON repositories.id = drifts.repository_id \
                   WHERE repositories.account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }
}

impl Writing {
    /// Stores accepted drift.
    pub async fn acceptance_put(
        &mut self,
        repository_id: &RepositoryId,
        acceptance: &Acceptance,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO acceptances (repository_id, kind, name, desired_digest, accepted_digest, until, reason, \
                   accepted_by, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
                   ON CONFLICT (repository_id, kind, name) DO UPDATE SET desired_digest = excluded.desired_digest, \
                   accepted_digest = excluded.accepted_digest, until = excluded.until, reason = excluded.reason, \
                   accepted_by = excluded.accepted_by, at = excluded.at";
        let values = values![
            repository_id,
            acceptance.key.kind.slug(),
            &acceptance.key.name,
            acceptance.desired,
            acceptance.accepted,
            acceptance.until,
            &acceptance.reason,
            &acceptance.by,
            acceptance.at
        ];
        self.connection.execute(sql, values).await?;
        Ok(())
    }

    /// Withdraws an acceptance. False if there was none.
    pub async fn acceptance_remove(
        &mut self,
        repository_id: &RepositoryId,
        key: &ResourceKey,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM acceptances WHERE repository_id = $1 AND kind = $2 AND name = $3";
        Ok(self.connection.execute(sql, values![repository_id, key.kind.slug(), &key.name]).await? == 1)
    }

    /// Withdraws the acceptances of these resources, if there are any: repository and resource.
    pub async fn acceptances_remove(
        &mut self,
        of: &[(&RepositoryId, &ResourceKey)],
    ) -> Result<(), StoreError> {
        let rows = of
            .iter()
            .map(|(repository_id, key)| values![*repository_id, key.kind.slug(), &key.name])
            .collect();
        let prefix = "DELETE FROM acceptances WHERE (repository_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await?;
        Ok(())
    }

    /// Deletes acceptances that have expired.
    pub async fn acceptances_delete_old(
        &mut self,
        now: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old =
            OldRows::new("acceptances", "repository_id, kind, name", "until IS NOT NULL AND until <= $1");
        self.delete_old(old, values![now], budget).await
    }

    /// Stores manual changes of a repository's resources.
    pub async fn drifts_put(
        &mut self,
        repository_id: &RepositoryId,
        drifts: &[Drift],
    ) -> Result<(), StoreError> {
        let row = |drift: &Drift| {
            let mut row = resource_row(repository_id, &drift.key);
            row.extend(values![
                drift.desired,
                drift.accepted,
                drift.fields.to_string(),
                &drift.changed_by,
                drift.changed_at,
                drift.detected_at
            ]);
            row
        };
        let prefix = "INSERT INTO drifts (repository_id, kind, name, desired_digest, accepted_digest, fields, changed_by, \
                      changed_at, detected_at) VALUES";
        let suffix = "ON CONFLICT (repository_id, kind, name) DO UPDATE SET desired_digest = excluded.desired_digest, \
                      accepted_digest = excluded.accepted_digest, fields = excluded.fields, \
                      changed_by = excluded.changed_by, changed_at = excluded.changed_at, \
                      detected_at = excluded.detected_at";
        self.connection.execute_many(prefix, drifts.iter().map(row).collect(), suffix).await?;
        Ok(())
    }

    /// Deletes manual changes that are resolved and returns how many were stored.
    pub async fn drifts_remove(
        &mut self,
        repository_id: &RepositoryId,
        keys: &[ResourceKey],
    ) -> Result<u64, StoreError> {
        let rows = keys.iter().map(|key| resource_row(repository_id, key)).collect();
        let prefix = "DELETE FROM drifts WHERE (repository_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }
}
