//! Accepted resources.

use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId, ResourceId};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};
use windlass_core::target_assignment::CoveringApproval;
use windlass_core::time::Timestamp;

use crate::approved_resources::stored_approval;
use crate::contents::SpecReader;
use crate::db::Reading;
use crate::error::StoreError;
use crate::keys::{read_key, read_key_in, resource_row};
use crate::page::{like_pattern, new_id, search_pattern};
use crate::sql::{Row, Value, values};
use crate::write::AccountWriting;

/// An accepted resource.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Which.
    pub key: ResourceKey,
    /// Its id.
    pub id: ResourceId,
    /// Its spec.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<RepositoryId>,
    /// The file that declared it when its last change from git was applied.
    pub declared_in: Option<String>,
    /// How often it was changed.
    pub generation: i64,
    /// Since when it exists.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// By whom.
    pub updated_by: String,
}

/// An accepted resource without its spec.
#[derive(Clone, Debug)]
pub struct ResourceHead {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<RepositoryId>,
}

/// The new state of a resource.
#[derive(Clone, Copy, Debug)]
pub struct NewResource<'r> {
    /// Which.
    pub key: &'r ResourceKey,
    /// Its new spec.
    pub spec: &'r Spec,
    /// The digest of that spec.
    pub digest: Digest,
    /// The new owner.
    pub owner_id: Option<&'r RepositoryId>,
    /// The file that declares it; none for a direct change, which keeps the stored file.
    pub declared_in: Option<&'r str>,
    /// Who changes it.
    pub by: &'r str,
    /// Why it is accepted.
    pub approval: &'r CoveringApproval,
}

impl NewResource<'_> {
    /// The row of the resource. The generation is used only if the resource is new.
    fn row(&self, account_id: &AccountId, generation: i64, now: Timestamp) -> Vec<Value> {
        let mut row = resource_row(account_id, self.key);
        row.extend(values![
            &new_id::<ResourceId>(),
            self.digest,
            self.owner_id,
            generation,
            now,
            now,
            self.by,
            self.declared_in,
            self.digest,
            stored_approval(self.approval)
        ]);
        row
    }

    fn reference_rows(&self, account_id: &AccountId) -> Vec<Vec<Value>> {
        let row = |target: &ResourceKey| {
            let mut row = resource_row(account_id, self.key);
            row.extend(values![target.kind.slug(), &target.name]);
            row
        };
        self.spec.targets(&self.key.name).iter().map(row).collect()
    }
}

/// A resource to destroy.
#[derive(Clone, Copy, Debug)]
pub struct ResourceToDestroy<'r> {
    /// Which.
    pub key: &'r ResourceKey,
    /// Who destroys it.
    pub by: &'r str,
}

/// Whose resources to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnerFilter {
    /// Those that no repository owns.
    Nobody,
    /// Those of this repository.
    Repository(RepositoryId),
}

/// Which resources to list.
#[derive(Clone, Debug, Default)]
pub struct ResourceFilter {
    /// Of one kind; otherwise of all.
    pub kind: Option<Kind>,
    /// Of this owner; otherwise of all.
    pub owner: Option<OwnerFilter>,
    /// Text in the name; the case of ASCII letters does not matter.
    pub search: Option<String>,
}

const COLUMNS: &str = "kind, name, id, digest, (SELECT body FROM contents WHERE contents.digest = resources.digest) AS spec, \
    owner_id, generation, created_at, updated_at, updated_by, declared_in";

fn read_head(row: &Row) -> Result<ResourceHead, StoreError> {
    Ok(ResourceHead {
        key: read_key(row)?,
        digest: row.digest("digest")?,
        owner_id: row.optional_id("owner_id")?,
    })
}

fn read_resource(row: &Row, specs: &mut SpecReader) -> Result<Resource, StoreError> {
    let key = read_key(row)?;
    let digest = row.digest("digest")?;
    Ok(Resource {
        spec: specs.spec(key.kind, digest, row, "spec")?,
        key,
        id: row.id("id")?,
        digest,
        owner_id: row.optional_id("owner_id")?,
        generation: row.number("generation")?,
        created_at: row.timestamp("created_at")?,
        updated_at: row.timestamp("updated_at")?,
        updated_by: row.text("updated_by")?,
        declared_in: row.optional_text("declared_in")?,
    })
}

fn read_resources(rows: Vec<Row>) -> Result<Vec<Resource>, StoreError> {
    let mut specs = SpecReader::default();
    rows.iter().map(|row| read_resource(row, &mut specs)).collect()
}

/// A statement that selects the resources that match a filter, except for its kind, without ORDER BY and LIMIT.
struct ResourceQuery {
    sql: String,
    values: Vec<Value>,
}

