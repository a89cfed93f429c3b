//! Opening proposals for the steps of a plan, and keeping those that still stand in their place.

use serde_json::json;
use windlass_core::catalogue::Known;
use windlass_core::gate::{Consent, GrantedBy, Judgement, Notify};
use windlass_core::live::Live;
use windlass_core::plan::{Plan, Step};
use windlass_core::proposal::{Existing, Reconciled, Status, blockers};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{
    Account, AccountWriting, Actor, Moved, NewEvent, Proposal, Repository, Run, Severity, StoreError, new_id,
};

use crate::gatekeeper::Gatekeeper;
use crate::tell;
use crate::world::references;

/// What a run offers, and in which circumstances.
pub(crate) struct Offer<'o> {
    pub(crate) account: &'o Account,
    pub(crate) repository: &'o Repository,
    pub(crate) run: &'o Run,
    pub(crate) live: &'o Live,
    pub(crate) plan: &'o Plan,
    pub(crate) expires_at: Timestamp,
    pub(crate) now: Timestamp,
}

/// What is live when a plan is offered.
struct Circumstances<'o> {
    live: &'o Live,
    known: Known,
    referrers: ResourceMap<Vec<ResourceKey>>,
}

impl Circumstances<'_> {
    fn of(live: &Live) -> Circumstances<'_> {
        let mut referrers: ResourceMap<Vec<ResourceKey>> = ResourceMap::default();
        for (kind, name, resource) in live.resources.iter() {
            let key = ResourceKey::new(kind, name);
            for target in references(&key, &resource.spec) {
                let mut known = referrers.remove(target.kind, &target.name).unwrap_or_default();
                known.push(key.clone());
                referrers.insert(target, known);
            }
        }
        Circumstances { live, known: Known::offline(), referrers }
    }
}

impl Existing for Circumstances<'_> {
    fn exists(&self, kind: Kind, name: &str) -> bool {
        self.live.resources.contains(kind, name) || self.known.has(kind, name)
    }

    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey> {
        if self.known.has(key.kind, &key.name) {
            return Vec::new();
        }
        self.referrers.get(key.kind, &key.name).cloned().unwrap_or_default()
    }
}

/// Opens new proposals, places standing ones anew, and lets through what the gate lets through by itself.
pub(crate) async fn open_proposals(
    writing: &mut AccountWriting,
    offer: &Offer<'_>,
    reconciled: &Reconciled,
    declared_at: impl FnOnce(&[ResourceKey]) -> Vec<Option<(String, usize)>>,
) -> Result<(), StoreError> {
    let circumstances = Circumstances::of(offer.live);
    let gatekeeper = Gatekeeper::of(offer.account);
    keep(writing, offer, reconciled, &circumstances, &gatekeeper).await?;
    let keys: Vec<ResourceKey> =
        reconciled.open.iter().map(|position| offer.plan.steps[*position].change.key.clone()).collect();
    let places = declared_at(&keys);
    let mut opened = Vec::with_capacity(keys.len());
    for (position, place) in reconciled.open.iter().zip(places) {
        let step = &offer.plan.steps[*position];
        let mut proposal = new_proposal(offer, step, *position, place);
        proposal.blocked_by = blockers(&step.change, &circumstances);
        let run_id = &offer.run.id;
        let event =
            tell::proposal_event(&proposal, run_id, Status::PendingApproval, "windlass", None, offer.now);
        writing.event(event);
        let judgement = gatekeeper.judge(&proposal, Some(offer.repository), &[], offer.now);
        if let Some(grant) = granted(&judgement) {
            proposal.status = Status::Approved;
            proposal.decided_by = Some(grant.by.clone());
            proposal.decided_at = Some(offer.now);
            tell_grant(writing, &proposal, offer, &grant);
        }
        opened.push(proposal);
    }
    writing.proposals_add(&opened).await
}

