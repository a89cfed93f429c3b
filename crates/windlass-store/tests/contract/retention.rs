//! What is forgotten in time, and what never is.

use windlass_core::digest::Digest;
use windlass_core::event::{NewEvent, Severity};
use windlass_core::proposal::{Approval, Status};
use windlass_core::repository::Repository;
use windlass_core::run::{Run, RunStatus};
use windlass_store::{EventFilter, EventOrder, Moved, new_id};

use crate::proposals::moved;
use crate::world::{World, at, event, on_both};

/// A finished run of a moment, with a status.
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
fn old_runs_go_but_not_the_last_the_last_good_the_failed_and_those_still_open() {
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
        writing.repository_good(&fleet.id, &good.id, "c0ffee", at(10)).await.unwrap();
        writing.repository_ran(&fleet.id, &last.id, "success", None, at(10)).await.unwrap();
        assert_eq!(writing.runs_forget(at(20), at(5)).await.unwrap(), 3);
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
fn closed_proposals_go_with_their_approvals_when_no_run_names_them() {
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
            let moved = Moved { at: at(10), ..moved(from, to) };
            assert!(writing.proposal_move(&proposals[index].id, &moved).await.unwrap());
        }
        for proposal in &proposals {
            let approval = Approval {
                approver: "ada".to_owned(),
                digest: Digest::of(b"d"),
                reason: None,
                at: at(1),
                set_id: None,
                fallen: None,
            };
            writing.approvals_add(&[(&proposal.id, approval)]).await.unwrap();
        }
        writing.run_proposals_add(&[(&named.id, &proposals[3].id, 0)]).await.unwrap();
        assert_eq!(writing.proposals_forget(at(20), at(20)).await.unwrap(), 0, "the old run names them");
        forget_run(&mut writing, &old.id).await;
        assert_eq!(writing.proposals_forget(at(20), at(5)).await.unwrap(), 1);
        for (proposal, is_kept) in proposals.iter().zip([false, true, true, true]) {
            let name = &proposal.change.key.name;
            assert_eq!(writing.proposal(&acme, &proposal.id).await.unwrap().is_some(), is_kept, "{name}");
            assert_eq!(writing.approvals(&proposal.id).await.unwrap().len(), usize::from(is_kept), "{name}");
        }
        assert_eq!(writing.proposals_forget(at(20), at(20)).await.unwrap(), 1, "the failed one");
    });
}

/// The run is kept while a proposal of it is open; here that one is another run's too.
async fn forget_run(writing: &mut windlass_store::Writing, run_id: &str) {
    let open: Vec<String> = writing
        .run_proposals(run_id)
        .await
        .unwrap()
        .into_iter()
        .filter(|proposal| proposal.status.is_open())
        .map(|proposal| proposal.id)
        .collect();
    assert_eq!(writing.runs_forget(at(20), at(20)).await.unwrap(), 0, "it has an open proposal");
    for id in &open {
        let expired = moved(Status::PendingApproval, Status::Expired);
        let late = Moved { at: at(50), ..expired };
        assert!(writing.proposal_move(id, &late).await.unwrap());
    }
    assert_eq!(writing.runs_forget(at(20), at(20)).await.unwrap(), 1);
}

#[test]
fn events_that_matter_more_are_kept_for_longer_and_numbers_go_on() {
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
        assert_eq!(writing.events_forget(at(10), at(5)).await.unwrap(), 3);
        writing.commit().await.unwrap();
        world.events(&acme, &["next"]).await;
        let mut reading = world.store.read().await.unwrap();
        let order = EventOrder::OldestAfter(0);
        let kept = reading.events(&acme, &EventFilter::default(), order, 9).await.unwrap();
        let kept: Vec<(i64, &str)> = kept.iter().map(|event| (event.seq, event.message.as_str())).collect();
        assert_eq!(kept, [(3, "high"), (4, "critical"), (6, "young"), (7, "next")]);
    });
}
