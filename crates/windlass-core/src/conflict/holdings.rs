//! Who has what in an account, as far as some changes need to know it.

use std::collections::{BTreeMap, BTreeSet};

use ipnet::IpNet;

use super::claim::{AddressClaim, ClaimScope, claims_of, new_claims};
use super::{Claimant, Conflict, HeldBy};
use crate::diff::{Action, Cause, Change};
use crate::id::{ProposalId, RepositoryId};
use crate::resource::{Kind, NetworkSpec, ResourceKey, ResourceMap, Spec};

/// Who has a range of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RangeHolder {
    key: ResourceKey,
    by: Holder,
}

/// Who has something, by id.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    Owner(Option<RepositoryId>),
    Proposer { repository: RepositoryId, proposal: ProposalId },
}

/// A proposal of a repository that is still open.
#[derive(Clone, Debug)]
pub struct HoldingProposal {
    /// Its id. Ids grow with time.
    pub id: ProposalId,
    /// The repository's id.
    pub repository_id: RepositoryId,
    /// The repository's name.
    pub repository_name: String,
    /// What it changes.
    pub key: ResourceKey,
    /// Why.
    pub cause: Cause,
    /// What it would make of the resource, if that can claim addresses.
    pub spec: Option<Spec>,
}

/// Who has what. Everything that the changes to be asked about could conflict with must have been noted.
#[derive(Clone, Debug, Default)]
pub struct Holdings {
    /// The names of repositories, by id.
    repositories: BTreeMap<RepositoryId, String>,
    /// Accepted resources and the repository that owns each.
    owners: ResourceMap<Option<RepositoryId>>,
    /// Open proposals by what they change: repository and proposal.
    proposed: ResourceMap<Vec<(RepositoryId, ProposalId)>>,
    /// Who has which addresses.
    ranges: BTreeMap<(ClaimScope, IpNet), Vec<RangeHolder>>,
    /// The same by accepted resource.
    claims: ResourceMap<Vec<AddressClaim>>,
    /// The addresses that accepted networks declare.
    networks: BTreeMap<String, IpNet>,
    /// The addresses that others declare in each network.
    declared_addresses: BTreeMap<String, Vec<(IpNet, RangeHolder)>>,
    /// What repositories declare and do not own.
    declared: BTreeSet<(RepositoryId, ResourceKey)>,
}

impl Holdings {
    /// Notes what a repository is called.
    pub fn name_repository(&mut self, id: &RepositoryId, name: &str) {
        self.repositories.insert(id.clone(), name.to_owned());
    }

    /// Notes who owns an accepted resource that claims no addresses, or none that matter.
    pub fn note_owner(&mut self, key: &ResourceKey, owner: Option<&RepositoryId>) {
        self.owners.insert(key.clone(), owner.cloned());
    }

    /// Notes that a resource was accepted, for whom, and what Windlass allocates for it.
    pub fn accept(
        &mut self,
        key: &ResourceKey,
        owner: Option<&RepositoryId>,
        spec: &Spec,
        allocated: impl IntoIterator<Item = AddressClaim>,
    ) {
        self.release(key);
        if let Spec::Network(NetworkSpec { cidr: Some(cidr), .. }) = spec {
            self.networks.insert(key.name.clone(), cidr.0);
        }
        let by = Holder::Owner(owner.cloned());
        self.note_addresses(key, spec, &by);
        let mut claims = claims_of(key, spec);
        claims.extend(allocated);
        for claim in &claims {
            let holders = self.ranges.entry((claim.scope.clone(), claim.range)).or_default();
            holders.push(RangeHolder { key: key.clone(), by: by.clone() });
        }
        self.note_owner(key, owner);
        self.claims.insert(key.clone(), claims);
    }

    /// Notes the addresses that a resource declares in its network.
    fn note_addresses(&mut self, key: &ResourceKey, spec: &Spec, by: &Holder) {
        for claim in claims_of(key, spec) {
            if let ClaimScope::Addresses(network) = claim.scope {
                let holder = RangeHolder { key: key.clone(), by: by.clone() };
                self.declared_addresses.entry(network).or_default().push((claim.range, holder));
            }
        }
    }