impl ResourceQuery {
    fn of(columns: &str, account_id: &AccountId, filter: &ResourceFilter) -> ResourceQuery {
        let sql = format!("SELECT {columns} FROM resources WHERE account_id = $1");
        let mut query = ResourceQuery { sql, values: values![account_id] };
        match &filter.owner {
            Some(OwnerFilter::Nobody) => query.add("owner_id IS NULL", Vec::new()),
            Some(OwnerFilter::Repository(owner)) => query.add("owner_id = ?", values![owner]),
            None => {}
        }
        if let Some(text) = &filter.search {
            query.add("LOWER(name) LIKE ? ESCAPE '\\'", values![search_pattern(text)]);
        }
        query
    }

    fn add(&mut self, clause: &str, added: Vec<Value>) {
        let mut clause = clause.to_owned();
        for value in added {
            self.values.push(value);
            clause = clause.replacen('?', &format!("${}", self.values.len()), 1);
        }
        self.sql.push_str(" AND ");
        self.sql.push_str(&clause);
    }
}

impl Reading {
    /// A resource by key.
    pub async fn resource(
        &mut self,
        account_id: &AccountId,
        key: &ResourceKey,
    ) -> Result<Option<Resource>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM resources WHERE account_id = $1 AND kind = $2 AND name = $3");
        let rows = self.connection.rows_built(sql, resource_row(account_id, key)).await?;
        Ok(read_resources(rows)?.pop())
    }

    /// A resource of a kind by id.
    pub async fn resource_by_id(
        &mut self,
        account_id: &AccountId,
        kind: Kind,
        id: &ResourceId,
    ) -> Result<Option<Resource>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM resources WHERE id = $1 AND account_id = $2 AND kind = $3");
        let rows = self.connection.rows_built(sql, values![id, account_id, kind.slug()]).await?;
        Ok(read_resources(rows)?.pop())
    }

    /// A page of resources, by kind and name, after a key.
    pub async fn resources_page(
        &mut self,
        account_id: &AccountId,
        filter: &ResourceFilter,
        after: Option<&ResourceKey>,
        limit: usize,
    ) -> Result<Vec<Resource>, StoreError> {
        let mut query = ResourceQuery::of(COLUMNS, account_id, filter);
        if let Some(kind) = filter.kind {
            query.add("kind = ?", values![kind.slug()]);
        }
        match (filter.kind, after) {
            (Some(_), Some(key)) => query.add("name > ?", values![&key.name]),
            (None, Some(key)) => query.add("(kind, name) > (?, ?)", values![key.kind.slug(), &key.name]),
            (_, None) => {}
        }
        query.sql.push_str(&format!(" ORDER BY kind, name LIMIT {limit}"));
        read_resources(self.connection.rows_built(query.sql, query.values).await?)
    }

    /// How many resources of each kind match a filter, ignoring the kind in the filter.
    pub async fn resources_tally(
        &mut self,
        account_id: &AccountId,
        filter: &ResourceFilter,
    ) -> Result<Vec<(Kind, usize)>, StoreError> {
        let mut query = ResourceQuery::of("kind, COUNT(*) AS count", account_id, filter);
        query.sql.push_str(" GROUP BY kind");
        let rows = self.connection.rows_built(query.sql, query.values).await?;
        rows.iter().map(|row| Ok((row.word("kind", Kind::from_word)?, row.count("count")?))).collect()
    }

    /// The peers or virtual IPs of a network, by name.
    pub async fn resources_in(
        &mut self,
        account_id: &AccountId,
        kind: Kind,
        network: &str,
    ) -> Result<Vec<Resource>, StoreError> {
        self.resources_beginning(account_id, kind, &format!("{network}/")).await
    }

    /// The versions of a module, by name.
    pub async fn module_versions_of(
        &mut self,
        account_id: &AccountId,
        module: &str,
    ) -> Result<Vec<Resource>, StoreError> {
        self.resources_beginning(account_id, Kind::ModuleVersion, &format!("{module}@")).await
    }

    /// The resources of a kind whose names begin with a text, by name.
    async fn resources_beginning(
        &mut self,
        account_id: &AccountId,
        kind: Kind,
        prefix: &str,
    ) -> Result<Vec<Resource>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM resources WHERE account_id = $1 AND kind = $2 AND name LIKE $3 ESCAPE '\\' \
             ORDER BY name"
        );
        let values = values![account_id, kind.slug(), like_pattern(prefix, "%")];
        let mut found = read_resources(self.connection.rows_built(sql, values).await?)?;
        // LIKE ignores the case of letters in SQLite.
        found.retain(|resource| resource.key.name.starts_with(prefix));
        Ok(found)
    }

    /// How many resources of each kind refer to each of these resources.
    pub async fn referrers_count(
        &mut self,
        account_id: &AccountId,
        targets: &[ResourceKey],
    ) -> Result<Vec<(ResourceKey, Kind, usize)>, StoreError> {
        let rows = targets.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT to_kind, to_name, found.kind, COUNT(*) AS count FROM given \
                      CROSS JOIN resource_references AS found WHERE found.account_id = given.account_id \
                      AND to_kind = given.kind AND to_name = given.name GROUP BY to_kind, to_name, found.kind";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter()
            .map(|row| {
                Ok((
                    read_key_in(row, "to_kind", "to_name")?,
                    row.word("kind", Kind::from_word)?,
                    row.count("count")?,
                ))
            })
            .collect()
    }

    /// How many resources of each kind an account has.
    pub async fn resources_count(
        &mut self,
        account_id: &AccountId,
    ) -> Result<Vec<(Kind, usize)>, StoreError> {
        let sql = "SELECT kind, COUNT(*) AS count FROM resources WHERE account_id = $1 GROUP BY kind";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(|row| Ok((row.word("kind", Kind::from_word)?, row.count("count")?))).collect()
    }

    /// How many resources a repository owns.
    pub async fn resources_owned(
        &mut self,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<usize, StoreError> {
        let sql = "SELECT COUNT(*) AS count FROM resources WHERE account_id = $1 AND owner_id = $2";
        let rows = self.connection.rows(sql, values![account_id, repository_id]).await?;
        rows.first().map_or(Ok(0), |row| row.count("count"))
    }

    /// Every resource of an account without its spec.
    pub async fn resource_heads(&mut self, account_id: &AccountId) -> Result<Vec<ResourceHead>, StoreError> {
        let sql = "SELECT kind, name, digest, owner_id FROM resources WHERE account_id = $1";
        let rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter().map(read_head).collect()
    }

    /// Every resource of some kinds without its spec, by kind and name.
    pub async fn resource_heads_of_kinds(
        &mut self,
        account_id: &AccountId,
        kinds: &[Kind],
    ) -> Result<Vec<ResourceHead>, StoreError> {
        let rows = kinds.iter().map(|kind| values![account_id, kind.slug()]).collect();
        let prefix = "WITH given (account_id, kind) AS (VALUES";
        let suffix = ") SELECT resources.kind, resources.name, digest, owner_id FROM given CROSS JOIN resources \
                      WHERE resources.account_id = given.account_id AND resources.kind = given.kind \
                      ORDER BY resources.kind, resources.name";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(read_head).collect()
    }

    /// The files that declared these resources when their last changes from git were applied; without those that are
    /// not stored.
    pub async fn resource_files(
        &mut self,
        account_id: &AccountId,
        keys: &[ResourceKey],
    ) -> Result<ResourceMap<String>, StoreError> {
        let rows = keys.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT resources.kind, resources.name, declared_in FROM given CROSS JOIN resources \
                      WHERE resources.account_id = given.account_id AND resources.kind = given.kind \
                      AND resources.name = given.name AND declared_in IS NOT NULL";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((read_key(row)?, row.text("declared_in")?))).collect()
    }

    /// Resources of an account, by their keys, without their specs.
    pub async fn resource_heads_of(
        &mut self,
        account_id: &AccountId,
        keys: &[ResourceKey],
    ) -> Result<Vec<ResourceHead>, StoreError> {
        let rows = keys.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT resources.kind, resources.name, digest, owner_id FROM given CROSS JOIN resources \
                      WHERE resources.account_id = given.account_id AND resources.kind = given.kind \
                      AND resources.name = given.name";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(read_head).collect()
    }

    /// Resources of an account by their keys.
    pub async fn resources_of(
        &mut self,
        account_id: &AccountId,
        keys: &[ResourceKey],
    ) -> Result<Vec<Resource>, StoreError> {
        let rows = keys.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, given_kind, given_name) AS (VALUES";
        let suffix = format!(
            ") SELECT {COLUMNS} FROM given CROSS JOIN resources WHERE resources.account_id = given.account_id \
             AND kind = given_kind AND name = given_name"
        );
        read_resources(self.connection.rows_many(prefix, rows, &suffix).await?)
    }

    /// What refers to these resources of an account: pairs of the resource that refers and the one it refers to.
    pub async fn referrers(
        &mut self,
        account_id: &AccountId,
        targets: &[ResourceKey],
    ) -> Result<Vec<(ResourceKey, ResourceKey)>, StoreError> {
        let rows = targets.iter().map(|key| resource_row(account_id, key)).collect();
        let prefix = "WITH given (account_id, kind, name) AS (VALUES";
        let suffix = ") SELECT found.kind, found.name, to_kind, to_name FROM given \
                      CROSS JOIN resource_references AS found WHERE found.account_id = given.account_id \
                      AND to_kind = given.kind AND to_name = given.name \
                      ORDER BY to_kind, to_name, found.kind, found.name";
        let rows = self.connection.rows_many(prefix, rows, suffix).await?;
        rows.iter().map(|row| Ok((read_key(row)?, read_key_in(row, "to_kind", "to_name")?))).collect()
    }

    /// What refers to a resource of an account, at most `limit`.
    pub async fn referrers_of(
        &mut self,
        account_id: &AccountId,
        target: &ResourceKey,
        limit: usize,
    ) -> Result<Vec<ResourceKey>, StoreError> {
        let sql = format!(
            "SELECT kind, name FROM resource_references WHERE account_id = $1 AND to_kind = $2 AND to_name = $3 \
             ORDER BY kind, name LIMIT {limit}"
        );
        let rows = self.connection.rows_built(sql, resource_row(account_id, target)).await?;
        rows.iter().map(read_key).collect()
    }

    /// Every resource of an account, or those of one owner.
    pub async fn resources_all(
        &mut self,
        account_id: &AccountId,
        owner_id: Option<&RepositoryId>,
    ) -> Result<Vec<Resource>, StoreError> {
        let filter = ResourceFilter {
            owner: owner_id.cloned().map(OwnerFilter::Repository),
            ..ResourceFilter::default()
        };
        self.resources_page(account_id, &filter, None, i32::MAX as usize).await
    }
}

