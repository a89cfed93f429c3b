//! Differences between git and the accepted state: those that were told, and those that someone said are meant.

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
use crate::sql::{Row, values};
use crate::write::Writing;

/// A manual change that was told and is not resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Which resource.
    pub key: ResourceKey,
    /// What git wants.
    pub desired: Option<Digest>,
    /// The accepted state.
    pub accepted: Option<Digest>,
    /// The fields that differ.
    pub fields: Json,
    /// Who made the change.
    pub changed_by: String,
    /// When they did.
    pub changed_at: Timestamp,
    /// When it was noticed.
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
    /// Accepted differences of a repository.
    pub async fn acceptances(&mut self, repository_id: &RepositoryId) -> Result<Vec<Acceptance>, StoreError> {
        let sql =
            format!("SELECT {ACCEPTANCE} FROM acceptances WHERE repository_id = $1 ORDER BY kind, name");
        let rows = self.connection.rows_built(sql, values![repository_id]).await?;
        rows.iter().map(read_acceptance).collect()
    }

    /// Accepted differences among these resources of repositories, each with what its repository wants of it now.
    pub async fn acceptances_among(
        &mut self,
        of: &[(&RepositoryId, &ResourceKey)],
    ) -> Result<Vec<(Acceptance, Option<Digest>)>, StoreError> {
        let rows = of.iter().map(|(repository_id, key)| values![*repository_id, key.kind.slug(), &key.name]);
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = format!(
            ") SELECT {ACCEPTANCE}, desired.digest AS wanted_digest FROM given CROSS JOIN acceptances LEFT JOIN desired \
             ON desired.repository_id = acceptances.repository_id AND desired.kind = acceptances.kind \
             AND desired.name = acceptances.name WHERE acceptances.repository_id = given.repository_id \
             AND acceptances.kind = given.kind AND acceptances.name = given.name"
        );
        let rows = self.connection.rows_many(prefix, rows.collect(), &suffix).await?;
        rows.iter().map(|row| Ok((read_acceptance(row)?, row.optional_digest("wanted_digest")?))).collect()
    }

    /// Drift of a repository that was told and is not resolved.
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

    /// Which of these have drifted from what their repository says: repository and resource.
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

    /// How many resources of an account have drifted.
    pub async fn drifts_count(&mut self, account_id: &AccountId) -> Result<usize, StoreError> {
        let sql = "SELECT COUNT(*) AS count FROM drifts JOIN repositories ON repositories.id = drifts.repository_id \
                   WHERE repositories.account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }
}

impl Writing {
    /// Accepts a difference.
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

    /// Takes an acceptance back. False if there was none.
    pub async fn acceptance_remove(
        &mut self,
        repository_id: &RepositoryId,
        key: &ResourceKey,
    ) -> Result<bool, StoreError> {
        let sql = "DELETE FROM acceptances WHERE repository_id = $1 AND kind = $2 AND name = $3";
        Ok(self.connection.execute(sql, values![repository_id, key.kind.slug(), &key.name]).await? == 1)
    }

    /// Takes acceptances back, where there are any: repository and resource.
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

    /// Forgets acceptances whose time is over.
    pub async fn acceptances_forget(
        &mut self,
        now: Timestamp,
        budget: &mut RowBudget,
    ) -> Result<u64, StoreError> {
        let old =
            OldRows::new("acceptances", "repository_id, kind, name", "until IS NOT NULL AND until <= $1");
        self.delete_old(old, values![now], budget).await
    }

    /// Notes manual changes of a repository's resources.
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

    /// Forgets manual changes that are no more, and says how many were known.
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
