//! Finding repositories of the caller's account.

use windlass_api::types::RepositoryInfo;
use windlass_core::repository::Repository;
use windlass_store::Reading;

use crate::ask::repository::fields::info;
use crate::caller::Identity;
use crate::refusal::Refusal;

/// A repository of the caller's account.
pub async fn find(reading: &mut Reading, who: &Identity, id_or_name: &str) -> Result<Repository, Refusal> {
    reading.repository(&who.account_id, id_or_name).await?.ok_or_else(Refusal::not_found)
}

/// The repositories of the caller's account, by name.
pub async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<RepositoryInfo>, Refusal> {
    Ok(reading.repositories(&who.account_id).await?.iter().map(info).collect())
}

/// A repository of the caller's account, as responses show it.
pub async fn load(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<RepositoryInfo, Refusal> {
    Ok(info(&find(reading, who, id_or_name).await?))
}
