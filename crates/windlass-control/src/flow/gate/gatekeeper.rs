//! Asking the gate about a proposal, and about changes to what its rules look at.

use std::collections::BTreeSet;

use windlass_api::permission::Permission;
use windlass_core::diff::{Cause, Change};
use windlass_core::digest::Digest;
use windlass_core::gate::{
    self, Approvers, AutoApply, ContentOrigin, Contributors, Given, Host, Judgement, Policy,
    RepositoryChange, RepositoryIdentity, RepositorySettings, ReviewProblem, Subject,
};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Account, Approval, Member, Proposal, Reading, Repository, Resource, StoreError};

use crate::caller::{Identity, standing_role};
use crate::refusal::Refusal;
use crate::world::names::repository_names;

/// What the gate needs to know of an account.
#[derive(Clone, Debug)]
pub(crate) struct Gatekeeper {
    policy: Policy,
    halt: Option<gate::Halt>,
    approvers: Approvers,
    hosts: ResourceMap<KnownHost>,
}

/// What changes may be attached to: a resource, and the repository that owns it.
#[derive(Clone, Debug)]
struct KnownHost {
    resource: Resource,
    owner_id: String,
    owner_name: String,
}

/// A change that might be proposed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreseeable<'a> {
    pub(crate) change: &'a Change,
    pub(crate) repository: &'a Repository,
    /// The files that declare the resource, now and before.
    pub(crate) paths: &'a [&'a str],
    /// Everyone who had a hand in it.
    pub(crate) contributors: &'a Contributors,
}

/// The policy of an account, its rules bound to the repositories that they name.
pub(crate) fn stored_policy(account: &Account) -> Policy {
    // It was valid when it was stored. Should it not be any more, nothing passes by itself: the default asks.
    let policy = Policy::read("policy", &account.policy).0.unwrap_or_default();
    match &account.policy_repositories {
        Some(repositories) => policy.bind_repositories(repositories),
        None => policy,
    }
}

/// The repository whose rules are about a proposal: the one that wants it, or the one that owns what is changed directly.
pub(crate) fn governing_repository<'r>(
    proposal: &Proposal,
    repositories: &'r [Repository],
) -> Option<&'r Repository> {
    let id = proposal.governing_repository()?;
    repositories.iter().find(|repository| repository.id == id)
}

/// The settings of a repository that decide what is approved without people.
pub(crate) fn trusted_settings(repository: &Repository) -> RepositorySettings<'_> {
    RepositorySettings {
        identity: identity_of(repository),
        url: &repository.repo_url,
        branch: &repository.branch,
        path_prefix: &repository.path_prefix,
        signers: repository.signers.as_deref(),
        credential: repository.credential_path.as_deref(),
        ca: repository.ca_pem.as_deref(),
        host_keys: repository.host_keys.as_deref(),
        is_enabled: repository.enabled,
        auto_apply: repository.auto_apply,
    }
}

pub(crate) fn identity_of(repository: &Repository) -> RepositoryIdentity<'_> {
    RepositoryIdentity { id: &repository.id, name: &repository.name }
}

/// Whether someone may approve. Every way of having something applied asks this.
pub(crate) fn may_approve(who: &Identity) -> bool {
    who.permissions.contains(&Permission::GitopsApprove)
}

/// Who of an account's people may approve now: neither disabled nor without the role, and what groups gave still holds.
fn approvers_among(members: &[Member], now: Timestamp) -> Approvers {
    let may = |member: &&Member| {
        standing_role(member, now).is_some_and(|role| role.permissions().contains(&Permission::GitopsApprove))
    };
    members.iter().filter(may).map(|member| member.user.email.as_str()).collect()
}

