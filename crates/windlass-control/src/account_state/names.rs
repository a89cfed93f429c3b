//! The names of repositories.

use std::collections::BTreeMap;

use windlass_core::accepted::Owner;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_store::{Reading, StoreError};

/// The repositories of an account: id → name.
pub(crate) type RepositoryNames = BTreeMap<RepositoryId, String>;

/// The names of an account's repositories.
pub async fn repository_names(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<RepositoryNames, StoreError> {
    let repositories = reading.repositories(account_id).await?;
    Ok(repositories.into_iter().map(|repository| (repository.id, repository.name)).collect())
}

/// Who owns a resource, by the repository's name, or by its id if the name is not known.
pub(crate) fn owner_of(owner_id: Option<&RepositoryId>, names: &RepositoryNames) -> Owner {
    match owner_id {
        None => Owner::Nobody,
        Some(id) => Owner::Repository(names.get(id).cloned().unwrap_or_else(|| id.to_string())),
    }
}
