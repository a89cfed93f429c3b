//! Live resources.

use std::sync::Arc;

use windlass_core::digest::Digest;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::time::Timestamp;

use crate::db::Reading;
use crate::error::StoreError;
use crate::page::{like_pattern, new_id, search_pattern};
use crate::sql::{Row, values};
use crate::write::AccountWriting;

/// A live resource.
#[derive(Clone, Debug)]
pub struct Resource {
    /// Which.
    pub key: ResourceKey,
    /// Its id.
    pub id: String,
    /// What it is.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<String>,
    /// How often it was changed.
    pub generation: i64,
    /// Since when it exists.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// By whom.
    pub updated_by: String,
}

/// What is known of a live resource without reading its spec.
#[derive(Clone, Debug)]
pub struct ResourceHead {
    /// Which.
    pub key: ResourceKey,
    /// The digest of its spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<String>,
}

/// Which resources to list.
#[derive(Clone, Debug, Default)]
pub struct ResourceFilter {
    /// Of one kind; otherwise of all.
    pub kind: Option<Kind>,
    /// Owned by this repository; `""` for those nobody owns.
    pub owner_id: Option<String>,
    /// Text in the name, in upper or lower case.
    pub search: Option<String>,
}

const COLUMNS: &str =
    "kind, name, id, spec, digest, owner_id, generation, created_at, updated_at, updated_by";

fn read_key(row: &mut Row) -> Result<ResourceKey, StoreError> {
    let kind = row.word(Kind::from_word)?;
    Ok(ResourceKey::new(kind, row.text()?))
}

/// Reads a stored spec. It was valid when it was stored.
pub(crate) fn read_spec(kind: Kind, text: &str) -> Result<Spec, StoreError> {
    Spec::read_stored(kind, text).ok_or_else(|| StoreError::Broken {
        column: format!("spec of a {kind}"),
        value: text.chars().take(80).collect(),
    })
}

fn read_resource(row: &mut Row) -> Result<Resource, StoreError> {
    let key = read_key(row)?;
    let id = row.text()?;
    let spec = Arc::new(read_spec(key.kind, &row.text()?)?);
    Ok(Resource {
        key,
        id,
        spec,
        digest: row.digest()?,
        owner_id: row.optional_text()?,
        generation: row.number()?,
        created_at: row.moment()?,
        updated_at: row.moment()?,
        updated_by: row.text()?,
    })
}

impl Reading {
    /// A resource by key.
    pub async fn resource(
        &mut self,
        account_id: &str,
        key: &ResourceKey,
    ) -> Result<Option<Resource>, StoreError> {
        let sql =
            format!("SELECT {COLUMNS} FROM resources WHERE account_id = $1 AND kind = $2 AND name = $3");
        let mut rows =
            self.connection.rows_built(sql, values![account_id, key.kind.slug(), &key.name]).await?;
        rows.first_mut().map(read_resource).transpose()
    }

