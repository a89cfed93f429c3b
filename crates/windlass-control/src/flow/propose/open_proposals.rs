//! Opens proposals for changes of a plan, and updates open proposals that are still valid.

use std::collections::BTreeMap;

use windlass_core::account::Account;
use windlass_core::apply::{AccountState, Gatekeeper};
use windlass_core::conflict::{Candidate, Claimant};
use windlass_core::content::ContentChange;
use windlass_core::diff::Change;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::plan::PlanStep;
use windlass_core::proposal::{Approval, Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::ResourceKey;
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalPosition, StoreError, new_id};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::content_differences::ContentDifferences;
use crate::flow::gate::auto_approve::{approve_granted, granted_consent, record_auto_approval};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::flow::gate::set_approvals::SetApprovals;
use crate::record;

/// The context in which a run's changes are proposed.
pub(crate) struct OpenContext<'o> {
    /// The differences of file contents, computed before the transaction.
    pub(crate) contents: &'o ContentDifferences,
    pub(crate) account: &'o Account,
    pub(crate) repository: &'o Repository,
    pub(crate) run: &'o Run,
    pub(crate) set_approvals: &'o SetApprovals,
    pub(crate) expires_at: Timestamp,
    pub(crate) now: Timestamp,
}

impl OpenContext<'_> {
    /// A change of the repository, with its proposal if there is one already.
    fn candidate<'c>(
        &'c self,
        planned: &'c PlannedChange,
        proposal: Option<&'c ProposalId>,
    ) -> Candidate<'c> {
        let claimant = Claimant::Repository { id: &self.repository.id, proposal };
        Candidate { change: &planned.change, claimant }
    }
}

/// A change at its position in a plan.
#[derive(Clone, Debug)]
pub(crate) struct PlannedChange {
    pub(crate) position: usize,
    pub(crate) change: Change,
    pub(crate) waits_for: Vec<String>,
    /// The file that declared the resource before.
    pub(crate) previous_file: Option<String>,
}

impl PlannedChange {
    pub(crate) fn of(position: usize, step: &PlanStep, previous_file: Option<String>) -> PlannedChange {
        let waits_for = step.waits_for.iter().map(ToString::to_string).collect();
        PlannedChange { position, change: step.change.clone(), waits_for, previous_file }
    }
}

/// What a run proposes.
#[derive(Debug, Default)]
pub(crate) struct ProposalOffer {
    /// Open proposals that are still valid, by id.
    pub(crate) keep: Vec<(ProposalId, PlannedChange)>,
    /// Changes to open a proposal for.
    pub(crate) open: Vec<PlannedChange>,
}

impl ProposalOffer {
    /// The changes of file contents in the changes to open.
    pub(crate) fn content_changes(&self) -> Vec<ContentChange> {
        self.open.iter().flat_map(|planned| planned.change.content_changes()).collect()
    }

    /// Returns `nothing` if no file contents change; otherwise the content changes that must be compared first.
    pub(crate) fn if_no_lookup_is_needed<'n>(
        &self,
        nothing: &'n ContentDifferences,
    ) -> Result<&'n ContentDifferences, Vec<ContentChange>> {
        let changes = self.content_changes();
        if changes.is_empty() { Ok(nothing) } else { Err(changes) }
    }
}

