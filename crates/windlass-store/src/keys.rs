//! Keys of resources and targets as columns of rows.

use windlass_core::id::Id;
use windlass_core::resource::{Kind, ResourceKey};

use crate::error::StoreError;
use crate::sql::{Row, Value, values};

/// The account, kind and name of a resource. In tables of a repository's resources, the first is the repository's id.
pub(crate) fn resource_row(account_id: &impl Id, key: &ResourceKey) -> Vec<Value> {
    values![account_id.text(), key.kind.slug(), &key.name]
}

pub(crate) fn read_key(row: &Row) -> Result<ResourceKey, StoreError> {
    read_key_in(row, "kind", "name")
}

/// The key of a node or a cluster in the columns of a target.
pub(crate) fn read_target(row: &Row) -> Result<ResourceKey, StoreError> {
    read_key_in(row, "target_kind", "target_name")
}

pub(crate) fn read_key_in(row: &Row, kind: &str, name: &str) -> Result<ResourceKey, StoreError> {
    Ok(ResourceKey::new(row.word(kind, Kind::from_word)?, row.text(name)?))
}
