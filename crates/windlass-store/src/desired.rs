//! What git said at the last good run of each repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};

use crate::db::Reading;
use crate::error::StoreError;
use crate::resources::read_spec;
use crate::sql::{Row, values};
use crate::write::Writing;

/// One declared resource as it is stored.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The file that declares it.
    pub file: String,
    /// The first file that declared it since its last change was applied, if it moved.
    pub previous_file: Option<String>,
    /// What was accepted when git, or whoever approved an edited change, last had their way; none if that never was.
    pub last_agreed: Option<Digest>,
}

/// A declared resource that is about to be stored.
#[derive(Clone, Debug)]
pub struct NewWanted<'d> {
    /// Its name.
    pub name: &'d str,
    /// Its kind.
    pub kind: Kind,
    /// What it should be.
    pub spec: &'d Spec,
    /// The digest of that.
    pub digest: Digest,
    /// The file that declares it.
    pub file: &'d str,
}

/// A resource of which git and the accepted state do not say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// Which.
    pub key: ResourceKey,
    /// What git wants, and what it wanted when both last agreed; none if it wants nothing.
    pub wanted: Option<(Digest, Option<Digest>)>,
    /// The accepted state, and the repository that owns it; none if nothing is.
    pub accepted: Option<(Digest, Option<String>)>,
}

fn read_differing(row: &mut Row) -> Result<Differing, StoreError> {
    let kind = row.word(Kind::from_word)?;
    let key = ResourceKey::new(kind, row.text()?);
    let (wanted, last_agreed) = (row.optional_digest()?, row.optional_digest()?);
    let (accepted, owner) = (row.optional_digest()?, row.optional_text()?);
    Ok(Differing {
        key,
        wanted: wanted.map(|digest| (digest, last_agreed)),
        accepted: accepted.map(|digest| (digest, owner)),
    })
}

fn read_wanted(row: &mut Row) -> Result<Wanted, StoreError> {
    let kind = row.word(Kind::from_word)?;
    Ok(Wanted {
        key: ResourceKey::new(kind, row.text()?),
        digest: row.digest()?,
        file: row.text()?,
        previous_file: row.optional_text()?,
        last_agreed: row.optional_digest()?,
    })
}

const WANTED_DIFFERS: &str = "SELECT desired.kind, desired.name, desired.digest, desired.last_agreed, resources.digest, \
    resources.owner_id FROM desired LEFT JOIN resources ON resources.account_id = $1 \
    AND resources.kind = desired.kind AND resources.name = desired.name \
    WHERE desired.repository_id = $2 AND (resources.digest IS NULL \
    OR resources.digest <> desired.digest OR resources.owner_id IS NULL \
    OR resources.owner_id <> desired.repository_id)";

const ACCEPTED_NOT_DESIRED: &str = "SELECT kind, name, NULL, NULL, digest, owner_id FROM resources WHERE account_id = $1 \
    AND owner_id = $2 AND NOT EXISTS (SELECT 1 FROM desired WHERE desired.repository_id = $2 \
    AND desired.kind = resources.kind AND desired.name = resources.name)";

impl Reading {
    /// Where what a repository wants is not accepted as its own, and what it owns and does not want.
    pub async fn differing(
        &mut self,
        account_id: &str,
        repository_id: &str,
    ) -> Result<Vec<Differing>, StoreError> {
        let mut rows = self.connection.rows(WANTED_DIFFERS, values![account_id, repository_id]).await?;
        rows.extend(self.connection.rows(ACCEPTED_NOT_DESIRED, values![account_id, repository_id]).await?);
        rows.iter_mut().map(read_differing).collect()
    }

    /// The same of one resource.
    pub async fn differing_at(
        &mut self,
        account_id: &str,
        repository_id: &str,
        key: &ResourceKey,
    ) -> Result<Option<Differing>, StoreError> {
        let values = || values![account_id, repository_id, key.kind.slug(), &key.name];
        let sql = format!("{WANTED_DIFFERS} AND desired.kind = $3 AND desired.name = $4");
        let mut rows = self.connection.rows_built(sql, values()).await?;
        let sql = format!("{ACCEPTED_NOT_DESIRED} AND resources.kind = $3 AND resources.name = $4");
        rows.extend(self.connection.rows_built(sql, values()).await?);
        rows.first_mut().map(read_differing).transpose()
    }

    /// What a repository wants, without specs.
    pub async fn wanted(&mut self, repository_id: &str) -> Result<Vec<Wanted>, StoreError> {
        let sql = "SELECT kind, name, digest, file, previous_file, last_agreed FROM desired WHERE repository_id = $1";
        let mut rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter_mut().map(read_wanted).collect()
    }

