//! Desired state: what git declared at the last good run of each repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};

use crate::contents::SpecReader;
use crate::db::Reading;
use crate::error::StoreError;
use crate::sql::{Row, values};
use crate::write::Writing;

/// One declared resource as it is stored.
#[derive(Clone, Debug)]
pub struct DesiredResource {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The file that declares it.
    pub file: String,
    /// The first file that declared it since its last change was applied, if it moved.
    pub previous_file: Option<String>,
    /// The accepted digest when accepted last equalled desired, or when an edited change was last approved and applied;
    /// none if neither ever happened.
    pub last_agreed: Option<Digest>,
}

/// A declared resource to store.
#[derive(Clone, Debug)]
pub struct NewDesiredResource<'d> {
    /// Its name.
    pub name: &'d str,
    /// Its kind.
    pub kind: Kind,
    /// Its spec.
    pub spec: &'d Spec,
    /// The digest of the spec.
    pub digest: Digest,
    /// The file that declares it.
    pub file: &'d str,
}

/// A resource whose accepted state differs from desired, or that a repository declares but does not own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingResource {
    /// Which.
    pub key: ResourceKey,
    /// The desired digest and [`DesiredResource::last_agreed`]; none if git does not declare the resource.
    pub wanted: Option<(Digest, Option<Digest>)>,
    /// The accepted digest and the repository that owns the resource; none if the resource does not exist.
    pub accepted: Option<(Digest, Option<RepositoryId>)>,
}

fn read_differing_resource(row: &Row) -> Result<DifferingResource, StoreError> {
    let kind = row.word("kind", Kind::from_word)?;
    let key = ResourceKey::new(kind, row.text("name")?);
    let (wanted, last_agreed) = (row.optional_digest("desired_digest")?, row.optional_digest("last_agreed")?);
    let (accepted, owner) = (row.optional_digest("accepted_digest")?, row.optional_id("owner_id")?);
    Ok(DifferingResource {
        key,
        wanted: wanted.map(|digest| (digest, last_agreed)),
        accepted: accepted.map(|digest| (digest, owner)),
    })
}

fn read_desired(row: &Row) -> Result<DesiredResource, StoreError> {
    let kind = row.word("kind", Kind::from_word)?;
    Ok(DesiredResource {
        key: ResourceKey::new(kind, row.text("name")?),
        digest: row.digest("digest")?,
        file: row.text("file")?,
        previous_file: row.optional_text("previous_file")?,
        last_agreed: row.optional_digest("last_agreed")?,
    })
}

const DESIRED_DIFFERS: &str = "SELECT desired.kind, desired.name, desired.digest AS desired_digest, desired.last_agreed, \
    resources.digest AS accepted_digest, \
    resources.owner_id FROM desired LEFT JOIN resources ON resources.account_id = $1 \
    AND resources.kind = desired.kind AND resources.name = desired.name \
    WHERE desired.repository_id = $2 AND (resources.digest IS NULL \
    OR resources.digest <> desired.digest OR resources.owner_id IS NULL \
    OR resources.owner_id <> desired.repository_id)";

const ACCEPTED_NOT_DESIRED: &str = "SELECT kind, name, NULL AS desired_digest, NULL AS last_agreed, digest AS accepted_digest, \
    owner_id FROM resources WHERE account_id = $1 \
    AND owner_id = $2 AND NOT EXISTS (SELECT 1 FROM desired WHERE desired.repository_id = $2 \
    AND desired.kind = resources.kind AND desired.name = resources.name)";

