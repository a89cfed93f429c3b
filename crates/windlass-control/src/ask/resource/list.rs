//! Listing and showing accepted resources.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use windlass_api::noun::Noun;
use windlass_api::types::{OwnerInfo, ResourceInfo, ResourceList};
use windlass_core::accepted::{Accepted, AcceptedResource};
use windlass_core::allocate::{Allocation, allocate};
use windlass_core::diff::hide_secrets;
use windlass_core::digest::Digest;
use windlass_core::drift::Acceptance;
use windlass_core::id::{RepositoryId, ResourceId};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::shape::Defaults;
use windlass_core::time::Timestamp;
use windlass_store::{OwnerFilter, Reading, Resource, ResourceFilter, StoreError};

use crate::account_state::names::{RepositoryNames, owner_of, repository_names};
use crate::caller::Identity;
use crate::clock::now;
use crate::page::{PageQuery, cut, key_position, read_key};
use crate::refusal::Refusal;

/// The networks whose members' addresses are shown. Allocating an address needs all members of its network, so only these
/// networks are read.
#[derive(Clone, Debug, Default)]
pub struct AddressedNetworks {
    members_of: BTreeSet<String>,
}

impl AddressedNetworks {
    /// One network.
    pub fn of_network(name: &str) -> AddressedNetworks {
        AddressedNetworks { members_of: BTreeSet::from([name.to_owned()]) }
    }

    /// The networks that are needed to show these resources; none if no resource has an address.
    fn needed_for<'k>(keys: impl Iterator<Item = &'k ResourceKey>) -> Option<AddressedNetworks> {
        let mut needed = None;
        for key in keys {
            match key.kind {
                Kind::Network => drop(needed.get_or_insert_with(AddressedNetworks::default)),
                Kind::Peer | Kind::VirtualIp => {
                    let network = key.name.split('/').next().unwrap_or_default();
                    let addresses = needed.get_or_insert_with(AddressedNetworks::default);
                    addresses.members_of.insert(network.to_owned());
                }
                _ => {}
            }
        }
        needed
    }
}

/// What responses show in addition to the resources themselves.
struct ResourceContext {
    names: RepositoryNames,
    allocation: Option<Allocation>,
    /// Their accepted differences, each with the digest that git declares now.
    acceptances: ResourceMap<(Acceptance, Option<Digest>)>,
    now: Timestamp,
}

impl ResourceContext {
    async fn of(
        reading: &mut Reading,
        who: &Identity,
        resources: &[Resource],
    ) -> Result<ResourceContext, StoreError> {
        let names = repository_names(reading, &who.account_id).await?;
        let owned: Vec<(&RepositoryId, &ResourceKey)> = resources
            .iter()
            .filter_map(|resource| Some((resource.owner_id.as_ref()?, &resource.key)))
            .collect();
        let accepted = reading.acceptances_among(&owned).await?;
        let acceptances = accepted.into_iter().map(|found| (found.0.key.clone(), found)).collect();
        let allocation = match AddressedNetworks::needed_for(resources.iter().map(|resource| &resource.key)) {
            None => None,
            Some(addresses) => Some(load_allocation(reading, who, &addresses).await?),
        };
        Ok(ResourceContext { names, allocation, acceptances, now: now() })
    }
}

/// The address ranges of all networks, and the addresses of the members of `addresses`, declared and allocated.
pub async fn load_allocation(
    reading: &mut Reading,
    who: &Identity,
    addresses: &AddressedNetworks,
) -> Result<Allocation, StoreError> {
    // All networks, because their allocated ranges must not overlap.
    let filter = ResourceFilter { kind: Some(Kind::Network), ..ResourceFilter::default() };
    let mut found = reading.resources_page(&who.account_id, &filter, None, i32::MAX as usize).await?;
    for network in &addresses.members_of {
        for kind in [Kind::Peer, Kind::VirtualIp] {
            found.extend(reading.resources_in(&who.account_id, kind, network).await?);
        }
    }
    let mut accepted = Accepted::default();
    for resource in found {
        let owner = owner_of(None, &RepositoryNames::new());
        let found = AcceptedResource { spec: resource.spec, digest: resource.digest, owner };
        accepted.resources.insert(resource.key, found);
    }
    Ok(allocate(&who.account_id, &accepted))
}

