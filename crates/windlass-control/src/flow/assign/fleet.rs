//! Loads what an account's nodes are made of: accepted resources with their approvals, and the content of their modules.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::accepted::{AcceptedResource, Owner};
use windlass_core::assign::ApprovedFleet;
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::{ApprovedResource, Reading, Resource, StoreError};

use crate::control::Control;
use crate::flow::assign::versions::{ModuleContent, ModuleSet};

/// The most assignments of one node that are looked up.
const MAX_ASSIGNMENTS: usize = 1_000;

/// Whose nodes to load.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FleetScope<'s> {
    /// All.
    All,
    /// One, with its module assignments.
    Node(&'s ResourceKey),
}

/// A fleet before the content of its modules is added.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadedFleet {
    /// The fleet, without versions of modules.
    pub(crate) fleet: ApprovedFleet,
    /// Its modules.
    pub(crate) modules: ModuleSet,
    /// The repositories of the account: their mirrors may have the files of modules.
    repositories: Vec<RepositoryId>,
}

impl LoadedFleet {
    /// The mirrors that may have the files of a module, that of its owner first.
    pub(crate) fn mirrors(&self, server: &Control, owner_id: Option<&RepositoryId>) -> Vec<PathBuf> {
        let others = self.repositories.iter().filter(|id| Some(*id) != owner_id);
        owner_id.into_iter().chain(others).map(|id| server.mirror_directory(id)).collect()
    }
}

/// Loads the fleet of an account from one snapshot.
pub(crate) async fn load_fleet(
    server: &Control,
    reading: &mut Reading,
    account_id: &AccountId,
    scope: FleetScope<'_>,
) -> Result<LoadedFleet, StoreError> {
    let mut loaded = LoadedFleet::default();
    let repositories = reading.repositories(account_id).await?;
    loaded.repositories = repositories.into_iter().map(|repository| repository.id).collect();
    let resources = match scope {
        FleetScope::All => {
            let kinds = [Kind::Node, Kind::Template, Kind::Module, Kind::Assignment];
            reading.approved_resources(account_id, &kinds).await?
        }
        FleetScope::Node(node) => {
            for Resource { key, spec, digest, .. } in node_resources(reading, account_id, node).await? {
                loaded.fleet.accepted.resources.insert(key, accepted(spec, digest));
            }
            reading.approved_resources(account_id, &[Kind::Template, Kind::Module]).await?
        }
    };
    let mut own = Vec::new();
    for module in resources.iter().filter(|resource| resource.key.kind == Kind::Module) {
        let mirrors = loaded.mirrors(server, module.owner_id.as_ref());
        own.extend(ModuleContent::of_resource(module, mirrors));
    }
    loaded.modules = ModuleSet::new(own, reading.module_packages(account_id).await?);
    resources.into_iter().for_each(|resource| add_resource(&mut loaded.fleet, resource));
    Ok(loaded)
}

/// A node and its module assignments; nothing if the node does not exist.
async fn node_resources(
    reading: &mut Reading,
    account_id: &AccountId,
    node: &ResourceKey,
) -> Result<Vec<Resource>, StoreError> {
    let mut keys = reading.referrers_of(account_id, node, MAX_ASSIGNMENTS).await?;
    keys.retain(|key| key.kind == Kind::Assignment);
    keys.push(node.clone());
    reading.resources_of(account_id, &keys).await
}

fn accepted(spec: Arc<Spec>, digest: Digest) -> AcceptedResource {
    // Who may change a resource through git does not matter to a machine.
    AcceptedResource { spec, digest, owner: Owner::Nobody }
}

fn add_resource(fleet: &mut ApprovedFleet, resource: ApprovedResource) {
    let ApprovedResource { key, spec, digest, approval, .. } = resource;
    if let Some(approval) = approval {
        fleet.approvals.insert(key.clone(), approval);
    }
    fleet.accepted.resources.insert(key, accepted(spec, digest));
}
