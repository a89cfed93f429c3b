//! Plans of runs, and approvals of their sets.

use windlass_core::diff::Cause;
use windlass_core::digest::Digest;
use windlass_core::gate::{Contributors, approval_digest};
use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::plan::{ChangeSet, SetScope, StoredPlan, StoredStep};
use windlass_core::proposal::{Approval, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::Kind;
use windlass_core::run::{Run, RunStatus};
use windlass_store::{ApprovalSet, PlanRecord, ProposalMove, UnopenedPlan, new_id};

use crate::world::{World, at, node, node_key, on_both, plenty};

fn stored(names: &[String]) -> StoredPlan {
    let step = |name: &String| StoredStep {
        kind: Kind::Node,
        name: name.clone(),
        cause: Cause::Declared,
        base: None,
        desired: Some(node("eu").digest()),
        group: Some(1),
        waits_for: vec!["template edge".to_owned()],
    };
    let set = |scope| ChangeSet {
        scope,
        digest: Digest::of(b"set"),
        kind: None,
        cause: None,
        count: names.len(),
        destroys: 0,
        names: Vec::new(),
    };
    let sets = vec![set(SetScope::Plan), set(SetScope::Group(Digest::of(b"signature")))];
    StoredPlan { steps: names.iter().map(step).collect(), sets }
}

fn record(run: &Run, plan: &StoredPlan, digest: &str) -> PlanRecord {
    PlanRecord {
        id: new_id(),
        account_id: run.account_id.clone(),
        repository_id: run.repository_id.clone(),
        run_id: run.id.clone(),
        parent_id: None,
        digest: Digest::of(digest.as_bytes()),
        steps: plan.steps.len(),
        sets: plan.sets.clone(),
        confirmed_commit: None,
        created_at: at(5),
    }
}

fn set_of(plan: &PlanRecord, scope: SetScope, approver: &str) -> ApprovalSet {
    ApprovalSet {
        id: new_id(),
        account_id: plan.account_id.clone(),
        repository_id: plan.repository_id.clone(),
        plan_id: plan.id.clone(),
        scope,
        digest: Digest::of(b"set"),
        members: 3,
        destroys: 1,
        approver: approver.to_owned(),
        reason: Some("reviewed".to_owned()),
        at: at(6),
        lapsed: None,
    }
}

async fn good_run(world: &World, repository: &Repository) -> Run {
    let run = world.run(repository).await;
    let mut writing = world.store.write().await.unwrap();
    writing.repository_set_last_good(&repository.id, &run.id, "c0ffee", at(1)).await.unwrap();
    writing.commit().await.unwrap();
    run
}

#[test]
fn a_plan_is_read_completely_in_parts_and_by_run() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = good_run(&world, &fleet).await;
        let names: Vec<String> = (0..600).map(|number| format!("n-{number:03}")).collect();
        let (plan, smaller) = (stored(&names), stored(&names[..2]));
        let mut first = record(&run, &plan, "first");
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.plan_newest(&fleet.id).await.unwrap().is_none());
        writing.plan_add(&first, &plan).await.unwrap();
        writing.plan_confirm(&first.id, "c0ffee").await.unwrap();
        writing.run_set_plan(&run.id, Some(&first.id), Some(249)).await.unwrap();
        first.confirmed_commit = Some("c0ffee".to_owned());
        assert_eq!(writing.plan_newest(&fleet.id).await.unwrap(), Some(first.clone()));
        assert_eq!(writing.plan_of_run(&acme, &run.id).await.unwrap(), Some(first.clone()));
        assert_eq!(writing.plan_of_run(&AccountId::new("other"), &run.id).await.unwrap(), None);
        assert_eq!(writing.plan_steps(&first.id).await.unwrap(), plan.steps);
        for (from, expected) in [(0, 0..250), (249, 249..250), (250, 250..500), (599, 599..600), (600, 0..0)]
        {
            let part = writing.plan_steps_from(&first.id, from).await.unwrap();
            let positions: Vec<usize> = part.iter().map(|(position, _)| *position).collect();
            assert_eq!(positions, expected.collect::<Vec<_>>(), "from {from}");
            assert!(part.iter().all(|(position, step)| plan.steps[*position] == *step));
        }
        let mut second = record(&run, &smaller, "second");
        second.parent_id = Some(first.id.clone());
        writing.plan_add(&second, &smaller).await.unwrap();
        assert_eq!(writing.plan_newest(&fleet.id).await.unwrap(), Some(second.clone()));
        assert_eq!(writing.plan_steps(&first.id).await.unwrap(), [], "only the newest keeps its changes");
        assert_eq!(writing.plan_steps(&second.id).await.unwrap(), smaller.steps);
    });
}

