//! The accepted alerts and notification providers of an account.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::id::AccountId;
use windlass_core::resource::{AlertSpec, Kind, NotificationProviderSpec, ResourceKey, Spec};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, ResourceFilter, StoreError};

/// Resources read at a time.
const AT_ONCE: usize = 500;

/// An alert and when it was created: earlier events cause no notification.
pub(crate) struct ActiveAlert {
    pub(crate) name: String,
    pub(crate) since: Timestamp,
    spec: Arc<Spec>,
}

impl ActiveAlert {
    pub(crate) fn spec(&self) -> Option<&AlertSpec> {
        match self.spec.as_ref() {
            Spec::Alert(alert) => Some(alert),
            _ => None,
        }
    }
}

/// All resources of a kind: name, creation time and spec.
async fn all_of(
    reading: &mut Reading,
    account_id: &AccountId,
    kind: Kind,
) -> Result<Vec<(String, Timestamp, Arc<Spec>)>, StoreError> {
    let filter = ResourceFilter { kind: Some(kind), ..ResourceFilter::default() };
    let mut found: Vec<(String, Timestamp, Arc<Spec>)> = Vec::new();
    loop {
        let after = found.last().map(|(name, ..)| ResourceKey::new(kind, name.clone()));
        let page = reading.resources_page(account_id, &filter, after.as_ref(), AT_ONCE).await?;
        let is_last = page.len() < AT_ONCE;
        found
            .extend(page.into_iter().map(|resource| (resource.key.name, resource.created_at, resource.spec)));
        if is_last {
            return Ok(found);
        }
    }
}

/// Whether an account has any alert.
pub(crate) async fn has_any(reading: &mut Reading, account_id: &AccountId) -> Result<bool, StoreError> {
    let filter = ResourceFilter { kind: Some(Kind::Alert), ..ResourceFilter::default() };
    Ok(!reading.resources_page(account_id, &filter, None, 1).await?.is_empty())
}

/// The alerts of an account, by name.
pub(crate) async fn load(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<Vec<ActiveAlert>, StoreError> {
    let all = all_of(reading, account_id, Kind::Alert).await?;
    Ok(all.into_iter().map(|(name, since, spec)| ActiveAlert { name, since, spec }).collect())
}

/// The providers of an account, by name.
pub(crate) async fn load_providers(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<BTreeMap<String, NotificationProviderSpec>, StoreError> {
    let all = all_of(reading, account_id, Kind::NotificationProvider).await?;
    Ok(all.into_iter().filter_map(|(name, _, spec)| Some((name, provider_of(&spec)?))).collect())
}

/// One provider, by name.
pub(crate) async fn find_provider(
    reading: &mut Reading,
    account_id: &AccountId,
    name: &str,
) -> Result<Option<NotificationProviderSpec>, StoreError> {
    let key = ResourceKey::new(Kind::NotificationProvider, name);
    Ok(reading.resource(account_id, &key).await?.and_then(|resource| provider_of(&resource.spec)))
}

fn provider_of(spec: &Spec) -> Option<NotificationProviderSpec> {
    match spec {
        Spec::NotificationProvider(provider) => Some(provider.clone()),
        _ => None,
    }
}
