//! Two repositories of one account that declare the same names or addresses, for random fleets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::conflict::{AddressClaim, Claimant, HoldingProposal, Holdings, claims_of};
use windlass_core::desired::Desired;
use windlass_core::diff::{Cause, compare};
use windlass_core::id::{ProposalId, RepositoryId};
use windlass_core::manifest::{ReadCache, ReadContext, SourceFile};
use windlass_core::plan::{self, MassDestroyConfirmation, PlanStep};
use windlass_core::resource::ResourceKey;

/// A random fleet of networks, some with addresses, virtual IPs and clusters. Few names and few addresses, so that two
/// fleets have some in common.
#[derive(Clone, Debug)]
struct Wishes {
    networks: Vec<(u8, u8, u8)>,
    clusters: Vec<u8>,
}

fn wishes() -> impl Strategy<Value = Wishes> {
    (vec((0..6_u8, 0..5_u8, 0..4_u8), 0..5), vec(0..6_u8, 0..5))
        .prop_map(|(networks, clusters)| Wishes { networks, clusters })
}

impl Wishes {
    /// The fleet, without declarations that are invalid on their own.
    fn desired(&self) -> Desired {
        let mut networks: BTreeMap<u8, (u8, u8)> = BTreeMap::new();
        for (name, second, virtual_ip) in &self.networks {
            if !networks.values().any(|(taken, _)| taken == second) {
                networks.entry(*name).or_insert((*second, *virtual_ip));
            }
        }
        let mut text = "version: 1\naccount: acme\ntemplates: {t: {node_platform: debian-12-amd64}}\n\
                        nodes: [{hostname: h, template: t}]\nsdwan:\n  networks:\n"
            .to_owned();
        for (name, (second, virtual_ip)) in &networks {
            text.push_str(&format!("    - name: n{name}\n"));
            if *second > 0 {
                text.push_str(&format!("      cidr: 10.{second}.0.0/{}\n", 16 + 4 * (name % 3)));
            }
            text.push_str("      peers: [{host: h, publicly_reachable: true}]\n");
            if *virtual_ip > 0 && *second > 0 {
                let address = format!("10.{second}.0.{virtual_ip}");
                text.push_str(&format!(
                    "      virtual_ips: [{{name: v, primary_holder: h, address: {address}}}]\n"
                ));
            }
        }
        text.push_str("clusters:\n");
        let mut clusters = self.clusters.clone();
        clusters.sort_unstable();
        clusters.dedup();
        for name in clusters {
            text.push_str(&format!("  - name: c{name}\n"));
        }
        let text = text.replace("networks:\nclusters", "networks: []\nclusters").replace("clusters:\n\n", "");
        let text =
            text.strip_suffix("clusters:\n").map_or(text.clone(), |rest| format!("{rest}clusters: []\n"));
        let files = [SourceFile::new("fleet.yaml", text.clone().into_bytes())];
        let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
        assert!(!fleet.has_errors(), "{text}\n{:?}", fleet.diagnostics);
        fleet.desired
    }
}

fn owner(repository: &str) -> Owner {
    Owner::Repository(repository.to_owned())
}

/// The accepted state and the open proposals, as a server would store them.
#[derive(Default)]
struct Account {
    accepted: Accepted,
    open: Vec<(HoldingProposal, PlanStep)>,
    opened: usize,
}

impl Account {
    fn holdings(&self) -> Holdings {
        let mut holdings = Holdings::default();
        for (kind, name, accepted) in self.accepted.resources.iter() {
            let owner = match &accepted.owner {
                Owner::Nobody => None,
                Owner::Repository(name) => Some(RepositoryId::new(name)),
            };
            holdings.accept(&ResourceKey::new(kind, name), owner.as_ref(), &accepted.spec, None);
        }
        self.open.iter().for_each(|(proposal, _)| holdings.propose(proposal.clone()));
        holdings
    }

    /// Proposes all differences. Returns those that a conflict blocks.
    fn sync(&mut self, repository: &str, desired: &Desired) -> Vec<ResourceKey> {
        self.open.retain(|(proposal, _)| proposal.repository_id.as_str() != repository);
        let comparison = compare(desired, &self.accepted, &owner(repository));
        let plan = plan::build(desired, comparison, MassDestroyConfirmation::MassDestroy);
        let mut blocked = Vec::new();
        for step in plan.steps {
            let (id, repository_id) =
                (ProposalId::new(format!("{:06}", self.opened)), RepositoryId::new(repository));
            self.opened += 1;
            let claimant = Claimant::Repository { id: &repository_id, proposal: Some(&id) };
            if !self.holdings().conflicts(&step.change, claimant).is_empty() {
                blocked.push(step.change.key.clone());
            }
            let proposal = HoldingProposal {
                id,
                repository_id,
                repository_name: repository.to_owned(),
                key: step.change.key.clone(),
                cause: step.change.cause,
                spec: step.change.after.as_deref().cloned(),
            };
            self.open.push((proposal, step));
        }
        blocked
    }