    /// What a repository wants of these resources, with specs.
    pub async fn wanted_of(
        &mut self,
        repository_id: &str,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<(Wanted, Arc<Spec>)>, StoreError> {
        let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.kind, desired.name, digest, file, previous_file, last_agreed, spec \
                      FROM given CROSS JOIN desired WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                      AND desired.name = given.name";
        let mut rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter_mut()
            .map(|row| {
                let wanted = read_wanted(row)?;
                let spec = Arc::new(read_spec(wanted.key.kind, &row.text()?)?);
                Ok((wanted.key.clone(), (wanted, spec)))
            })
            .collect()
    }

    /// The file in which a repository declares a resource.
    pub async fn wanted_file(
        &mut self,
        repository_id: &str,
        key: &ResourceKey,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT file FROM desired WHERE repository_id = $1 AND kind = $2 AND name = $3";
        let values = values![repository_id, key.kind.slug(), &key.name];
        self.connection.rows(sql, values).await?.first_mut().map(Row::text).transpose()
    }

    /// The files that declared these resources of a repository so far: the first since the last change was applied.
    pub async fn wanted_files(
        &mut self,
        repository_id: &str,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<String>, StoreError> {
        let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.kind, desired.name, COALESCE(previous_file, file) FROM given \
                      CROSS JOIN desired WHERE desired.repository_id = given.repository_id \
                      AND desired.kind = given.kind AND desired.name = given.name";
        let mut rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter_mut()
            .map(|row| Ok((ResourceKey::new(row.word(Kind::from_word)?, row.text()?), row.text()?)))
            .collect()
    }

    /// Which of these repositories declare which of these: repository and resource.
    pub async fn wanted_among(
        &mut self,
        pairs: &[(&str, &ResourceKey)],
    ) -> Result<Vec<(String, ResourceKey)>, StoreError> {
        let given = pairs.iter().map(|(id, key)| values![*id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.repository_id, desired.kind, desired.name FROM given CROSS JOIN desired \
                      WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                      AND desired.name = given.name";
        let mut rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter_mut()
            .map(|row| {
                let repository = row.text()?;
                Ok((repository, ResourceKey::new(row.word(Kind::from_word)?, row.text()?)))
            })
            .collect()
    }

    /// Specs of what a repository wants: of these, or of all.
    pub async fn wanted_specs(
        &mut self,
        repository_id: &str,
        keys: Option<&[ResourceKey]>,
    ) -> Result<ResourceMap<Arc<Spec>>, StoreError> {
        let mut rows = match keys {
            None => {
                let sql = "SELECT kind, name, spec FROM desired WHERE repository_id = $1";
                self.connection.rows(sql, values![repository_id]).await?
            }
            Some(keys) => {
                let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]);
                let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
                let suffix = ") SELECT desired.kind, desired.name, spec FROM given CROSS JOIN desired \
                              WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                              AND desired.name = given.name";
                self.connection.rows_many(prefix, given.collect(), suffix).await?
            }
        };
        rows.iter_mut()
            .map(|row| {
                let kind = row.word(Kind::from_word)?;
                let key = ResourceKey::new(kind, row.text()?);
                Ok((key, Arc::new(read_spec(kind, &row.text()?)?)))
            })
            .collect()
    }
}

impl Writing {
    /// Replaces what a repository wants. Only what changed is written; of what moves to another file, the first is kept.
    pub async fn wanted_replace(
        &mut self,
        repository_id: &str,
        wanted: &[NewWanted<'_>],
    ) -> Result<(), StoreError> {
        let stored = self.wanted(repository_id).await?;
        let mut stored: BTreeMap<(Kind, &str), &Wanted> =
            stored.iter().map(|stored| ((stored.key.kind, stored.key.name.as_str()), stored)).collect();
        let mut rows = Vec::new();
        for new in wanted {
            let is_stored = stored
                .remove(&(new.kind, new.name))
                .is_some_and(|stored| stored.digest == new.digest && stored.file == new.file);
            if !is_stored {
                rows.push(values![
                    repository_id,
                    new.kind.slug(),
                    new.name,
                    new.digest,
                    new.spec.to_stored(),
                    new.file
                ]);
            }
        }
        let gone = stored.keys().map(|(kind, name)| values![repository_id, kind.slug(), *name]).collect();
        let prefix = "DELETE FROM desired WHERE (repository_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, gone, ")").await?;
        let prefix = "INSERT INTO desired (repository_id, kind, name, digest, spec, file) VALUES";
        let suffix = "ON CONFLICT (repository_id, kind, name) DO UPDATE SET digest = excluded.digest, \
                      spec = excluded.spec, file = excluded.file, previous_file = CASE \
                      WHEN excluded.file = desired.file THEN desired.previous_file \
                      ELSE COALESCE(desired.previous_file, desired.file) END";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Notes where the accepted state is what git wants now. Returns how many that is news for.
    pub async fn desired_mark_agreed(&mut self, repository_id: &str) -> Result<u64, StoreError> {
        let sql = "UPDATE desired SET last_agreed = digest, previous_file = NULL WHERE repository_id = $1 \
                   AND (last_agreed IS NULL OR last_agreed <> digest) AND EXISTS (SELECT 1 FROM resources, repositories \
                   WHERE repositories.id = desired.repository_id AND resources.account_id = repositories.account_id \
                   AND resources.kind = desired.kind AND resources.name = desired.name \
                   AND resources.digest = desired.digest AND resources.owner_id = desired.repository_id)";
        self.connection.execute(sql, values![repository_id]).await
    }

    /// Notes what is accepted, with everyone's consent, for resources of repositories: repository, resource, accepted.
    pub async fn desired_mark_agreed_among(
        &mut self,
        agreed: &[(&str, &ResourceKey, Option<Digest>)],
    ) -> Result<(), StoreError> {
        let rows = agreed
            .iter()
            .map(|(repository_id, key, accepted)| {
                values![*repository_id, key.kind.slug(), &key.name, *accepted]
            })
            .collect();
        let prefix = "WITH given (repository_id, kind, name, last_agreed) AS (VALUES";
        let suffix = ") UPDATE desired SET last_agreed = given.last_agreed, previous_file = NULL FROM given \
                      WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                      AND desired.name = given.name";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }
}
