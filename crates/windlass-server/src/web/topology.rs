//! Diagrams of networks. A diagram loads only the kinds that it shows, and of those only the members of its network.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::resource::list::{AddressedNetworks, load_allocation, load_page};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;
use windlass_core::allocate::Allocation;
use windlass_core::diff::Action;
use windlass_core::id::{ProposalId, RepositoryId};
use windlass_core::proposal::Proposal;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::{ProposalFilter, Reading, Resource, ResourceFilter};
use windlass_web::frame::NavEntry;
use windlass_web::pages::networks::{NetworkSummary, NetworksPage};
use windlass_web::pages::topology::{NetworkFacts, TopologyPage, VirtualIp};
use windlass_web::topology::{HeldVirtualIp, HolderRank, Peer, Role, TopologyStatus};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::blast_radius::open;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

/// How many proposals about members of one network are loaded.
const MAX_PROPOSALS: usize = 2_000;

#[derive(Deserialize)]
pub(super) struct NetworksPageQuery {
    cursor: Option<String>,
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<NetworksPageQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let filter = ResourceFilter { kind: Some(Kind::Network), ..ResourceFilter::default() };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let found = load_page(&mut reading, &who, &filter, &page).await?;
    let keys: Vec<ResourceKey> =
        found.resources.iter().map(|network| ResourceKey::new(Kind::Network, &network.name)).collect();
    let counts: BTreeMap<(String, Kind), usize> = reading
        .referrers_count(&who.account_id, &keys)
        .await?
        .into_iter()
        .map(|(network, kind, count)| ((network.name, kind), count))
        .collect();
    let count = |name: &str, kind| counts.get(&(name.to_owned(), kind)).copied().unwrap_or_default();
    let networks = found.resources.into_iter().map(|network| NetworkSummary {
        peers: count(&network.name, Kind::Peer),
        virtual_ips: count(&network.name, Kind::VirtualIp),
        network,
    });
    let networks = networks.collect();
    let proposed = proposals(&mut reading, &who, Kind::Network, None).await?;
    let proposed = proposed.into_iter().filter(|proposal| proposal.change.action() == Action::Create);
    let proposed = proposed.map(|proposal| (proposal.change.key.name, proposal.id.to_string())).collect();
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Topology).await?;
    drop(reading);
    let next = found.meta.next_cursor.map(|cursor| format!("/app/topology?cursor={cursor}"));
    response::page(&visit, &NetworksPage { frame, networks, proposed, next })
}

/// The open proposals about a kind; if a network is named, only those about its members.
async fn proposals(
    reading: &mut Reading,
    who: &Identity,
    kind: Kind,
    network: Option<&str>,
) -> Result<Vec<Proposal>, Refusal> {
    let prefix = network.map(|network| format!("{network}/"));
    let filter = ProposalFilter { kind: Some(kind), search: prefix.clone(), ..open() };
    let mut found = reading.proposals(&who.account_id, &filter, None, MAX_PROPOSALS).await?;
    found.retain(|proposal| prefix.as_ref().is_none_or(|begin| proposal.change.key.name.starts_with(begin)));
    found.sort_by(|a, b| a.change.key.cmp(&b.change.key));
    Ok(found)
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let key = ResourceKey::new(Kind::Network, name.as_str());
    let about = ProposalFilter { kind: Some(Kind::Network), name: Some(name.clone()), ..open() };
    let proposal = reading.proposals(&who.account_id, &about, None, 1).await?.pop();
    let accepted = reading.resource(&who.account_id, &key).await?;
    if accepted.is_none() && proposal.is_none() {
        return Err(Refusal::not_found().into());
    }
    let allocation = load_allocation(&mut reading, &who, &AddressedNetworks::of_network(&name)).await?;
    let states = SyncStates::load(&mut reading, accepted.as_slice(), proposal.as_slice()).await?;
    let network = network_of(&key, accepted.as_ref(), proposal.as_ref(), &states, &allocation);
    let virtual_ips = load_virtual_ips(&mut reading, &who, &name, &allocation).await?;
    let peers = load_peers(&mut reading, &who, &name, &allocation, &virtual_ips).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Topology).await?;
    drop(reading);
    response::page(&visit, &TopologyPage::new(frame, network, peers, virtual_ips))
}

fn network_of(
    key: &ResourceKey,
    accepted: Option<&Resource>,
    proposal: Option<&Proposal>,
    states: &SyncStates,
    allocation: &Allocation,
) -> NetworkFacts {
    let spec = accepted.map(|accepted| &accepted.spec).or_else(|| proposal?.effective());
    let (description, routing_mode) = match spec.map(AsRef::as_ref) {
        Some(Spec::Network(spec)) => (spec.description.clone(), spec.routing_mode.word()),
        _ => (String::new(), ""),
    };
    NetworkFacts {
        name: key.name.clone(),
        description,
        routing_mode: routing_mode.to_owned(),
        cidr: allocation.network(&key.name).map(|cidr| cidr.to_string()),
        status: states.of(key),
    }
}

/// Which resources drifted or have an open proposal.
struct SyncStates {
    drifted: BTreeSet<ResourceKey>,
    proposed: BTreeMap<ResourceKey, (String, ProposalId)>,
}