impl Reading {
    /// Resources that a repository declares but does not own or whose accepted state differs, and resources that it
    /// owns but does not declare.
    pub async fn differing_resources(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<Vec<DifferingResource>, StoreError> {
        let mut rows = self.connection.rows(DESIRED_DIFFERS, values![account_id, repository_id]).await?;
        rows.extend(self.connection.rows(ACCEPTED_NOT_DESIRED, values![account_id, repository_id]).await?);
        rows.iter().map(read_differing_resource).collect()
    }

    /// [`Reading::differing_resources`] for one resource.
    pub async fn differing_resource(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
        key: &ResourceKey,
    ) -> Result<Option<DifferingResource>, StoreError> {
        let values = || values![account_id, repository_id, key.kind.slug(), &key.name];
        let sql = format!("{DESIRED_DIFFERS} AND desired.kind = $3 AND desired.name = $4");
        let mut rows = self.connection.rows_built(sql, values()).await?;
        let sql = format!("{ACCEPTED_NOT_DESIRED} AND resources.kind = $3 AND resources.name = $4");
        rows.extend(self.connection.rows_built(sql, values()).await?);
        rows.first().map(read_differing_resource).transpose()
    }

    /// The desired resources of a repository, without specs.
    pub async fn desired(
        &mut self,
        repository_id: &RepositoryId,
    ) -> Result<Vec<DesiredResource>, StoreError> {
        let sql = "SELECT kind, name, digest, file, previous_file, last_agreed FROM desired WHERE repository_id = $1";
        let rows = self.connection.rows(sql, values![repository_id]).await?;
        rows.iter().map(read_desired).collect()
    }

    /// Those of these resources that a repository declares, with specs.
    pub async fn desired_of(
        &mut self,
        repository_id: &RepositoryId,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<(DesiredResource, Arc<Spec>)>, StoreError> {
        let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.kind, desired.name, digest, file, previous_file, last_agreed, \
                      (SELECT body FROM contents WHERE contents.digest = desired.digest) AS spec \
                      FROM given CROSS JOIN desired WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                      AND desired.name = given.name";
        let rows = self.connection.rows_many(prefix, given, suffix).await?;
        let mut specs = SpecReader::default();
        rows.iter()
            .map(|row| {
                let wanted = read_desired(row)?;
                let spec = specs.spec(wanted.key.kind, wanted.digest, row, "spec")?;
                Ok((wanted.key.clone(), (wanted, spec)))
            })
            .collect()
    }

    /// The file in which a repository declares a resource.
    pub async fn desired_file(
        &mut self,
        repository_id: &RepositoryId,
        key: &ResourceKey,
    ) -> Result<Option<String>, StoreError> {
        let sql = "SELECT file FROM desired WHERE repository_id = $1 AND kind = $2 AND name = $3";
        let values = values![repository_id, key.kind.slug(), &key.name];
        self.connection.rows(sql, values).await?.first().map(|row| row.text("file")).transpose()
    }

    /// For each of these resources of a repository, the first file that declared it since its last change was applied.
    pub async fn desired_files(
        &mut self,
        repository_id: &RepositoryId,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<String>, StoreError> {
        let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.kind, desired.name, COALESCE(previous_file, file) AS first_file FROM given \
                      CROSS JOIN desired WHERE desired.repository_id = given.repository_id \
                      AND desired.kind = given.kind AND desired.name = given.name";
        let rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter()
            .map(|row| {
                Ok((
                    ResourceKey::new(row.word("kind", Kind::from_word)?, row.text("name")?),
                    row.text("first_file")?,
                ))
            })
            .collect()
    }

    /// Those of these pairs of repository and resource in which the repository declares the resource.
    pub async fn desired_among(
        &mut self,
        pairs: &[(&RepositoryId, &ResourceKey)],
    ) -> Result<Vec<(RepositoryId, ResourceKey)>, StoreError> {
        let given = pairs.iter().map(|(id, key)| values![*id, key.kind.slug(), &key.name]).collect();
        let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
        let suffix = ") SELECT desired.repository_id, desired.kind, desired.name FROM given CROSS JOIN desired \
                      WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                      AND desired.name = given.name";
        let rows = self.connection.rows_many(prefix, given, suffix).await?;
        rows.iter()
            .map(|row| {
                let repository = row.id("repository_id")?;
                Ok((repository, ResourceKey::new(row.word("kind", Kind::from_word)?, row.text("name")?)))
            })
            .collect()
    }

    /// The specs of the desired resources of a repository: of these, or of all.
    pub async fn desired_specs(
        &mut self,
        repository_id: &RepositoryId,
        keys: Option<&[ResourceKey]>,
    ) -> Result<ResourceMap<Arc<Spec>>, StoreError> {
        let rows = match keys {
            None => {
                let sql = "SELECT kind, name, digest, \
                           (SELECT body FROM contents WHERE contents.digest = desired.digest) AS spec \
                           FROM desired WHERE repository_id = $1";
                self.connection.rows(sql, values![repository_id]).await?
            }
            Some(keys) => {
                let given = keys.iter().map(|key| values![repository_id, key.kind.slug(), &key.name]);
                let prefix = "WITH given (repository_id, kind, name) AS (VALUES";
                let suffix = ") SELECT desired.kind, desired.name, digest, \
                              (SELECT body FROM contents WHERE contents.digest = desired.digest) AS spec \
                              FROM given CROSS JOIN desired WHERE desired.repository_id = given.repository_id AND desired.kind = given.kind \
                              AND desired.name = given.name";
                self.connection.rows_many(prefix, given.collect(), suffix).await?
            }
        };
        let mut specs = SpecReader::default();
        rows.iter()
            .map(|row| {
                let kind = row.word("kind", Kind::from_word)?;
                let key = ResourceKey::new(kind, row.text("name")?);
                let digest = row.digest("digest")?;
                Ok((key, specs.spec(kind, digest, row, "spec")?))
            })
            .collect()
    }
}

impl Writing {
    /// Replaces the desired resources of a repository. Writes only what changed. For a resource that moves to another
    /// file, it keeps the first file.
    pub async fn desired_replace(
        &mut self,
        repository_id: &RepositoryId,
        wanted: &[NewDesiredResource<'_>],
    ) -> Result<(), StoreError> {
        let stored = self.desired(repository_id).await?;
        let mut stored: BTreeMap<(Kind, &str), &DesiredResource> =
            stored.iter().map(|stored| ((stored.key.kind, stored.key.name.as_str()), stored)).collect();
        let mut changed = Vec::new();
        for new in wanted {
            let is_stored = stored
                .remove(&(new.kind, new.name))
                .is_some_and(|stored| stored.digest == new.digest && stored.file == new.file);
            if !is_stored {
                changed.push(new);
            }
        }
        self.specs_put(changed.iter().map(|new| (new.digest, new.spec)).collect()).await?;
        let row = |new: &&NewDesiredResource<'_>| {
            values![repository_id, new.kind.slug(), new.name, new.digest, new.file]
        };
        let rows = changed.iter().map(row).collect();
        let gone = stored.keys().map(|(kind, name)| values![repository_id, kind.slug(), *name]).collect();
        let prefix = "DELETE FROM desired WHERE (repository_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, gone, ")").await?;
        let prefix = "INSERT INTO desired (repository_id, kind, name, digest, file) VALUES";
        let suffix = "ON CONFLICT (repository_id, kind, name) DO UPDATE SET digest = excluded.digest, \
                      file = excluded.file, previous_file = CASE \
                      WHEN excluded.file = desired.file THEN desired.previous_file \
                      ELSE COALESCE(desired.previous_file, desired.file) END";
        self.connection.execute_many(prefix, rows, suffix).await?;
        Ok(())
    }

    /// Sets `last_agreed` where the accepted state equals desired. Returns for how many resources it changed.
    pub async fn desired_mark_agreed(&mut self, repository_id: &RepositoryId) -> Result<u64, StoreError> {
        let sql = "UPDATE desired SET last_agreed = digest, previous_file = NULL WHERE repository_id = $1 \
                   AND (last_agreed IS NULL OR last_agreed <> digest) AND EXISTS (SELECT 1 FROM resources, repositories \
                   WHERE repositories.id = desired.repository_id AND resources.account_id = repositories.account_id \
                   AND resources.kind = desired.kind AND resources.name = desired.name \
                   AND resources.digest = desired.digest AND resources.owner_id = desired.repository_id)";
        self.connection.execute(sql, values![repository_id]).await
    }

    /// Sets `last_agreed` of resources whose accepted state was approved: repository, resource, accepted digest.
    pub async fn desired_mark_agreed_among(
        &mut self,
        agreed: &[(&RepositoryId, &ResourceKey, Option<Digest>)],
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
