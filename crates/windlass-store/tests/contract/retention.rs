//! What retention deletes, and what it keeps.

use windlass_core::digest::Digest;
use windlass_core::event::{NewEvent, Severity};
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::{Approval, Status};
use windlass_core::repository::Repository;
use windlass_core::run::{Run, RunStatus};
use windlass_store::{EventFilter, EventOrder, ProposalMove, RowBudget, new_id};

use crate::proposals::moved;
use crate::world::{World, at, event, on_both, plenty};

/// A finished run with a creation time and a status.
async fn run(world: &World, repository: &Repository, second: i64, status: RunStatus) -> Run {
    let mut run = Run::queued(new_id(), repository, at(second));
    run.status = RunStatus::InProgress;
    let mut writing = world.store.write().await.unwrap();
    assert!(writing.run_add(&run).await.unwrap());
    run.status = status;
    assert!(writing.run_finish(&run).await.unwrap());
    writing.commit().await.unwrap();
    run
}

#[test]
fn old_runs_are_deleted_except_last_last_good_failed_and_open_ones() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let plain = run(&world, &fleet, 10, RunStatus::Applied).await;
        let failed = run(&world, &fleet, 10, RunStatus::Failed).await;
        let very_old = run(&world, &fleet, 1, RunStatus::Partial).await;
        let open = run(&world, &fleet, 10, RunStatus::DiffReady).await;
        let closed = run(&world, &fleet, 10, RunStatus::DiffReady).await;
        let good = run(&world, &fleet, 10, RunStatus::Success).await;
        let last = run(&world, &fleet, 10, RunStatus::Success).await;
        let young = run(&world, &fleet, 20, RunStatus::Applied).await;
        world.proposals(&open, &["edge"]).await;
        let done = world.proposals(&closed, &["done"]).await.remove(0);
        let queued = Run::queued(new_id(), &fleet, at(0));
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.run_add(&queued).await.unwrap());
        let rejected = moved(Status::PendingApproval, Status::Rejected);
        assert!(writing.proposal_move(&done.id, &rejected).await.unwrap());
        writing.repository_set_last_good(&fleet.id, &good.id, "c0ffee", at(10)).await.unwrap();
        writing.repository_record_run(&fleet.id, &last.id, RunStatus::Success, None, at(10)).await.unwrap();
        assert_eq!(writing.runs_delete_old(at(20), at(5), &mut plenty()).await.unwrap(), 3);
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        for (run, is_kept) in [
            (&plain, false),
            (&very_old, false),
            (&closed, false),
            (&failed, true),
            (&open, true),
            (&good, true),
            (&last, true),
            (&young, true),
            (&queued, true),
        ] {
            let found = reading.run(&acme, &run.id).await.unwrap();
            assert_eq!(found.is_some(), is_kept, "{:?} of {:?}", run.status, run.created_at);
        }
    });
}

#[test]
fn closed_proposals_without_a_run_are_deleted_with_their_approvals() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let old = run(&world, &fleet, 1, RunStatus::Applied).await;
        let named = run(&world, &fleet, 90, RunStatus::Applied).await;
        let proposals = world.proposals(&old, &["rejected", "failed", "open", "named"]).await;
        let mut writing = world.store.write().await.unwrap();
        for (index, from, to) in [
            (0, Status::PendingApproval, Status::Rejected),
            (1, Status::PendingApproval, Status::Approved),
            (1, Status::Approved, Status::Failed),
            (3, Status::PendingApproval, Status::Expired),
        ] {
            let moved = ProposalMove { at: at(10), ..moved(from, to) };
            assert!(writing.proposal_move(&proposals[index].id, &moved).await.unwrap());
        }
        for proposal in &proposals {
            let approval = Approval {
                approver: "ada".to_owned(),
                digest: Digest::of(b"d"),
                reason: None,
                at: at(1),
                set_id: None,
                lapsed: None,
            };
            writing.approvals_add(&[(&proposal.id, approval)]).await.unwrap();
        }
        writing.run_proposals_add(&[(&named.id, &proposals[3].id, 0)]).await.unwrap();
        assert_eq!(
            writing.proposals_delete_old(at(20), at(20), &mut plenty()).await.unwrap(),
            0,
            "the old run names them"
        );
        delete_run(&mut writing, &old.id).await;
        assert_eq!(writing.proposals_delete_old(at(20), at(5), &mut plenty()).await.unwrap(), 1);
        for (proposal, is_kept) in proposals.iter().zip([false, true, true, true]) {
            let name = &proposal.change.key.name;
            assert_eq!(writing.proposal(&acme, &proposal.id).await.unwrap().is_some(), is_kept, "{name}");
            assert_eq!(writing.approvals(&proposal.id).await.unwrap().len(), usize::from(is_kept), "{name}");
        }
        assert_eq!(
            writing.proposals_delete_old(at(20), at(20), &mut plenty()).await.unwrap(),
            1,
            "the failed one"
        );
    });
}

/// Deletes a run. It is kept while it has an open proposal, so this closes the open ones first.
async fn delete_run(writing: &mut windlass_store::Writing, run_id: &RunId) {
    let open: Vec<ProposalId> = writing
        .run_proposals(run_id)
        .await
        .unwrap()
        .into_iter()
        .filter(|proposal| proposal.status.is_open())
        .map(|proposal| proposal.id)
        .collect();
    assert_eq!(
        writing.runs_delete_old(at(20), at(20), &mut plenty()).await.unwrap(),
        0,
        "it has an open proposal"
    );
    for id in &open {
        let expired = moved(Status::PendingApproval, Status::Expired);
        let late = ProposalMove { at: at(50), ..expired };
        assert!(writing.proposal_move(id, &late).await.unwrap());
    }
    assert_eq!(writing.runs_delete_old(at(20), at(20), &mut plenty()).await.unwrap(), 1);
}