fn info(resource: &Resource, context: &ResourceContext) -> ResourceInfo {
    let accepted = context.acceptances.get(resource.key.kind, &resource.key.name);
    let accepted = accepted.filter(|(it, desired)| it.holds(*desired, Some(resource.digest), context.now));
    ResourceInfo {
        id: resource.id.to_string(),
        kind: resource.key.kind.slug().to_owned(),
        name: resource.key.name.clone(),
        spec: hide_secrets(resource.spec.to_json(Defaults::Fill)),
        allocated: allocated(&resource.key, context.allocation.as_ref()),
        digest: resource.digest.to_string(),
        owner: resource.owner_id.as_ref().map(|id| OwnerInfo {
            repository_id: id.to_string(),
            repository_name: context.names.get(id).cloned().unwrap_or_default(),
        }),
        differs_because: accepted.map(|(accepted, _)| format!("{} ({})", accepted.reason, accepted.by)),
        generation: resource.generation,
        created_at: resource.created_at.to_string(),
        updated_at: resource.updated_at.to_string(),
        updated_by: resource.updated_by.clone(),
    }
}

fn allocated(key: &ResourceKey, allocation: Option<&Allocation>) -> Value {
    let Some(allocation) = allocation else { return json!({}) };
    let address = |address: Option<windlass_core::value::IpAddress>| match address {
        Some(address) => json!({"address": address.to_string()}),
        None => json!({}),
    };
    match key.kind {
        Kind::Network => {
            allocation.network(&key.name).map_or_else(|| json!({}), |cidr| json!({"cidr": cidr.to_string()}))
        }
        Kind::Peer => address(allocation.peer(&key.name)),
        Kind::VirtualIp => address(allocation.virtual_ip(&key.name)),
        Kind::Template
        | Kind::Module
        | Kind::ModuleVersion
        | Kind::Node
        | Kind::Assignment
        | Kind::FederationPeer
        | Kind::Cluster
        | Kind::ClusterGroup
        | Kind::Bundle
        | Kind::NotificationProvider
        | Kind::Alert => json!({}),
    }
}

/// A resource in an object whose key is the noun.
fn named(noun: Noun, info: &ResourceInfo) -> Value {
    let mut body = Map::new();
    body.insert(noun.singular().to_owned(), json!(info));
    Value::Object(body)
}

/// Parses a request's filter.
pub async fn filter_of(
    reading: &mut Reading,
    who: &Identity,
    kind: Option<Kind>,
    search: Option<String>,
    repository: Option<&str>,
) -> Result<ResourceFilter, Refusal> {
    let owner = match repository {
        Some("none") => Some(OwnerFilter::Nobody),
        Some(name) => {
            let found = reading.repository(&who.account_id, name).await?.ok_or_else(Refusal::not_found)?;
            Some(OwnerFilter::Repository(found.id))
        }
        None => None,
    };
    Ok(ResourceFilter { kind, owner, search })
}

/// A page of resources.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    filter: &ResourceFilter,
    page: &PageQuery,
) -> Result<ResourceList, Refusal> {
    let limit = page.limit()?;
    let after = page.after_as(read_key)?;
    let mut found = reading.resources_page(&who.account_id, filter, after.as_ref(), limit + 1).await?;
    let meta = cut(&mut found, limit, |resource| key_position(&resource.key));
    let context = ResourceContext::of(reading, who, &found).await?;
    Ok(ResourceList { resources: found.iter().map(|resource| info(resource, &context)).collect(), meta })
}

/// A resource by id or name, with everything that responses show of it.
pub async fn load(
    reading: &mut Reading,
    who: &Identity,
    kind: Kind,
    id_or_name: &str,
) -> Result<(ResourceInfo, Resource), Refusal> {
    let resource = find(reading, who, kind, id_or_name).await?;
    let context = ResourceContext::of(reading, who, std::slice::from_ref(&resource)).await?;
    Ok((info(&resource, &context), resource))
}

/// A resource by id or name.
pub async fn find(
    reading: &mut Reading,
    who: &Identity,
    kind: Kind,
    id_or_name: &str,
) -> Result<Resource, Refusal> {
    if let Some(found) = reading.resource(&who.account_id, &ResourceKey::new(kind, id_or_name)).await? {
        return Ok(found);
    }
    reading
        .resource_by_id(&who.account_id, kind, &ResourceId::new(id_or_name))
        .await?
        .ok_or_else(Refusal::not_found)
}

/// A resource as responses show it, and its generation.
pub async fn resource_body(
    reading: &mut Reading,
    who: &Identity,
    noun: Noun,
    key: &ResourceKey,
) -> Result<(Value, i64), Refusal> {
    let resource = reading.resource(&who.account_id, key).await?.ok_or_else(Refusal::not_found)?;
    let context = ResourceContext::of(reading, who, std::slice::from_ref(&resource)).await?;
    Ok((named(noun, &info(&resource, &context)), resource.generation))
}
