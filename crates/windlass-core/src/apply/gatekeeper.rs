//! Asking the gate about a proposal, and about changes to what its rules look at.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::account::Account;
use crate::diff::{Cause, Change};
use crate::gate::{
    self, Approvers, AutoApply, ContentOrigin, Contributors, FailedSync, GateSubject, GivenApprovals, Halt,
    HostResource, Judgement, Policy, RepositoryChange, RepositoryIdentity, ReviewProblem,
};
use crate::id::RepositoryId;
use crate::proposal::{Approval, Proposal};
use crate::repository::Repository;
use crate::resource::{ResourceKey, ResourceMap, Spec};
use crate::time::Timestamp;

/// What the gate needs to know of an account.
#[derive(Clone, Debug)]
pub struct Gatekeeper {
    policy: Policy,
    halt: Option<Halt>,
    approvers: Approvers,
    hosts: ResourceMap<KnownHost>,
}

/// What changes may be attached to: a resource, and the repository that owns it.
#[derive(Clone, Debug)]
pub struct KnownHost {
    /// Which.
    pub key: ResourceKey,
    /// What it is.
    pub spec: Arc<Spec>,
    /// The file that declares it.
    pub declared_in: Option<String>,
    /// The id of the repository that owns it.
    pub owner_id: RepositoryId,
    /// That repository's name.
    pub owner_name: String,
}

/// A change that might be proposed.
#[derive(Clone, Copy, Debug)]
pub struct PossibleChange<'a> {
    /// What would be changed.
    pub change: &'a Change,
    /// The repository that wants it.
    pub repository: &'a Repository,
    /// The files that declare the resource, now and before.
    pub paths: &'a [&'a str],
    /// Everyone who had a hand in it.
    pub contributors: &'a Contributors,
}

/// The repository whose rules are about a proposal: the one that wants it, or the one that owns what is changed directly.
pub fn governing_repository<'r>(
    proposal: &Proposal,
    repositories: &'r [Repository],
) -> Option<&'r Repository> {
    let id = proposal.governing_repository()?;
    repositories.iter().find(|repository| repository.id == *id)
}

impl Gatekeeper {
    /// For questions that no approval answers: what becomes of a change that nobody proposed, and who may change a
    /// repository. No approval counts.
    pub fn before_approvals(account: &Account) -> Gatekeeper {
        Gatekeeper {
            policy: account.bound_policy(),
            halt: account.halt.clone(),
            approvers: Approvers::default(),
            hosts: ResourceMap::default(),
        }
    }

    /// The same, knowing who may approve in the account now.
    #[must_use]
    pub fn with_approvers(self, approvers: Approvers) -> Gatekeeper {
        Gatekeeper { approvers, ..self }
    }

