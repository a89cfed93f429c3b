//! What a new plan means for the proposals that are open.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::accepted::Owner;
use crate::desired::Desired;
use crate::desired::tests::{declared, made_up};
use crate::diff::compare;
use crate::plan::{self, MassDestroyConfirmation};

const CAP: usize = 25;

fn plan_between(accepted: &Accepted, desired: &Desired) -> Plan {
    let owner = Owner::Repository("ours".to_owned());
    plan::build(desired, compare(desired, accepted, &owner), MassDestroyConfirmation::MassDestroy)
}

fn accepted(body: &str) -> Accepted {
    Accepted::from_desired(&declared(body), &Owner::Repository("ours".to_owned()))
}

fn cap(limit: usize) -> ProposalCap {
    ProposalCap { limit, ..ProposalCap::default() }
}

/// A proposal of a step, as it was opened.
fn opened(step: &PlanStep, status: Status) -> ExistingProposal {
    ExistingProposal {
        id: ProposalId::new(step.change.key.to_string()),
        key: step.change.key.clone(),
        base: step.change.base,
        desired: step.change.desired,
        status,
    }
}

fn rejected(step: &PlanStep, until_change: bool) -> RejectedChange {
    let change = &step.change;
    RejectedChange { key: change.key.clone(), base: change.base, desired: change.desired, until_change }
}

/// The end of the one proposal that was opened between two states, when a later sync finds two others.
fn end_of(
    opened_between: (&str, &str),
    found: (&str, &str),
    status: Status,
) -> Option<(Status, CloseReason)> {
    let earlier = plan_between(&accepted(opened_between.0), &declared(opened_between.1));
    let offered = [opened(&earlier.steps[0], status)];
    let now = accepted(found.0);
    let result = reconcile(&plan_between(&now, &declared(found.1)), &offered, &[], &now, &cap(CAP));
    assert_eq!(result.keep.len() + result.close.len(), 1, "it is kept or closed");
    result.close.into_iter().next().map(|closing| (closing.status, closing.reason))
}

const NONE: &str = "clusters: []";
const OLD: &str = "clusters: [{name: a}]";
const NEW: &str = "clusters: [{name: a, labels: {x: new}}]";
const OTHER: &str = "clusters: [{name: a, labels: {x: other}}]";

#[test]
fn a_proposal_stands_while_git_and_the_accepted_state_do() {
    for status in [Status::PendingApproval, Status::Approved] {
        assert_eq!(end_of((OLD, NEW), (OLD, NEW), status), None);
    }
}

#[test]
fn a_proposal_is_superseded_when_git_or_the_accepted_state_changes() {
    for status in [Status::PendingApproval, Status::Approved] {
        let git_moved = Some((Status::Superseded, CloseReason::GitMoved));
        assert_eq!(end_of((OLD, NEW), (OLD, OTHER), status), git_moved);
        assert_eq!(end_of((OLD, NEW), (OLD, NONE), status), git_moved, "git deletes it now");
        let accepted_moved = Some((Status::Superseded, CloseReason::AcceptedMoved));
        assert_eq!(end_of((OLD, NEW), (OTHER, NEW), status), accepted_moved);
    }
}

#[test]
fn a_proposal_is_withdrawn_when_its_difference_is_gone() {
    for status in [Status::PendingApproval, Status::Approved] {
        let withdrawn = Some((Status::Withdrawn, CloseReason::NoDifference));
        assert_eq!(end_of((OLD, NEW), (OLD, OLD), status), withdrawn);
    }
}

#[test]
fn an_approved_change_that_someone_made_manually_is_applied_manually_and_a_pending_one_is_withdrawn() {
    let manually = Some((Status::AppliedManually, CloseReason::MadeByHand));
    let withdrawn = Some((Status::Withdrawn, CloseReason::NoDifference));
    assert_eq!(end_of((OLD, NEW), (NEW, NEW), Status::Approved), manually);
    assert_eq!(end_of((OLD, NEW), (NEW, NEW), Status::PendingApproval), withdrawn);
    assert_eq!(end_of((OLD, NONE), (NONE, NONE), Status::Approved), manually, "a destroy too");
}

#[test]
fn a_rejected_change_is_proposed_after_the_others_or_not_until_it_changes() {
    let body = |labels: &str| format!("clusters: [{{name: a{labels}}}, {{name: b{labels}}}]");
    let before = accepted(&body(""));
    let plan = plan_between(&before, &declared(&body(", labels: {x: y}")));
    let result =
        |until_change| reconcile(&plan, &[], &[rejected(&plan.steps[0], until_change)], &before, &cap(1));
    let again = result(false);
    assert_eq!(
        (again.open, again.remaining, again.next),
        (vec![1], 1, None),
        "b comes before the rejected a"
    );
    let held = result(true);
    assert_eq!((held.open, held.held_back, held.remaining), (vec![1], vec![0], 0));

    // What was rejected of another difference holds nothing back.
    let other = plan_between(&before, &declared(&body(", labels: {x: z}")));
    let of_other = [rejected(&plan.steps[0], true)];
    let result = reconcile(&other, &[], &of_other, &before, &cap(CAP));
    assert_eq!((result.open, result.held_back), (vec![0, 1], vec![]));
}

