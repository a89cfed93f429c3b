//! Accepted resources.

use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId, ResourceId};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};
use windlass_core::time::Timestamp;

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
    /// What it is.
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

/// What is known of an accepted resource without reading its spec.
#[derive(Clone, Debug)]
pub struct ResourceHead {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<RepositoryId>,
}

/// What a resource shall be.
#[derive(Clone, Copy, Debug)]
pub struct NewResource<'r> {
    /// Which.
    pub key: &'r ResourceKey,
    /// What it shall be.
    pub spec: &'r Spec,
    /// The digest of that.
    pub digest: Digest,
    /// The repository that shall own it.
    pub owner_id: Option<&'r RepositoryId>,
    /// The file that declares it so; none for a direct change, which leaves it where it was declared.
    pub declared_in: Option<&'r str>,
    /// Who makes it so.
    pub by: &'r str,
}

impl NewResource<'_> {
    /// The row of a resource that has this generation if it is new.
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
            self.declared_in
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

/// A resource that ends.
#[derive(Clone, Copy, Debug)]
pub struct EndedResource<'r> {
    /// Which.
    pub key: &'r ResourceKey,
    /// Who ends it.
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
    /// Text in the name, in upper or lower case.
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

/// The beginning of a statement about the resources that a filter chooses, but for their kind.
struct ResourceQuery {
    sql: String,
    values: Vec<Value>,
}

impl ResourceQuery {
    fn of(columns: &str, account_id: &AccountId, filter: &ResourceFilter) -> ResourceQuery {
        let sql = format!("SELECT {columns} FROM resources WHERE account_id = $1");
        let mut chosen = ResourceQuery { sql, values: values![account_id] };
        match &filter.owner {
            Some(OwnerFilter::Nobody) => chosen.add("owner_id IS NULL", Vec::new()),
            Some(OwnerFilter::Repository(owner)) => chosen.add("owner_id = ?", values![owner]),
            None => {}
        }
        if let Some(text) = &filter.search {
            chosen.add("LOWER(name) LIKE ? ESCAPE '\\'", values![search_pattern(text)]);
        }
        chosen
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
        let mut chosen = ResourceQuery::of(COLUMNS, account_id, filter);
        if let Some(kind) = filter.kind {
            chosen.add("kind = ?", values![kind.slug()]);
        }
        match (filter.kind, after) {
            (Some(_), Some(key)) => chosen.add("name > ?", values![&key.name]),
            (None, Some(key)) => chosen.add("(kind, name) > (?, ?)", values![key.kind.slug(), &key.name]),
            (_, None) => {}
        }
        chosen.sql.push_str(&format!(" ORDER BY kind, name LIMIT {limit}"));
        read_resources(self.connection.rows_built(chosen.sql, chosen.values).await?)
    }

    /// How many resources of each kind a filter chooses, whatever kind it names.
    pub async fn resources_tally(
        &mut self,
        account_id: &AccountId,
        filter: &ResourceFilter,
    ) -> Result<Vec<(Kind, usize)>, StoreError> {
        let mut chosen = ResourceQuery::of("kind, COUNT(*) AS count", account_id, filter);
        chosen.sql.push_str(" GROUP BY kind");
        let rows = self.connection.rows_built(chosen.sql, chosen.values).await?;
        rows.iter().map(|row| Ok((row.word("kind", Kind::from_word)?, row.count("count")?))).collect()
    }

    /// The peers or virtual IPs of a network, by name.
    pub async fn resources_in(
        &mut self,
        account_id: &AccountId,
        kind: Kind,
        network: &str,
    ) -> Result<Vec<Resource>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM resources WHERE account_id = $1 AND kind = $2 AND name LIKE $3 ESCAPE '\\' \
             ORDER BY name"
        );
        let beginning = format!("{network}/");
        let values = values![account_id, kind.slug(), like_pattern(&beginning, "%")];
        let mut found = read_resources(self.connection.rows_built(sql, values).await?)?;
        // One of the databases takes upper and lower case for the same.
        found.retain(|resource| resource.key.name.starts_with(&beginning));
        Ok(found)
    }

    /// How many resources of each kind refer to each of these.
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

    /// The files that declared these resources when their last changes from git were applied, as far as they are known.
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

    /// What refers to resources of an account: each pair as who refers, and to what.
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

    /// What refers to a resource of an account, so many at most.
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
    /// Makes a resource what it shall be, and owned by whom it shall be.
    pub async fn resource_put(
        &mut self,
        key: &ResourceKey,
        spec: &Spec,
        owner_id: Option<&RepositoryId>,
        by: &str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let digest = spec.digest();
        self.resources_put(&[NewResource { key, spec, digest, owner_id, declared_in: None, by }], now).await
    }

    /// Makes resources what they shall be, each once, with what they refer to.
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
                      created_at, updated_at, updated_by, declared_in) VALUES";
        let suffix = "ON CONFLICT (account_id, kind, name) DO UPDATE SET \
                      digest = excluded.digest, owner_id = excluded.owner_id, \
                      generation = resources.generation + 1, updated_at = excluded.updated_at, \
                      updated_by = excluded.updated_by, \
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

    /// Ends a resource. False if there is none.
    pub async fn resource_remove(
        &mut self,
        ended: EndedResource<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        Ok(self.resources_remove(&[ended], now).await? == 1)
    }

    /// Ends resources, leaves a tombstone for each, and says how many there were.
    pub async fn resources_remove(
        &mut self,
        ended: &[EndedResource<'_>],
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        let account_id = self.account_id().clone();
        self.tombstones_add(ended, now).await?;
        let rows = ended.iter().map(|ended| resource_row(&account_id, ended.key)).collect();
        let prefix = "DELETE FROM resources WHERE (account_id, kind, name) IN (VALUES";
        self.connection.execute_many(prefix, rows, ")").await
    }

    /// Gives a repository's resources to nobody.
    pub async fn resources_disown(&mut self, repository_id: &RepositoryId) -> Result<u64, StoreError> {
        let sql = "UPDATE resources SET owner_id = NULL WHERE account_id = $1 AND owner_id = $2";
        let values = values![self.account_id(), repository_id];
        self.connection.execute(sql, values).await
    }
}