impl SyncStates {
    async fn load(
        reading: &mut Reading,
        accepted: &[Resource],
        proposals: &[Proposal],
    ) -> Result<SyncStates, Refusal> {
        let owned: Vec<(&RepositoryId, &ResourceKey)> = accepted
            .iter()
            .filter_map(|accepted| Some((accepted.owner_id.as_ref()?, &accepted.key)))
            .collect();
        let drifted = reading.drifted_among(&owned).await?.into_iter().collect();
        let proposed = proposals.iter().map(|proposal| {
            let change = proposal.change.action().to_string();
            (proposal.change.key.clone(), (change, proposal.id.clone()))
        });
        Ok(SyncStates { drifted, proposed: proposed.collect() })
    }

    fn of(&self, key: &ResourceKey) -> TopologyStatus {
        match (self.drifted.contains(key), self.proposed.get(key)) {
            (true, _) => TopologyStatus::Drifted,
            (false, Some((change, id))) => {
                TopologyStatus::Proposed { change: change.clone(), proposal_id: id.to_string() }
            }
            (false, None) => TopologyStatus::InSync,
        }
    }
}

/// The members of a network of one kind: the accepted spec of each, or the proposed one if it is not accepted yet.
struct Members {
    specs: BTreeMap<ResourceKey, Arc<Spec>>,
    states: SyncStates,
}

impl Members {
    async fn load(
        reading: &mut Reading,
        who: &Identity,
        kind: Kind,
        network: &str,
    ) -> Result<Members, Refusal> {
        let accepted = reading.resources_in(&who.account_id, kind, network).await?;
        let proposals = proposals(reading, who, kind, Some(network)).await?;
        let states = SyncStates::load(reading, &accepted, &proposals).await?;
        let proposed = proposals
            .iter()
            .filter_map(|proposal| Some((proposal.change.key.clone(), Arc::clone(proposal.effective()?))));
        let mut specs: BTreeMap<ResourceKey, Arc<Spec>> = proposed.collect();
        // For an accepted member, the diagram shows the accepted spec, not the proposed one.
        specs.extend(accepted.into_iter().map(|accepted| (accepted.key, accepted.spec)));
        Ok(Members { specs, states })
    }
}

/// The name of a member within its network.
fn short(key: &ResourceKey) -> String {
    key.name.split_once('/').map_or_else(|| key.name.clone(), |(_, name)| name.to_owned())
}

async fn load_virtual_ips(
    reading: &mut Reading,
    who: &Identity,
    network: &str,
    allocation: &Allocation,
) -> Result<Vec<VirtualIp>, Refusal> {
    let members = Members::load(reading, who, Kind::VirtualIp, network).await?;
    let each = members.specs.iter().filter_map(|(key, spec)| {
        let Spec::VirtualIp(spec) = spec.as_ref() else { return None };
        let declared = spec.address.map(|address| address.to_string());
        Some(VirtualIp {
            name: short(key),
            address: allocation.virtual_ip(&key.name).map(|address| address.to_string()).or(declared),
            holder: spec.primary_holder.as_str().to_owned(),
            failover: spec.failover_holders.iter().map(|host| host.as_str().to_owned()).collect(),
            status: members.states.of(key),
        })
    });
    Ok(each.collect())
}

async fn load_peers(
    reading: &mut Reading,
    who: &Identity,
    network: &str,
    allocation: &Allocation,
    virtual_ips: &[VirtualIp],
) -> Result<Vec<Peer>, Refusal> {
    let members = Members::load(reading, who, Kind::Peer, network).await?;
    let hosts: Vec<ResourceKey> =
        members.specs.keys().map(|key| ResourceKey::new(Kind::Node, short(key))).collect();
    let regions = load_regions(reading, who, &hosts).await?;
    let mut held = held_by(virtual_ips);
    let each = members.specs.iter().filter_map(|(key, spec)| {
        let Spec::Peer(spec) = spec.as_ref() else { return None };
        let host = short(key);
        Some(Peer {
            address: allocation.peer(&key.name).map(|address| address.to_string()),
            region: regions.get(&host).cloned(),
            role: if spec.publicly_reachable { Role::Hub } else { Role::Spoke },
            status: members.states.of(key),
            endpoint: spec.endpoint.as_ref().map(ToString::to_string),
            subnets: spec.lan_subnets.iter().map(ToString::to_string).collect(),
            held: held.remove(host.as_str()).unwrap_or_default(),
            host,
        })
    });
    Ok(each.collect())
}

/// The regions of nodes that declare one.
async fn load_regions(
    reading: &mut Reading,
    who: &Identity,
    hosts: &[ResourceKey],
) -> Result<BTreeMap<String, String>, Refusal> {
    let nodes = reading.resources_of(&who.account_id, hosts).await?;
    let each = nodes.into_iter().filter_map(|node| match node.spec.as_ref() {
        Spec::Node(spec) => Some((node.key.name.clone(), spec.region.clone()?)),
        _ => None,
    });
    Ok(each.collect())
}

/// The virtual IPs of each holder.
fn held_by(virtual_ips: &[VirtualIp]) -> BTreeMap<&str, Vec<HeldVirtualIp>> {
    let mut held: BTreeMap<&str, Vec<HeldVirtualIp>> = BTreeMap::new();
    for ip in virtual_ips {
        let failover =
            ip.failover.iter().enumerate().map(|(index, host)| (host, HolderRank::Failover(index + 1)));
        for (host, rank) in std::iter::once((&ip.holder, HolderRank::Primary)).chain(failover) {
            let here = HeldVirtualIp { name: ip.name.clone(), rank, status: ip.status.clone() };
            held.entry(host.as_str()).or_default().push(here);
        }
    }
    held
}