    /// Notes that a resource is gone.
    pub fn release(&mut self, key: &ResourceKey) {
        self.owners.remove(key.kind, &key.name);
        if key.kind == Kind::Network {
            self.networks.remove(&key.name);
        }
        let is_another = |holder: &RangeHolder| holder.key != *key || !matches!(holder.by, Holder::Owner(_));
        for claim in self.claims.remove(key.kind, &key.name).unwrap_or_default() {
            if let ClaimScope::Addresses(network) = &claim.scope
                && let Some(members) = self.declared_addresses.get_mut(network)
            {
                members.retain(|(_, holder)| is_another(holder));
            }
            if let Some(holders) = self.ranges.get_mut(&(claim.scope, claim.range)) {
                holders.retain(is_another);
            }
        }
    }

    /// Notes an open proposal.
    pub fn propose(&mut self, proposal: HoldingProposal) {
        let HoldingProposal { id, repository_id, repository_name, key, cause, spec } = proposal;
        self.name_repository(&repository_id, &repository_name);
        // What waits for another repository to give up a name keeps no addresses from anyone.
        if let Some(spec) = spec.filter(|_| cause != Cause::Contested) {
            let by = Holder::Proposer { repository: repository_id.clone(), proposal: id.clone() };
            self.note_addresses(&key, &spec, &by);
            for claim in claims_of(&key, &spec) {
                let holders = self.ranges.entry((claim.scope, claim.range)).or_default();
                holders.push(RangeHolder { key: key.clone(), by: by.clone() });
            }
        }
        if cause.action() != Action::Destroy {
            match self.proposed.get_mut(key.kind, &key.name) {
                Some(proposals) => proposals.push((repository_id, id)),
                None => drop(self.proposed.insert(key, vec![(repository_id, id)])),
            }
        }
    }

    /// Notes that a repository declares something that it does not own.
    pub fn declare(&mut self, repository_id: &RepositoryId, key: ResourceKey) {
        self.declared.insert((repository_id.clone(), key));
    }

    /// Notes that a change was made, for whom.
    pub fn note_applied(&mut self, change: &Change, owner: Option<&RepositoryId>) {
        match &change.after {
            Some(spec) => self.accept(&change.key, owner, spec, None),
            None => self.release(&change.key),
        }
    }

    /// Why a change may not have what it wants; nothing if it may.
    pub fn conflicts(&self, change: &Change, claimant: Claimant<'_>) -> Vec<Conflict> {
        let mut conflicts: Vec<Conflict> = self.name_conflict(change, claimant).into_iter().collect();
        conflicts.extend(self.dependencies(change, claimant));
        for claim in new_claims(change) {
            conflicts.extend(self.address_conflict(&change.key, &claim, claimant));
            conflicts.extend(self.outside_network(&claim));
            conflicts.extend(self.inside_foreign_network(&claim, claimant));
            conflicts.extend(self.excluded_address(&change.key, &claim, claimant));
        }
        conflicts
    }

    fn name_conflict(&self, change: &Change, claimant: Claimant<'_>) -> Option<Conflict> {
        let (id, proposal) = claimant.proposer()?;
        let key = &change.key;
        let owner = self.owners.get(key.kind, &key.name);
        let held_by = match owner.map(Option::as_ref) {
            Some(Some(owner)) if owner == id => return None,
            Some(Some(owner)) => HeldBy::Owner(Some(self.repository_name(owner))),
            _ if change.action() == Action::Destroy => return None,
            Some(None) | None => {
                let proposals = self.proposed.get(key.kind, &key.name)?;
                let earlier = proposals.iter().filter(|(repository, _)| repository != id);
                let earlier = earlier.filter(|(_, other)| is_earlier(other, proposal));
                HeldBy::Proposer(
                    self.repository_name(earlier.min_by_key(|(_, other)| other).map(|(by, _)| by)?),
                )
            }
        };
        Some(Conflict::Name { key: key.clone(), held_by })
    }

    /// What the change refers to, is declared by the same repository and owned by another. What those files mean by it
    /// is not what is there.
    fn dependencies(&self, change: &Change, claimant: Claimant<'_>) -> Vec<Conflict> {
        let (Some(repository), Some(spec)) = (claimant.repository(), &change.after) else {
            return Vec::new();
        };
        if self.declared.is_empty() {
            return Vec::new();
        }
        let owned_elsewhere = |key: ResourceKey| {
            let owner =
                self.owners.get(key.kind, &key.name)?.as_ref().filter(|owner| *owner != repository)?;
            let is_declared = self.declared.contains(&(repository.clone(), key.clone()));
            is_declared.then(|| Conflict::Dependency { repository: self.repository_name(owner), key })
        };
        spec.targets(&change.key.name).into_iter().filter_map(owned_elsewhere).collect()
    }