impl AccountWriting {
    /// Creates or updates a resource: someone who may approve it changes it directly.
    pub async fn resource_put(
        &mut self,
        key: &ResourceKey,
        spec: &Spec,
        owner_id: Option<&RepositoryId>,
        by: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let digest = spec.digest();
        let approval = &CoveringApproval::DirectChange { person: by.to_owned(), at: now };
        let new = NewResource { key, spec, digest, owner_id, declared_in: None, by, approval };
        self.resources_put(&[new], now).await
    }

    /// Creates or updates resources and their references. Each resource may occur only once.
    pub async fn resources_put(
        &mut self,
        resources: &[NewResource<'_>],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let account_id = self.account_id().clone();
        self.specs_put(resources.iter().map(|resource| (resource.digest, resource.spec)).collect()).await?;
        let keys: Vec<&ResourceKey> = resources.iter().map(|resource| resource.key).collect();
        let ended = self.last_generations(&keys).await?;
        let row = |resource: &NewResource<'_>| {
            let last = ended.get(resource.key.kind, &resource.key.name).copied().unwrap_or(0);
            resource.row(&account_id, last + 1, now)
        };
        let rows = resources.iter().map(row).collect();
        let prefix = "INSERT INTO resources (account_id, kind, name, id, digest, owner_id, generation, \
                      created_at, updated_at, updated_by, declared_in, approved_digest, approval) VALUES";
        let suffix = "ON CONFLICT (account_id, kind, name) DO UPDATE SET \
                      digest = excluded.digest, owner_id = excluded.owner_id, \
                      generation = resources.generation + 1, updated_at = excluded.updated_at, \
                      updated_by = excluded.updated_by, approved_digest = excluded.approved_digest, \
                      approval = excluded.approval, \
                      declared_in = COALESCE(excluded.declared_in, resources.declared_in)";
        self.connection.execute_many(prefix, rows, suffix).await?;
        let changed = resources.iter().map(|resource| resource_row(&account_id, resource.key)).collect();
        let prefix = "DELETE FROM resource_references WHERE (account_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, changed, ")").await?;
        let rows = resources.iter().flat_map(|resource| resource.reference_rows(&account_id)).collect();
        let prefix = "INSERT INTO resource_references (account_id, kind, name, to_kind, to_name) VALUES";
        self.connection.execute_many(prefix, rows, "").await?;
        Ok(())
    }

    /// Destroys a resource. False if there is none.
    pub async fn resource_remove(
        &mut self,
        ended: ResourceToDestroy<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.resources_remove(&[ended], now).await? == 1)
    }

    /// Destroys resources, adds a tombstone for each, and returns how many existed.
    pub async fn resources_remove(
        &mut self,
        ended: &[ResourceToDestroy<'_>],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let account_id = self.account_id().clone();
        self.tombstones_add(ended, now).await?;
        let rows = ended.iter().map(|ended| resource_row(&account_id, ended.key)).collect();
        let prefix = "DELETE FROM resources WHERE (account_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }

    /// Removes the owner of a repository's resources.
    pub async fn resources_disown(&mut self, repository_id: &RepositoryId) -> Result<u64, StoreError> {
        let sql = "UPDATE resources SET owner_id = NULL WHERE account_id = $1 AND owner_id = $2";
        let values = values![self.account_id(), repository_id];
        self.connection.execute(sql, values).await
    }
}