    /// The resources that must be known before changes of these can be judged: what they are attached to.
    pub fn hosts_to_know<'k>(&self, changed: impl IntoIterator<Item = &'k ResourceKey>) -> Vec<ResourceKey> {
        if self.policy.rules.is_empty() {
            return Vec::new();
        }
        let keys: BTreeSet<ResourceKey> = changed.into_iter().flat_map(gate::hosts_of).collect();
        keys.into_iter().collect()
    }

    /// The same, knowing these.
    #[must_use]
    pub fn with_hosts(self, hosts: impl IntoIterator<Item = KnownHost>) -> Gatekeeper {
        let hosts = hosts.into_iter().map(|host| (host.key.clone(), host)).collect();
        Gatekeeper { hosts, ..self }
    }

    /// Notes that a change was made, for whom: what is attached to the resource afterwards is judged by what it is then.
    pub fn note_applied(&mut self, change: &Change, owner: Option<&Repository>, declared_in: Option<&str>) {
        let key = &change.key;
        let before = self.hosts.remove(key.kind, &key.name);
        let (Some(spec), Some(owner)) = (&change.after, owner) else { return };
        let known = before.and_then(|before| before.declared_in);
        let host = KnownHost {
            key: key.clone(),
            spec: Arc::clone(spec),
            declared_in: declared_in.map(str::to_owned).or(known),
            owner_id: owner.id.clone(),
            owner_name: owner.name.clone(),
        };
        self.hosts.insert(key.clone(), host);
    }

    /// Why a change of a repository takes someone who may approve; nothing if it does not.
    pub fn why_approver_required(&self, change: RepositoryChange<'_>) -> Option<String> {
        gate::why_approver_required(&self.policy, change)
    }

    /// What a change is attached to and other repositories own.
    fn hosts(&self, key: &ResourceKey, repository: Option<&RepositoryId>) -> Vec<HostResource<'_>> {
        let known = gate::hosts_of(key).into_iter().filter_map(|host| self.hosts.get(host.kind, &host.name));
        known
            .filter(|host| Some(&host.owner_id) != repository)
            .map(|host| HostResource {
                key: &host.key,
                owner: RepositoryIdentity { id: &host.owner_id, name: &host.owner_name },
                spec: &host.spec,
                file: host.declared_in.as_deref(),
            })
            .collect()
    }

    /// Whether this person may approve in the account now.
    pub fn is_approver(&self, email: &str) -> bool {
        self.approvers.include(email)
    }

    fn given<'a>(&'a self, approvals: &'a [gate::ApprovalFacts<'a>]) -> GivenApprovals<'a> {
        GivenApprovals { approvals, approvers: &self.approvers }
    }

    /// What the policy, the approvals and the kill switch say about a proposal now.
    pub fn judge(
        &self,
        proposal: &Proposal,
        repository: Option<&Repository>,
        approvals: &[Approval],
        now: Timestamp,
    ) -> Judgement {
        let paths = proposal.declaring_files();
        let hosts = self.hosts(&proposal.change.key, proposal.governing_repository());
        let approvals = approvals_of(approvals);
        gate::judge(&self.policy, &subject(proposal, repository, &paths, &hosts), self.given(&approvals), now)
            .unless_halted(self.halt.as_ref())
            .unless_sync_failed(repository.and_then(|repository| failed_sync_of(proposal, repository)))
    }

    /// What the policy and the kill switch would say about a change that nobody proposed yet.
    pub fn forecast(&self, change: &PossibleChange<'_>, now: Timestamp) -> Judgement {
        let PossibleChange { change, repository, paths, contributors } = *change;
        let hosts = self.hosts(&change.key, Some(&repository.id));
        let subject = GateSubject {
            change: change.action(),
            key: &change.key,
            repository: Some(repository.identity()),
            content: ContentOrigin::Commit,
            paths,
            before: change.before.as_deref(),
            after: change.after.as_deref(),
            contributors,
            is_contested: change.cause == Cause::Contested,
            hosts: &hosts,
            auto_apply: repository.auto_apply(),
            digest: gate::approval_digest(&change.key, change.base, change.desired),
        };
        gate::judge(&self.policy, &subject, self.given(&[]), now).unless_halted(self.halt.as_ref())
    }

    /// Why this person cannot approve a proposal; nothing if they can.
    pub fn why_cannot_approve(
        &self,
        proposal: &Proposal,
        repository: Option<&Repository>,
        approvals: &[Approval],
        person: &str,
    ) -> Option<String> {
        let paths = proposal.declaring_files();
        let hosts = self.hosts(&proposal.change.key, proposal.governing_repository());
        let approvals = approvals_of(approvals);
        let subject = subject(proposal, repository, &paths, &hosts);
        gate::why_cannot_approve(&self.policy, &subject, self.given(&approvals), person)
    }

    /// Whether an approval of a proposal counts.
    pub fn counts(&self, proposal: &Proposal, repository: Option<&Repository>, approval: &Approval) -> bool {
        let paths = proposal.declaring_files();
        let hosts = self.hosts(&proposal.change.key, proposal.governing_repository());
        let subject = subject(proposal, repository, &paths, &hosts);
        gate::why_approval_does_not_count(&self.policy, &subject, &approval_of(approval), &self.approvers)
            .is_none()
    }
}

/// The same for a proposal: what someone changes directly does not wait for what git wants.
pub fn failed_sync_of(proposal: &Proposal, repository: &Repository) -> Option<FailedSync> {
    repository.failed_sync().filter(|_| !proposal.is_direct())
}

/// Checks that someone who approves a proposal has seen what it would apply: `reviewed` is the digest that they name.
pub fn check_review(proposal: &Proposal, reviewed: Option<&str>) -> Result<(), ReviewProblem> {
    gate::check_review(&subject(proposal, None, &[], &[]), reviewed)
}

fn approvals_of(approvals: &[Approval]) -> Vec<gate::ApprovalFacts<'_>> {
    approvals.iter().map(approval_of).collect()
}

fn approval_of(approval: &Approval) -> gate::ApprovalFacts<'_> {
    gate::ApprovalFacts {
        approver: &approval.approver,
        digest: approval.digest,
        lapsed: approval.lapsed.as_deref(),
    }
}

fn subject<'p>(
    proposal: &'p Proposal,
    repository: Option<&'p Repository>,
    paths: &'p [&'p str],
    hosts: &'p [HostResource<'p>],
) -> GateSubject<'p> {
    let known = repository.map(Repository::identity);
    let removed = |id| RepositoryIdentity { id, name: &proposal.repository_name };
    GateSubject {
        change: proposal.change.action(),
        key: &proposal.change.key,
        repository: known.or(proposal.repository_id.as_ref().map(removed)),
        content: content_origin(proposal),
        paths,
        before: proposal.change.before.as_deref(),
        after: proposal.effective().map(|spec| spec.as_ref()),
        contributors: &proposal.contributors,
        is_contested: proposal.change.cause == Cause::Contested,
        hosts,
        auto_apply: repository.map_or(AutoApply::Off, Repository::auto_apply),
        digest: proposal.content_digest(),
    }
}

fn content_origin(proposal: &Proposal) -> ContentOrigin<'_> {
    match &proposal.edit {
        Some(_) => ContentOrigin::Edited { declared: proposal.change.after.as_deref() },
        None if proposal.is_direct() => ContentOrigin::Direct,
        None => ContentOrigin::Commit,
    }
}