    /// The first whose addresses overlap. Two ranges are either apart or one contains the other.
    fn address_conflict(
        &self,
        key: &ResourceKey,
        claim: &AddressClaim,
        claimant: Claimant<'_>,
    ) -> Option<Conflict> {
        let in_the_way = |holder: &&RangeHolder| holder.key != *key && is_blocking(&holder.by, claimant);
        let at = |range: IpNet| self.ranges.get(&(claim.scope.clone(), range)).into_iter().flatten();
        let around = std::iter::successors(Some(claim.range), IpNet::supernet)
            .find_map(|range| Some((range, at(range).find(in_the_way)?)));
        let inside = || {
            let (first, last) = (claim.range.network(), claim.range.broadcast());
            let from = (claim.scope.clone(), IpNet::new(first, 0).ok()?);
            let to = (claim.scope.clone(), IpNet::new(last, claim.range.max_prefix_len()).ok()?);
            let mut ranges = self.ranges.range(from..=to);
            ranges.find_map(|((_, range), holders)| Some((*range, holders.iter().find(in_the_way)?)))
        };
        let (held, holder) = around.or_else(inside)?;
        let held_by = self.held_by(&holder.by);
        Some(Conflict::Addresses { wanted: claim.range, held, key: holder.key.clone(), held_by })
    }

    fn held_by(&self, holder: &Holder) -> HeldBy {
        match holder {
            Holder::Owner(owner) => HeldBy::Owner(owner.as_ref().map(|owner| self.repository_name(owner))),
            Holder::Proposer { repository, .. } => HeldBy::Proposer(self.repository_name(repository)),
        }
    }

    /// The first address that someone else declared in a network and that the network's new addresses leave out. What
    /// Windlass allocated moves with the network.
    fn excluded_address(
        &self,
        key: &ResourceKey,
        claim: &AddressClaim,
        claimant: Claimant<'_>,
    ) -> Option<Conflict> {
        if claim.scope != ClaimScope::Networks {
            return None;
        }
        let members = self.declared_addresses.get(&key.name)?;
        let (held, holder) = members
            .iter()
            .find(|(address, holder)| !claim.range.contains(address) && is_blocking(&holder.by, claimant))?;
        let held_by = self.held_by(&holder.by);
        Some(Conflict::ExcludesAddress { cidr: claim.range, held: *held, key: holder.key.clone(), held_by })
    }

    /// A subnet behind a peer that lies inside the addresses of the network itself, where that is someone else's: the peer
    /// would draw the network's own traffic to itself.
    fn inside_foreign_network(&self, claim: &AddressClaim, claimant: Claimant<'_>) -> Option<Conflict> {
        let ClaimScope::LanSubnets(network) = &claim.scope else { return None };
        let held = *self.networks.get(network)?;
        let key = ResourceKey::new(Kind::Network, network.as_str());
        let by = Holder::Owner(self.owners.get(key.kind, &key.name)?.clone());
        let is_inside = held.contains(&claim.range) && is_blocking(&by, claimant);
        let held_by = self.held_by(&by);
        is_inside.then_some(Conflict::Addresses { wanted: claim.range, held, key, held_by })
    }

    /// An address outside what its network declares. What Windlass allocates for a network binds nobody.
    fn outside_network(&self, claim: &AddressClaim) -> Option<Conflict> {
        let ClaimScope::Addresses(network) = &claim.scope else { return None };
        let cidr = *self.networks.get(network)?;
        let outside = Conflict::OutsideNetwork { wanted: claim.range, network: network.clone(), cidr };
        (!cidr.contains(&claim.range)).then_some(outside)
    }

    fn repository_name(&self, repository_id: &RepositoryId) -> String {
        self.repositories.get(repository_id).cloned().unwrap_or_else(|| repository_id.to_string())
    }
}

/// Whether a proposal of another repository came before one's own; what is not proposed yet comes last.
fn is_earlier(other: &ProposalId, own: Option<&ProposalId>) -> bool {
    own.is_none_or(|own| other < own)
}

fn is_blocking(holder: &Holder, claimant: Claimant<'_>) -> bool {
    match (holder, claimant.proposer()) {
        (Holder::Owner(owner), _) => {
            let is_checked_as_a_whole = !matches!(claimant, Claimant::Edited { .. });
            owner.is_none() || owner.as_ref() != claimant.repository() || !is_checked_as_a_whole
        }
        (Holder::Proposer { repository, proposal }, Some((id, own))) => {
            repository != id && is_earlier(proposal, own)
        }
        (Holder::Proposer { .. }, None) => false,
    }
}
