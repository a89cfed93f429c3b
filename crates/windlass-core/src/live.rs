//! What Windlass holds as accepted: the state a fleet is compared with.

use std::sync::Arc;

use serde::Serialize;

use crate::desired::Desired;
use crate::digest::Digest;
use crate::resource::{ResourceKey, ResourceMap, Spec};

/// Every accepted resource of an account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// By key.
    pub resources: ResourceMap<LiveResource>,
}

/// One accepted resource.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveResource {
    /// What it is.
    pub spec: Arc<Spec>,
    /// The digest of the spec.
    pub digest: Digest,
    /// Who may change it.
    pub owner: Owner,
}

/// Who may change a resource through git.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owner {
    /// Made by hand; the first repository that declares it adopts it.
    Nobody,
    /// The repository that created or adopted it, by name.
    Repository(String),
}

impl Live {
    /// The state after `desired` was applied by a repository, starting from nothing.
    pub fn after(desired: &Desired, owner: &Owner) -> Live {
        let resources = desired
            .resources
            .iter()
            .map(|(kind, name, declared)| {
                let live = LiveResource {
                    spec: Arc::clone(&declared.spec),
                    digest: declared.digest,
                    owner: owner.clone(),
                };
                (ResourceKey::new(kind, name), live)
            })
            .collect();
        Live { resources }
    }
}