#[test]
fn the_position_of_a_run_in_its_plan_advances_once() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let (older, run) = (good_run(&world, &fleet).await, good_run(&world, &fleet).await);
        let plan = stored(&["a".to_owned(), "b".to_owned()]);
        let record = record(&run, &plan, "plan");
        let mut writing = world.store.write().await.unwrap();
        writing.plan_add(&record, &plan).await.unwrap();
        for run in [&older, &run] {
            writing.run_set_plan(&run.id, Some(&record.id), Some(0)).await.unwrap();
        }
        let unopened = |next_position| UnopenedPlan {
            run_id: run.id.clone(),
            repository_id: fleet.id.clone(),
            plan_id: record.id.clone(),
            next_position,
        };
        assert_eq!(writing.plans_unopened(&acme).await.unwrap(), [unopened(0)], "of the last good run alone");
        assert_eq!(writing.accounts_to_apply().await.unwrap(), std::slice::from_ref(&acme));
        assert!(writing.run_record_opened(&unopened(0), 1, Some(1)).await.unwrap());
        assert!(!writing.run_record_opened(&unopened(0), 0, None).await.unwrap(), "someone else did");
        let found = writing.run(&acme, &run.id).await.unwrap().unwrap();
        assert_eq!(
            (found.remaining, found.next_position, found.plan_id),
            (1, Some(1), Some(record.id.clone()))
        );
        assert!(writing.run_record_opened(&unopened(1), 0, None).await.unwrap());
        assert_eq!(writing.plans_unopened(&acme).await.unwrap(), []);
        assert!(writing.accounts_to_apply().await.unwrap().is_empty());
    });
}

#[test]
fn an_approval_through_a_set_counts_until_the_set_lapses_and_can_be_given_again() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = good_run(&world, &fleet).await;
        let plan = stored(&["a".to_owned()]);
        let record = record(&run, &plan, "plan");
        let proposal = world.proposals(&run, &["a"]).await.remove(0);
        let set = set_of(&record, SetScope::Plan, "ada");
        let content = proposal.content_digest();
        let given = |set_id: Option<&ApprovalSet>| Approval {
            approver: "ada".to_owned(),
            digest: content,
            reason: None,
            at: at(7),
            set_id: set_id.map(|set| set.id.clone()),
            lapsed: None,
        };
        let mut writing = world.store.write().await.unwrap();
        writing.plan_add(&record, &plan).await.unwrap();
        writing.approval_set_add(&set).await.unwrap();
        writing.approvals_add(&[(&proposal.id, given(Some(&set)))]).await.unwrap();
        assert_eq!(writing.approvals(&proposal.id).await.unwrap(), [given(Some(&set))]);
        let used = writing.approval_sets_used(&[&set.id], &[content, Digest::of(b"other")]).await.unwrap();
        assert_eq!(used.into_iter().collect::<Vec<_>>(), [(set.id.clone(), content)]);
        assert!(writing.approval_set_lapse(&set.id, "the plan moved", at(8)).await.unwrap());
        assert!(!writing.approval_set_lapse(&set.id, "again", at(9)).await.unwrap());
        assert_eq!(writing.approvals(&proposal.id).await.unwrap(), [], "it does not count any more");
        let again = set_of(&record, SetScope::Plan, "ada");
        writing.approval_set_add(&again).await.unwrap();
        writing.approvals_add(&[(&proposal.id, given(Some(&again)))]).await.unwrap();
        assert_eq!(writing.approvals(&proposal.id).await.unwrap(), [given(Some(&again))]);
        writing.approvals_add(&[(&proposal.id, given(None))]).await.unwrap();
        writing.approval_set_lapse(&again.id, "the plan moved", at(9)).await.unwrap();
        assert_eq!(
            writing.approvals(&proposal.id).await.unwrap(),
            [given(None)],
            "given by itself, it stays"
        );
        writing.approvals_add(&[(&proposal.id, given(Some(&set)))]).await.unwrap();
        assert_eq!(writing.approvals(&proposal.id).await.unwrap(), [given(None)]);
    });
}