#[test]
fn severe_events_are_kept_longer_and_numbers_continue() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        for (message, severity, second) in [
            ("low", Severity::Low, 1),
            ("medium", Severity::Medium, 9),
            ("high", Severity::High, 9),
            ("critical", Severity::Critical, 9),
            ("ancient", Severity::Critical, 1),
            ("young", Severity::Low, 10),
        ] {
            writing.event(NewEvent { severity, at: at(second), ..event(message) });
        }
        writing.commit().await.unwrap();
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.events_delete_old(at(10), at(5), &mut plenty()).await.unwrap(), 3);
        writing.commit().await.unwrap();
        world.events(&acme, &["next"]).await;
        let mut reading = world.store.read().await.unwrap();
        let order = EventOrder::OldestAfter(0);
        let kept = reading.events(&acme, &EventFilter::default(), order, 9).await.unwrap();
        let kept: Vec<(i64, &str)> = kept.iter().map(|event| (event.seq, event.message.as_str())).collect();
        assert_eq!(kept, [(3, "high"), (4, "critical"), (6, "young"), (7, "next")]);
    });
}

/// The tables that [`fill`] writes to.
const FILLED: [&str; 7] =
    ["sync_runs", "run_proposals", "proposals", "approvals", "plans", "plan_steps", "events"];

/// Adds old runs with proposals, approvals and plans, and old events: more rows than a small budget allows. And one
/// young event.
async fn fill(world: &World) {
    let acme = world.account("acme").await;
    let fleet = world.repository(&acme, "fleet").await;
    for number in 0..3 {
        let old = run(world, &fleet, 1, RunStatus::Applied).await;
        let names: Vec<String> = (0..12).map(|name| format!("edge-{number}-{name}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        world.proposals(&old, &names).await;
        let (id, account) = (&old.id, &acme);
        world
            .tamper(&format!(
                "INSERT INTO plans (id, account_id, repository_id, run_id, digest, steps, sets, created_at) \
                 VALUES ('{id}', '{account}', '{}', '{id}', 'd', 0, '[]', 0)",
                fleet.id
            ))
            .await;
        for position in 0..4 {
            let steps = format!("INSERT INTO plan_steps VALUES ('{id}', {position}, '[]')");
            world.tamper(&steps).await;
        }
    }
    let closed = format!("UPDATE proposals SET status = 'rejected', closed_at = {}", at(2).as_millis());
    world.tamper(&closed).await;
    for approver in ["ada", "bob"] {
        let approve = "INSERT INTO approvals (proposal_id, approver, digest, at) SELECT id, ";
        world.tamper(&format!("{approve} '{approver}', 'd', 0 FROM proposals")).await;
    }
    let mut writing = world.store.write_account(&acme).await.unwrap();
    (0..25).for_each(|_| writing.event(NewEvent { at: at(1), ..event("old") }));
    writing.event(NewEvent { at: at(90), ..event("young") });
    writing.commit().await.unwrap();
}

async fn rows(world: &World) -> Vec<usize> {
    let mut rows = Vec::new();
    for table in FILLED {
        let sql = format!("SELECT CAST(COUNT(*) AS TEXT) AS answer FROM {table}");
        rows.push(world.ask(&sql).await[0].parse().unwrap());
    }
    rows
}

/// One transaction of a clean-up.
async fn delete_batch(world: &World, budget: &mut RowBudget) {
    let (old, mut writing) = (at(50), world.store.write().await.unwrap());
    writing.runs_delete_old(old, old, budget).await.unwrap();
    writing.plans_delete_old(old, budget).await.unwrap();
    writing.proposals_delete_old(old, old, budget).await.unwrap();
    writing.events_delete_old(old, old, budget).await.unwrap();
    writing.commit().await.unwrap();
}

#[test]
fn a_batch_deletes_at_most_its_budget_and_repeated_batches_delete_all_old_rows() {
    on_both(|world| async move {
        fill(&world).await;
        let (limit, whole_plan) = (10, 4);
        let mut batches = 0;
        loop {
            let before: usize = rows(&world).await.iter().sum();
            let mut budget = RowBudget::new(limit);
            delete_batch(&world, &mut budget).await;
            let deleted = before - rows(&world).await.iter().sum::<usize>();
            assert!(deleted <= limit + whole_plan, "{deleted} rows in one transaction");
            batches += 1;
            if !budget.is_spent() {
                break;
            }
            assert!(deleted > 0, "a spent budget was spent on something");
        }
        // 3 runs, 36 members, 36 proposals, 72 approvals, 3 plans of 4 steps and 25 events are 187 rows.
        assert!((16..=20).contains(&batches), "{batches} batches");
        assert_eq!(rows(&world).await, [0, 0, 0, 0, 0, 0, 1], "the young event alone is left");
        let mut budget = RowBudget::new(limit);
        delete_batch(&world, &mut budget).await;
        assert_eq!(rows(&world).await.iter().sum::<usize>(), 1, "nothing is left to delete");
    });
}

#[test]
fn one_large_batch_deletes_the_same_as_many_small_ones() {
    on_both(|world| async move {
        fill(&world).await;
        let mut budget = plenty();
        delete_batch(&world, &mut budget).await;
        assert!(!budget.is_spent());
        assert_eq!(rows(&world).await, [0, 0, 0, 0, 0, 0, 1]);
    });
}