#[test]
fn a_proposal_that_nobody_can_bring_on_takes_no_room() {
    let before = accepted("clusters: []");
    let plan = plan_between(&before, &declared("clusters: [{name: a}, {name: b}]"));
    let offered = [opened(&plan.steps[0], Status::PendingApproval)];
    assert!(reconcile(&plan, &offered, &[], &before, &cap(1)).open.is_empty());
    let stuck = BTreeSet::from([offered[0].id.clone()]);
    assert_eq!(reconcile(&plan, &offered, &[], &before, &ProposalCap { limit: 1, stuck }).open, [1]);
}

/// Two fleets, one that was planned earlier, what became of each of its changes, and a cap.
type Situation = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>, usize);

fn situation() -> impl Strategy<Value = Situation> {
    let tape = || vec(any::<u8>(), 0..160);
    (tape(), tape(), tape(), vec(any::<u8>(), 11), 0..12_usize)
}

/// What is open and what was rejected of an earlier plan.
fn earlier_decisions(steps: &[PlanStep], fates: &[u8]) -> (Vec<ExistingProposal>, Vec<RejectedChange>) {
    let (mut offered, mut declined) = (Vec::new(), Vec::new());
    for (step, fate) in steps.iter().zip(fates.iter().cycle()) {
        match fate % 5 {
            0 => offered.push(opened(step, Status::PendingApproval)),
            1 => offered.push(opened(step, Status::Approved)),
            2 => declined.push(rejected(step, true)),
            3 => declined.push(rejected(step, false)),
            _ => {}
        }
    }
    (offered, declined)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_proposal_is_kept_or_closed_and_no_change_is_proposed_twice(
        (before, earlier, after, fates, limit) in situation(),
    ) {
        let state = Accepted::from_desired(&made_up(&before), &Owner::Repository("ours".to_owned()));
        let (offered, declined) = earlier_decisions(&plan_between(&state, &made_up(&earlier)).steps, &fates);
        let plan = plan_between(&state, &made_up(&after));
        let result = reconcile(&plan, &offered, &declined, &state, &cap(limit));

        let mut handled: Vec<&ProposalId> = result.keep.iter().map(|(id, _)| id).collect();
        handled.extend(result.close.iter().map(|closing| &closing.id));
        handled.sort();
        let mut all: Vec<&ProposalId> = offered.iter().map(|proposal| &proposal.id).collect();
        all.sort();
        prop_assert_eq!(handled, all);

        // Kept ones are exactly as the new plan has them, opened ones are new, and together they respect the cap.
        let by_id: BTreeMap<&ProposalId, &ExistingProposal> = offered.iter().map(|one| (&one.id, one)).collect();
        let mut used = BTreeSet::new();
        for (id, position) in &result.keep {
            let (kept, change) = (by_id[id], &plan.steps[*position].change);
            prop_assert_eq!((&kept.key, kept.base, kept.desired), (&change.key, change.base, change.desired));
            prop_assert!(used.insert(*position));
        }
        for position in result.open.iter().chain(&result.held_back) {
            prop_assert!(used.insert(*position), "{position} is handled twice");
        }
        prop_assert!(result.open.len() <= limit.saturating_sub(result.keep.len()));
        prop_assert_eq!(used.len() + result.remaining, plan.steps.len());
    }

    #[test]
    fn reconciling_again_after_the_result_was_stored_changes_nothing(
        (before, earlier, after, fates, limit) in situation(),
    ) {
        let state = Accepted::from_desired(&made_up(&before), &Owner::Repository("ours".to_owned()));
        let (offered, declined) = earlier_decisions(&plan_between(&state, &made_up(&earlier)).steps, &fates);
        let plan = plan_between(&state, &made_up(&after));
        let first = reconcile(&plan, &offered, &declined, &state, &cap(limit));
        let kept = offered.iter().filter(|one| first.keep.iter().any(|(id, _)| *id == one.id)).cloned();
        let opened = first.open.iter().map(|position| opened(&plan.steps[*position], Status::PendingApproval));
        let stored: Vec<ExistingProposal> = kept.chain(opened).collect();
        let second = reconcile(&plan, &stored, &declined, &state, &cap(limit));
        prop_assert_eq!((second.close, second.open), (vec![], vec![]));
        prop_assert_eq!(second.keep.len(), stored.len());
    }
}