fn new_proposal(
    offer: &Offer<'_>,
    step: &Step,
    position: usize,
    declared_at: Option<(String, usize)>,
) -> Proposal {
    Proposal {
        id: new_id(),
        account_id: offer.account.id.clone(),
        repository_id: offer.repository.id.clone(),
        repository_name: offer.repository.name.clone(),
        run_id: offer.run.id.clone(),
        change: step.change.clone(),
        position,
        edit: None,
        commit_sha: offer.run.commit_sha.clone().unwrap_or_default(),
        author: offer.run.commit_email.clone(),
        declared_at,
        status: Status::PendingApproval,
        blocked_by: Vec::new(),
        waits_for: waits_of(step),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: offer.now,
        expires_at: offer.expires_at,
        decided_at: None,
        closed_at: None,
        version: 1,
    }
}

fn waits_of(step: &Step) -> Vec<String> {
    step.waits_for.iter().map(ToString::to_string).collect()
}

/// Proposals that still stand: their place in the new order, and what they wait for now.
async fn keep(
    writing: &mut AccountWriting,
    offer: &Offer<'_>,
    reconciled: &Reconciled,
    circumstances: &Circumstances<'_>,
    gatekeeper: &Gatekeeper,
) -> Result<(), StoreError> {
    let members: Vec<(&str, &str, usize)> = reconciled
        .keep
        .iter()
        .map(|(id, position)| (offer.run.id.as_str(), id.as_str(), *position))
        .collect();
    writing.run_proposals_add(&members).await?;
    for (id, position) in &reconciled.keep {
        let step = &offer.plan.steps[*position];
        let blocked_by = blockers(&step.change, circumstances);
        writing.proposal_place(id, *position, &waits_of(step), &blocked_by).await?;
        let Some(proposal) = writing.proposal(&offer.account.id, id).await? else { continue };
        if proposal.status != Status::PendingApproval {
            continue;
        }
        let approvals = writing.approvals(id).await?;
        let judgement = gatekeeper.judge(&proposal, Some(offer.repository), &approvals, offer.now);
        if let Some(grant) = granted(&judgement) {
            let moved = Moved {
                from: Status::PendingApproval,
                to: Status::Approved,
                reason: None,
                decided_by: Some(&grant.by),
                until_change: false,
                at: offer.now,
            };
            if writing.proposal_move(id, &moved).await? {
                tell_grant(writing, &proposal, offer, &grant);
            }
        }
    }
    Ok(())
}

/// A consent, and whether people are to be told of it.
pub(crate) struct Grant {
    pub(crate) by: String,
    pub(crate) severity: Severity,
}

/// Who or what agreed, if it was agreed to.
pub(crate) fn granted(judgement: &Judgement) -> Option<Grant> {
    let Consent::Granted { by } = &judgement.consent else { return None };
    let rule = judgement.rule.as_deref().unwrap_or("default");
    Some(match by {
        GrantedBy::Policy { notify: Notify::Yes } => {
            Grant { by: format!("policy {rule}"), severity: Severity::Medium }
        }
        GrantedBy::Policy { notify: Notify::No } => {
            Grant { by: format!("policy {rule}"), severity: Severity::Low }
        }
        GrantedBy::AutoApply => Grant { by: "auto_apply".to_owned(), severity: Severity::Low },
        GrantedBy::People(people) => Grant { by: people.join(", "), severity: Severity::Low },
    })
}

fn tell_grant(writing: &mut AccountWriting, proposal: &Proposal, offer: &Offer<'_>, grant: &Grant) {
    let event = tell::proposal_event(proposal, &offer.run.id, Status::Approved, &grant.by, None, offer.now);
    writing.event(NewEvent { severity: grant.severity, ..event });
    let detail = json!({"by": grant.by, "digest": proposal.content_digest(), "resource": proposal.change.key.to_string()});
    let actor = Actor::windlass();
    writing.audit(tell::entry(&actor, "proposal.approve", ("proposal", &proposal.id), detail, offer.now));
}