impl Gatekeeper {
    /// What the gate needs to know of an account, of who may approve in it at this moment, and of what changes of these
    /// resources are attached to.
    pub(crate) async fn load<'k>(
        reading: &mut Reading,
        account: &Account,
        changed: impl IntoIterator<Item = &'k ResourceKey>,
        now: Timestamp,
    ) -> Result<Gatekeeper, StoreError> {
        let members = reading.members(&account.id).await?;
        let approvers = approvers_among(&members, now);
        Gatekeeper { approvers, ..Gatekeeper::before_approvals(account) }
            .with_hosts(reading, account, changed)
            .await
    }

    /// The same, knowing what changes of these resources are attached to.
    pub(crate) async fn with_hosts<'k>(
        self,
        reading: &mut Reading,
        account: &Account,
        changed: impl IntoIterator<Item = &'k ResourceKey>,
    ) -> Result<Gatekeeper, StoreError> {
        let keys: BTreeSet<ResourceKey> = changed.into_iter().flat_map(gate::hosts_of).collect();
        if keys.is_empty() || self.policy.rules.is_empty() {
            return Ok(self);
        }
        let keys: Vec<ResourceKey> = keys.into_iter().collect();
        let names = repository_names(reading, &account.id).await?;
        let known = reading.resources_of(&account.id, &keys).await?.into_iter().filter_map(|resource| {
            let owner_id = resource.owner_id.clone()?;
            let owner_name = names.get(&owner_id)?.clone();
            Some((resource.key.clone(), KnownHost { resource, owner_id, owner_name }))
        });
        Ok(Gatekeeper { hosts: known.collect(), ..self })
    }

    /// What a change is attached to and other repositories own.
    fn hosts(&self, key: &ResourceKey, repository: Option<&str>) -> Vec<Host<'_>> {
        let known = gate::hosts_of(key).into_iter().filter_map(|host| self.hosts.get(host.kind, &host.name));
        known
            .filter(|host| Some(host.owner_id.as_str()) != repository)
            .map(|host| Host {
                key: &host.resource.key,
                owner: RepositoryIdentity { id: &host.owner_id, name: &host.owner_name },
                spec: &host.resource.spec,
                file: host.resource.declared_in.as_deref(),
            })
            .collect()
    }

    /// The same for questions that no approval answers: what becomes of a change that nobody proposed, and who may change a
    /// repository. No approval counts.
    pub(crate) fn before_approvals(account: &Account) -> Gatekeeper {
        let halt = account.halt.as_ref().map(|halt| gate::Halt {
            by: halt.by.clone(),
            reason: halt.reason.clone(),
            since: halt.at,
        });
        Gatekeeper {
            policy: stored_policy(account),
            halt,
            approvers: Approvers::default(),
            hosts: ResourceMap::default(),
        }
    }

    /// Whether this person may approve in the account now.
    pub(crate) fn is_approver(&self, email: &str) -> bool {
        self.approvers.include(email)
    }

    fn given<'a>(&'a self, approvals: &'a [gate::Approval<'a>]) -> Given<'a> {
        Given { approvals, approvers: &self.approvers }
    }

    /// Refuses a change of a repository that takes someone who may approve, if they may not.
    pub(crate) fn check_repository_change(
        &self,
        who: &Identity,
        change: RepositoryChange<'_>,
    ) -> Result<(), Refusal> {
        match gate::why_an_approver(&self.policy, change) {
            Some(why) if !may_approve(who) => Err(Refusal::forbidden(
                format!("{why}: this needs the permission {}", Permission::GitopsApprove),
                "ask someone who may approve to make this change",
            )),
            _ => Ok(()),
        }
    }

    /// What the policy, the approvals and the kill switch say about a proposal now.
    pub(crate) fn judge(
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
    pub(crate) fn foresee(&self, change: &Foreseeable<'_>, now: Timestamp) -> Judgement {
        let Foreseeable { change, repository, paths, contributors } = *change;
        let hosts = self.hosts(&change.key, Some(&repository.id));
        let subject = Subject {
            change: change.action(),
            key: &change.key,
            repository: Some(identity_of(repository)),
            content: ContentOrigin::Commit,
            paths,
            before: change.before.as_deref(),
            after: change.after.as_deref(),
            contributors,
            is_contested: change.cause == Cause::Contested,
            hosts: &hosts,
            auto_apply: auto_apply(Some(repository)),
            digest: gate::binding(&change.key, change.base, change.desired),
        };
        gate::judge(&self.policy, &subject, self.given(&[]), now).unless_halted(self.halt.as_ref())
    }

    /// Why this person cannot approve a proposal; nothing if they can.
    pub(crate) fn why_not(
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
        gate::why_not(&self.policy, &subject, self.given(&approvals), person)
    }

    /// Whether an approval of a proposal counts.
    pub(crate) fn counts(
        &self,
        proposal: &Proposal,
        repository: Option<&Repository>,
        approval: &Approval,
    ) -> bool {
        let paths = proposal.declaring_files();
        let hosts = self.hosts(&proposal.change.key, proposal.governing_repository());
        let subject = subject(proposal, repository, &paths, &hosts);
        approval_of(approval).is_some_and(|approval| {
            gate::why_it_does_not_count(&self.policy, &subject, &approval, &self.approvers).is_none()
        })
    }
}

/// Why the repository could not be read when it was last tried; nothing if it could, or if someone confirmed that this
/// run's failure is no reason to wait.
pub(crate) fn failed_sync(repository: &Repository) -> Option<gate::FailedSync> {
    let reason = repository.last_error.as_ref().filter(|_| repository.last_status == "failed")?;
    let is_confirmed =
        repository.last_run_id.is_some() && repository.confirmed_failure == repository.last_run_id;
    (!is_confirmed).then(|| gate::FailedSync { repository: repository.name.clone(), reason: reason.clone() })
}

/// The same for a proposal: what someone changes directly does not wait for what git wants.
pub(crate) fn failed_sync_of(proposal: &Proposal, repository: &Repository) -> Option<gate::FailedSync> {
    failed_sync(repository).filter(|_| !proposal.is_direct())
}

/// Checks that someone who approves a proposal has seen what it would apply: `reviewed` is the digest that they name.
pub(crate) fn check_review(proposal: &Proposal, reviewed: Option<&str>) -> Result<(), ReviewProblem> {
    gate::check_review(&subject(proposal, None, &[], &[]), reviewed)
}

fn approvals_of(approvals: &[Approval]) -> Vec<gate::Approval<'_>> {
    approvals.iter().filter_map(approval_of).collect()
}

fn approval_of(approval: &Approval) -> Option<gate::Approval<'_>> {
    let digest = Digest::parse(&approval.digest)?;
    Some(gate::Approval { approver: &approval.approver, digest, fallen: approval.fallen.as_deref() })
}

fn subject<'p>(
    proposal: &'p Proposal,
    repository: Option<&'p Repository>,
    paths: &'p [&'p str],
    hosts: &'p [Host<'p>],
) -> Subject<'p> {
    let known = repository.map(identity_of);
    let removed = || RepositoryIdentity { id: &proposal.repository_id, name: &proposal.repository_name };
    Subject {
        change: proposal.change.action(),
        key: &proposal.change.key,
        repository: if proposal.is_direct() { known } else { Some(known.unwrap_or_else(removed)) },
        content: content_origin(proposal),
        paths,
        before: proposal.change.before.as_deref(),
        after: proposal.effective().map(|spec| spec.as_ref()),
        contributors: &proposal.contributors,
        is_contested: proposal.change.cause == Cause::Contested,
        hosts,
        auto_apply: auto_apply(repository),
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

fn auto_apply(repository: Option<&Repository>) -> AutoApply {
    let is_auto = repository.is_some_and(|repository| repository.auto_apply);
    if is_auto { AutoApply::On } else { AutoApply::Off }
}
