//! What becomes of approved proposals, and what the gate says about them.

mod blocked;
mod consent;
mod gatekeeper;
mod laws;
mod moved;
mod sequence;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::account::Account;
use crate::account::tests::account;
use crate::blocked_by::BlockedBy;
use crate::conflict::{HoldingProposal, Holdings};
use crate::diff::Change;
use crate::gate::Approvers;
use crate::id::{ProposalId, RepositoryId};
use crate::proposal::made_up::{approval, spec};
use crate::proposal::{Approval, Proposal};
use crate::repository::Repository;
use crate::repository::tests::repository;
use crate::resource::{Kind, ResourceKey, ResourceMap, Spec};
use crate::time::Timestamp;

/// A Monday.
const NOON: &str = "2026-11-16T12:00:00Z";
const BOB: &str = "bob@example.com";
const CY: &str = "cy@example.com";

const SMALL: &str = "{labels: {size: small}}";
const MEDIUM: &str = "{labels: {size: medium}}";
const LARGE: &str = "{labels: {size: large}}";

const PLATFORM: &str = "{node_platform: debian-12-amd64}";

/// An account with the repositories `core` and `edge`, in which Bob and Cy may approve and one approval is needed.
#[derive(Clone, Debug)]
struct Stage {
    account: Account,
    approvers: Vec<&'static str>,
    repositories: Vec<Repository>,
    accepted: ResourceMap<(Arc<Spec>, Option<RepositoryId>)>,
    open: Vec<HoldingProposal>,
    /// What repositories declare and do not own.
    declared: Vec<(&'static str, ResourceKey)>,
    now: Timestamp,
}

impl Stage {
    fn new() -> Stage {
        Stage {
            account: account("{}"),
            approvers: vec![BOB, CY],
            repositories: vec![repository("core"), repository("edge")],
            accepted: ResourceMap::default(),
            open: Vec::new(),
            declared: Vec::new(),
            now: Timestamp::parse(NOON).unwrap(),
        }
    }

    fn with_rules(mut self, rules: &str) -> Stage {
        self.account.policy = format!("{{rules: {rules}}}");
        assert!(!self.account.bound_policy().rules.is_empty(), "{rules}");
        self
    }

    /// The same with an accepted resource that is some repository's or nobody's.
    fn with(mut self, kind: Kind, name: &str, text: &str, owner: Option<&str>) -> Stage {
        let accepted = (spec(kind, text), owner.map(RepositoryId::new));
        self.accepted.insert(ResourceKey::new(kind, name), accepted);
        self
    }

    fn repository(&mut self, id: &str) -> &mut Repository {
        self.repositories.iter_mut().find(|repository| repository.id.as_str() == id).unwrap()
    }

    /// What is around these proposals, loaded as the server does: nothing else is known.
    fn world(&self, proposals: &[Proposal]) -> AccountState {
        let changes: Vec<Change> = proposals.iter().map(Proposal::effective_change).collect();
        let mut near: BTreeSet<ResourceKey> = changes.iter().map(|change| change.key.clone()).collect();
        let mut referrers: ResourceMap<BTreeSet<ResourceKey>> = ResourceMap::default();
        for change in &changes {
            match &change.after {
                Some(spec) => near.extend(spec.targets(&change.key.name)),
                None => drop(referrers.insert(change.key.clone(), BTreeSet::new())),
            }
        }
        let mut holdings = Holdings::default();
        self.repositories.iter().for_each(|one| holdings.name_repository(&one.id, &one.name));
        let mut present = ResourceMap::default();
        let mut modules = ModuleFacts::default();
        for (kind, name, (spec, owner)) in self.accepted.iter() {
            let key = ResourceKey::new(kind, name);
            holdings.accept(&key, owner.as_ref(), spec, None);
            modules.note(&key, spec);
            for target in spec.targets(name) {
                if let Some(known) = referrers.get_mut(target.kind, &target.name) {
                    known.insert(key.clone());
                }
            }
            if near.contains(&key) {
                present.insert(key, AcceptedFacts { digest: spec.digest(), owner_id: owner.clone() });
            }
        }
        self.open.iter().for_each(|proposal| holdings.propose(proposal.clone()));
        self.declared.iter().for_each(|(id, key)| holdings.declare(&RepositoryId::new(*id), key.clone()));
        AccountState::new(present, referrers, holdings).with_modules(modules)
    }

    /// The gate, knowing what changes of these resources are attached to.
    fn gatekeeper<'k>(&self, changed: impl IntoIterator<Item = &'k ResourceKey>) -> Gatekeeper {
        let approvers: Approvers = self.approvers.iter().copied().collect();
        let gatekeeper = Gatekeeper::before_approvals(&self.account).with_approvers(approvers);
        let hosts = gatekeeper.hosts_to_know(changed).into_iter().filter_map(|key| {
            let (spec, owner) = self.accepted.get(key.kind, &key.name)?;
            let owner = owner.clone()?;
            let (spec, owner_name) = (Arc::clone(spec), owner.to_string());
            Some(KnownHost { key, spec, declared_in: None, owner_id: owner, owner_name })
        });
        let hosts: Vec<KnownHost> = hosts.collect();
        gatekeeper.with_hosts(hosts)
    }

    /// Where these are judged, with approvals of each.
    fn scene(&self, proposals: &[Proposal], approvals: impl Fn(&Proposal) -> Vec<Approval>) -> ApplyContext {
        let given: BTreeMap<ProposalId, Vec<Approval>> =
            proposals.iter().map(|proposal| (proposal.id.clone(), approvals(proposal))).collect();
        ApplyContext {
            world: self.world(proposals),
            gatekeeper: self.gatekeeper(proposals.iter().map(|proposal| &proposal.change.key)),
            repositories: self.repositories.clone(),
            approvals: given,
            now: self.now,
        }
    }

    /// What becomes of proposals that Bob approved, judged one after the other.
    fn become_of(&self, proposals: &[Proposal]) -> Vec<String> {
        let mut scene = self.scene(proposals, |proposal| vec![approval(proposal, BOB)]);
        proposals.iter().map(|proposal| told(&scene.judge(proposal))).collect()
    }

    /// What becomes of one proposal that Bob approved.
    fn becomes_of(&self, proposal: &Proposal) -> String {
        self.become_of(std::slice::from_ref(proposal)).concat()
    }
}

/// A verdict in a line.
fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Apply { change, owner_id, .. } => {
            format!(
                "{} {} for {}",
                change.action(),
                change.key,
                owner_id.as_ref().map_or("nobody", RepositoryId::as_str)
            )
        }
        Verdict::End(status, reason) => format!("{status}: {reason}"),
        Verdict::AskAgain(reason) => format!("asks again: {reason}"),
        Verdict::Wait(reasons) => format!("waits: {}", BlockedBy::sentences(reasons).join("; ")),
    }
}