#[test]
fn approvals_of_sets_are_carried_over_lapse_and_are_kept() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = good_run(&world, &fleet).await;
        let plan = stored(&["a".to_owned()]);
        let (first, second) = (record(&run, &plan, "first"), record(&run, &plan, "second"));
        let whole = set_of(&first, SetScope::Plan, "ada");
        let group = set_of(&first, SetScope::Group(Digest::of(b"signature")), "bob");
        let mut writing = world.store.write().await.unwrap();
        writing.plan_add(&first, &plan).await.unwrap();
        writing.plan_add(&second, &plan).await.unwrap();
        writing.approval_set_add(&whole).await.unwrap();
        writing.approval_set_add(&group).await.unwrap();
        let in_force = writing.approval_sets_in_force(&fleet.id).await.unwrap();
        assert_eq!(in_force, [whole.clone(), group.clone()]);
        let of_bob = writing.approval_sets_in_force_by(&acme, "bob").await.unwrap();
        assert_eq!(of_bob, std::slice::from_ref(&group));
        assert_eq!(writing.approval_sets_in_force_by(&AccountId::new("another"), "bob").await.unwrap(), []);
        writing.approval_set_move_to_plan(&group.id, &second.id).await.unwrap();
        writing.approval_set_lapse(&whole.id, "the plan moved", at(8)).await.unwrap();
        let carried = ApprovalSet { plan_id: second.id.clone(), ..group };
        assert_eq!(writing.approval_sets_in_force(&fleet.id).await.unwrap(), std::slice::from_ref(&carried));
        assert_eq!(writing.approval_sets_of(&second.id).await.unwrap(), [carried]);
        let lapsed = ApprovalSet { lapsed: Some((at(8), "the plan moved".to_owned())), ..whole };
        assert_eq!(writing.approval_sets_of(&first.id).await.unwrap(), [lapsed]);
    });
}

#[test]
fn only_changes_applied_as_planned_are_returned_as_applied() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = world.run(&fleet).await;
        let proposals = world.proposals(&run, &["done", "edited", "open"]).await;
        let mut writing = world.store.write().await.unwrap();
        let edit = windlass_core::proposal::Edit {
            spec: std::sync::Arc::new(node("us")),
            digest: node("us").digest(),
            by: "ada".to_owned(),
        };
        assert!(
            writing.proposal_edit(&proposals[1].id, 1, Some(&edit), &Contributors::default()).await.unwrap()
        );
        for proposal in &proposals[..2] {
            let moved = |from, to| ProposalMove {
                from,
                to,
                reason: None,
                decided_by: None,
                until_change: false,
                at: at(2),
            };
            writing
                .proposal_move(&proposal.id, &moved(Status::PendingApproval, Status::Approved))
                .await
                .unwrap();
            writing.proposal_move(&proposal.id, &moved(Status::Approved, Status::Applied)).await.unwrap();
        }
        let steps = stored(&["done".to_owned(), "edited".to_owned(), "open".to_owned()]).steps;
        let applied = writing.steps_applied(&fleet.id, &steps).await.unwrap();
        let done = approval_digest(&node_key("done"), None, Some(node("eu").digest()));
        assert_eq!(applied.into_iter().collect::<Vec<_>>(), [done]);
        assert!(writing.steps_applied(&RepositoryId::new("other"), &steps).await.unwrap().is_empty());
    });
}

#[test]
fn old_plans_without_a_run_are_deleted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = good_run(&world, &fleet).await;
        let plan = stored(&["a".to_owned()]);
        let (first, second) = (record(&run, &plan, "first"), record(&run, &plan, "second"));
        let mut writing = world.store.write().await.unwrap();
        writing.plan_add(&first, &plan).await.unwrap();
        writing.plan_add(&second, &plan).await.unwrap();
        writing.run_set_plan(&run.id, Some(&second.id), None).await.unwrap();
        writing.plans_delete_old(at(5), &mut plenty()).await.unwrap();
        let ids = "SELECT id AS answer FROM plans ORDER BY id";
        writing.commit().await.unwrap();
        assert_eq!(world.ask(ids).await.len(), 2, "not old enough");
        let mut writing = world.store.write().await.unwrap();
        writing.plans_delete_old(at(6), &mut plenty()).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(world.ask(ids).await, [second.id.to_string()]);
    });
}

#[test]
fn only_the_newest_run_can_be_confirmed_and_only_if_it_failed() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let mut writing = world.store.write().await.unwrap();
        let confirmed = async |writing: &mut windlass_store::Writing, run: &str| {
            writing.repository_confirm_failure(&fleet.id, &RunId::new(run)).await.unwrap()
        };
        writing
            .repository_record_run(&fleet.id, &RunId::new("one"), RunStatus::Success, None, at(1))
            .await
            .unwrap();
        assert!(!confirmed(&mut writing, "one").await);
        writing
            .repository_record_run(&fleet.id, &RunId::new("two"), RunStatus::Failed, None, at(1))
            .await
            .unwrap();
        assert!(!confirmed(&mut writing, "two").await, "its changes failed, not the sync");
        writing
            .repository_record_run(&fleet.id, &RunId::new("three"), RunStatus::Failed, Some("gone"), at(1))
            .await
            .unwrap();
        assert!(!confirmed(&mut writing, "two").await);
        assert!(confirmed(&mut writing, "three").await);
        let found = writing.repository(&acme, fleet.id.as_str()).await.unwrap().unwrap();
        assert_eq!(found.confirmed_failure, Some(RunId::new("three")));
    });
}