    /// A resource of a kind by id.
    pub async fn resource_by_id(
        &mut self,
        account_id: &str,
        kind: Kind,
        id: &str,
    ) -> Result<Option<Resource>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM resources WHERE id = $1 AND account_id = $2 AND kind = $3");
        let mut rows = self.connection.rows_built(sql, values![id, account_id, kind.slug()]).await?;
        rows.first_mut().map(read_resource).transpose()
    }

    /// A page of resources, by kind and name, after a key.
    pub async fn resources_page(
        &mut self,
        account_id: &str,
        filter: &ResourceFilter,
        after: Option<&ResourceKey>,
        limit: usize,
    ) -> Result<Vec<Resource>, StoreError> {
        let mut values = values![account_id];
        let mut sql = format!("SELECT {COLUMNS} FROM resources WHERE account_id = $1");
        let mut add = |clause: &str, added: Vec<crate::sql::Value>| {
            let mut clause = clause.to_owned();
            for value in added {
                values.push(value);
                clause = clause.replacen('?', &format!("${}", values.len()), 1);
            }
            sql.push_str(" AND ");
            sql.push_str(&clause);
        };
        if let Some(kind) = filter.kind {
            add("kind = ?", values![kind.slug()]);
        }
        match filter.owner_id.as_deref() {
            Some("") => add("owner_id IS NULL", Vec::new()),
            Some(owner) => add("owner_id = ?", values![owner]),
            None => {}
        }
        if let Some(text) = &filter.search {
            add("LOWER(name) LIKE ? ESCAPE '\\'", values![search_pattern(text)]);
        }
        match (filter.kind, after) {
            (Some(_), Some(key)) => add("name > ?", values![&key.name]),
            (None, Some(key)) => add("(kind, name) > (?, ?)", values![key.kind.slug(), &key.name]),
            (_, None) => {}
        }
        sql.push_str(&format!(" ORDER BY kind, name LIMIT {limit}"));
        let mut rows = self.connection.rows_built(sql, values).await?;
        rows.iter_mut().map(read_resource).collect()
    }

    /// How many resources of each kind an account has.
    pub async fn resources_count(&mut self, account_id: &str) -> Result<Vec<(Kind, usize)>, StoreError> {
        let sql = "SELECT kind, COUNT(*) FROM resources WHERE account_id = $1 GROUP BY kind";
        let mut rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter_mut().map(|row| Ok((row.word(Kind::from_word)?, row.count()?))).collect()
    }

    /// Every resource of an account without its spec.
    pub async fn resource_heads(&mut self, account_id: &str) -> Result<Vec<ResourceHead>, StoreError> {
        let sql = "SELECT kind, name, digest, owner_id FROM resources WHERE account_id = $1";
        let mut rows = self.connection.rows(sql, values![account_id]).await?;
        rows.iter_mut()
            .map(|row| {
                Ok(ResourceHead {
                    key: read_key(row)?,
                    digest: row.digest()?,
                    owner_id: row.optional_text()?,
                })
            })
            .collect()
    }

    /// Resources of an account whose name or spec holds a text: those among which to look for who refers to something.
    pub async fn resources_mentioning(
        &mut self,
        account_id: &str,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Resource>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM resources WHERE account_id = $1 AND (name LIKE $2 ESCAPE '\\' \
             OR spec LIKE $2 ESCAPE '\\') ORDER BY kind, name LIMIT {limit}"
        );
        let pattern = format!("%{}", like_pattern(text, "%"));
        let mut rows = self.connection.rows_built(sql, values![account_id, pattern]).await?;
        rows.iter_mut().map(read_resource).collect()
    }

    /// Every resource of an account, or those of one owner.
    pub async fn resources_all(
        &mut self,
        account_id: &str,
        owner_id: Option<&str>,
    ) -> Result<Vec<Resource>, StoreError> {
        let filter = ResourceFilter { owner_id: owner_id.map(str::to_owned), ..ResourceFilter::default() };
        self.resources_page(account_id, &filter, None, i32::MAX as usize).await
    }
}

impl AccountWriting {
    /// Makes a resource what it shall be, and owned by whom it shall be. Returns its new generation.
    pub async fn resource_put(
        &mut self,
        key: &ResourceKey,
        spec: &Spec,
        owner_id: Option<&str>,
        by: &str,
        now: Timestamp,
    ) -> Result<i64, StoreError> {
        let sql = "INSERT INTO resources (account_id, kind, name, id, spec, digest, owner_id, generation, created_at, \
                   updated_at, updated_by) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $8, $9) \
                   ON CONFLICT (account_id, kind, name) DO UPDATE SET spec = excluded.spec, digest = excluded.digest, \
                   owner_id = excluded.owner_id, generation = resources.generation + 1, \
                   updated_at = excluded.updated_at, updated_by = excluded.updated_by RETURNING generation";
        let values = values![
            self.account_id(),
            key.kind.slug(),
            &key.name,
            new_id(),
            spec.to_stored(),
            spec.digest(),
            owner_id,
            now,
            by
        ];
        let mut rows = self.connection.rows(sql, values).await?;
        rows.first_mut().map_or(Ok(0), Row::number)
    }

    /// Ends a resource. False if there is none.
    pub async fn resource_remove(&mut self, key: &ResourceKey) -> Result<bool, StoreError> {
        let sql = "DELETE FROM resources WHERE account_id = $1 AND kind = $2 AND name = $3";
        let values = values![self.account_id(), key.kind.slug(), &key.name];
        Ok(self.connection.execute(sql, values).await? == 1)
    }

    /// Gives a repository's resources to nobody.
    pub async fn resources_disown(&mut self, repository_id: &str) -> Result<u64, StoreError> {
        let sql = "UPDATE resources SET owner_id = NULL WHERE account_id = $1 AND owner_id = $2";
        let values = values![self.account_id(), repository_id];
        self.connection.execute(sql, values).await
    }
}