    /// Applies one open proposal as the server does: only from the state it was made for, only without conflict.
    fn apply(&mut self, index: usize) {
        let (proposal, step) = self.open[index].clone();
        let (change, key) = (&step.change, &step.change.key);
        let claimant = Claimant::Repository { id: &proposal.repository_id, proposal: Some(&proposal.id) };
        let current = self.accepted.resources.get(key.kind, &key.name);
        let is_as_approved = current.map(|current| current.digest) == change.base;
        if !is_as_approved || !self.holdings().conflicts(change, claimant).is_empty() {
            return;
        }
        match (&change.after, change.desired) {
            (Some(spec), Some(digest)) => {
                let owner = owner(proposal.repository_id.as_str());
                let resource = AcceptedResource { spec: spec.clone(), digest, owner };
                self.accepted.resources.insert(key.clone(), resource);
            }
            _ => drop(self.accepted.resources.remove(key.kind, &key.name)),
        }
        self.open.remove(index);
    }

    /// Address ranges that two accepted resources of different repositories share.
    fn clashes(&self) -> Vec<(AddressClaim, AddressClaim)> {
        let mut held: Vec<(AddressClaim, &Owner)> = Vec::new();
        for (kind, name, accepted) in self.accepted.resources.iter() {
            let key = ResourceKey::new(kind, name);
            held.extend(claims_of(&key, &accepted.spec).into_iter().map(|claim| (claim, &accepted.owner)));
        }
        let mut clashes = Vec::new();
        for (index, (one, owner)) in held.iter().enumerate() {
            for (other, other_owner) in &held[..index] {
                let overlaps = one.range.contains(&other.range) || other.range.contains(&one.range);
                if one.scope == other.scope && overlaps && owner != other_owner {
                    clashes.push((one.clone(), other.clone()));
                }
            }
        }
        clashes
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn two_repositories_never_get_the_same_name_or_address_accepted(
        wanted in vec((any::<bool>(), wishes()), 1..5),
        choices in vec((any::<u8>(), any::<u8>()), 0..40),
    ) {
        let mut account = Account::default();
        let mut choices = choices.into_iter();
        for (is_edge, wishes) in wanted {
            let repository = if is_edge { "edge" } else { "core" };
            account.sync(repository, &wishes.desired());
            for (index, more) in choices.by_ref().take(10) {
                if !account.open.is_empty() {
                    account.apply(usize::from(index) % account.open.len());
                }
                prop_assert_eq!(account.clashes(), vec![], "after {}", more);
            }
        }
        // A contested proposal changes nothing while another repository owns the resource.
        for (proposal, _) in account.open.iter().filter(|(proposal, _)| proposal.cause == Cause::Contested) {
            let accepted = account.accepted.resources.get(proposal.key.kind, &proposal.key.name);
            prop_assert!(accepted.is_none_or(|accepted| accepted.owner != owner(proposal.repository_id.as_str())));
        }
    }

    #[test]
    fn a_conflicting_change_is_blocked_by_the_first_and_others_continue(one in wishes(), other in wishes()) {
        let (one, other) = (one.desired(), other.desired());
        let mut account = Account::default();
        prop_assert_eq!(account.sync("edge", &one), vec![]);
        let blocked = account.sync("core", &other);
        for (kind, name, declared) in other.resources.iter() {
            let key = ResourceKey::new(kind, name);
            let overlaps = |claim: &AddressClaim| {
                one.resources.iter().any(|(kind, name, declared)| {
                    let held = ResourceKey::new(kind, name);
                    claims_of(&held, &declared.spec).iter().any(|held| {
                        held.scope == claim.scope
                            && (held.range.contains(&claim.range) || claim.range.contains(&held.range))
                    })
                })
            };
            let is_clash = one.resources.contains(kind, name)
                || claims_of(&key, &declared.spec).iter().any(overlaps);
            prop_assert_eq!(blocked.contains(&key), is_clash, "{}", key);
        }
        prop_assert_eq!(account.open.len(), one.resources.len() + other.resources.len());
        // Everything of the first can be applied; the second gets exactly what does not conflict.
        while let Some(index) = account.open.iter().position(|(proposal, _)| proposal.repository_id.as_str() == "edge") {
            account.apply(index);
        }
        let owned = account.accepted.resources.iter().filter(|(_, _, accepted)| accepted.owner == owner("edge")).count();
        prop_assert_eq!(owned, one.resources.len());
    }
}