/// Opens new proposals and updates those that are kept. Approves those that the gate grants automatically, or because
/// their set was approved. Returns the new ones.
pub(crate) async fn open_proposals(
    writing: &mut AccountWriting,
    offer: &OpenContext<'_>,
    offered: &ProposalOffer,
    declared_at: impl FnOnce(&[ResourceKey]) -> Vec<Option<(String, usize)>>,
) -> Result<Vec<Proposal>, StoreError> {
    let planned = offered.keep.iter().map(|(_, planned)| planned).chain(&offered.open);
    let candidates: Vec<Candidate<'_>> = planned.map(|planned| offer.candidate(planned, None)).collect();
    let world =
        load_account_state(writing, &offer.account.id, &candidates, DeclarationSource::Stored).await?;
    let changed = candidates.iter().map(|candidate| &candidate.change.key);
    let gatekeeper = load_gatekeeper(writing, offer.account, changed, offer.now).await?;
    reposition_proposals(writing, offer, &offered.keep, &world, &gatekeeper).await?;
    let keys: Vec<ResourceKey> = offered.open.iter().map(|planned| planned.change.key.clone()).collect();
    let places = declared_at(&keys);
    let mut opened = Vec::with_capacity(keys.len());
    let mut approvals: Vec<(ProposalId, Approval)> = Vec::new();
    for (planned, place) in offered.open.iter().zip(places) {
        let mut proposal = new_proposal(offer, planned, place);
        proposal.blocked_by = world.blockers(offer.candidate(planned, None));
        let run_id = &offer.run.id;
        let event = record::proposal_event(
            &proposal,
            Some(run_id),
            Status::PendingApproval,
            "windlass",
            None,
            offer.now,
        );
        writing.event(event);
        let given = offer.set_approvals.of(&planned.change);
        let judgement = gatekeeper.judge(&proposal, Some(offer.repository), &given, offer.now);
        if let Some(grant) = granted_consent(&judgement) {
            proposal.status = Status::Approved;
            proposal.decided_by = Some(grant.by.clone());
            proposal.decided_at = Some(offer.now);
            record_auto_approval(writing, &proposal, Some(run_id), &grant, offer.now);
        }
        approvals.extend(given.into_iter().map(|approval| (proposal.id.clone(), approval)));
        opened.push(proposal);
    }
    let differences = offer.contents.of(offered.content_changes());
    writing.content_differences_put(&differences, offer.now).await?;
    writing.proposals_add(&opened).await?;
    let approvals: Vec<_> = approvals.iter().map(|(id, given)| (id, given.clone())).collect();
    writing.approvals_add(&approvals).await?;
    Ok(opened)
}

fn new_proposal(
    offer: &OpenContext<'_>,
    planned: &PlannedChange,
    declared_at: Option<(String, usize)>,
) -> Proposal {
    Proposal {
        id: new_id(),
        account_id: offer.account.id.clone(),
        repository_id: Some(offer.repository.id.clone()),
        repository_name: offer.repository.name.clone(),
        run_id: Some(offer.run.id.clone()),
        change: planned.change.clone(),
        position: planned.position,
        edit: None,
        commit_sha: offer.run.commit_sha.clone().unwrap_or_default(),
        author: offer.run.commit_email.clone(),
        contributors: offer.run.contributors.clone(),
        owner_id: None,
        direct_reason: None,
        previous_file: planned.previous_file.clone(),
        declared_at,
        status: Status::PendingApproval,
        blocked_by: Vec::new(),
        waits_for: planned.waits_for.clone(),
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

/// Updates proposals that are kept: their position in the new plan and what blocks them now. Approves those that the
/// gate grants now.
async fn reposition_proposals(
    writing: &mut AccountWriting,
    offer: &OpenContext<'_>,
    keep: &[(ProposalId, PlannedChange)],
    world: &AccountState,
    gatekeeper: &Gatekeeper,
) -> Result<(), StoreError> {
    let run_id = &offer.run.id;
    let members: Vec<(&RunId, &ProposalId, usize)> =
        keep.iter().map(|(id, planned)| (run_id, id, planned.position)).collect();
    writing.run_proposals_add(&members).await?;
    let placed: Vec<ProposalPosition<'_>> = keep
        .iter()
        .map(|(id, planned)| {
            let blocked_by = world.blockers(offer.candidate(planned, Some(id)));
            let (position, cause) = (planned.position, planned.change.cause);
            ProposalPosition { id, position, cause, waits_for: planned.waits_for.clone(), blocked_by }
        })
        .collect();
    writing.proposals_set_positions(&placed).await?;
    let ids: Vec<&ProposalId> = keep.iter().map(|(id, _)| id).collect();
    let kept = writing.proposals_by_id(&offer.account.id, &ids).await?;
    let approvals: BTreeMap<ProposalId, Vec<Approval>> = writing.approvals_of(&ids).await?;
    let grants: Vec<_> = kept
        .iter()
        .filter(|proposal| proposal.status == Status::PendingApproval)
        .filter_map(|proposal| {
            let given = approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
            let judgement = gatekeeper.judge(proposal, Some(offer.repository), given, offer.now);
            Some((proposal, granted_consent(&judgement)?))
        })
        .collect();
    approve_granted(writing, &grants, Some(run_id), offer.now).await
}
