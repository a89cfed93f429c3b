//! Proposals: states, edits and approvals.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::diff::{Cause, Change};
use windlass_core::digest::Digest;
use windlass_core::gate::{Contributor, ContributorRole, Contributors, ContributorsGap};
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::proposal::{Approval, BlockedBy, CloseReason, Edit, Proposal, Status};
use windlass_core::run::ProposalOutcomes;
use windlass_store::{ProposalMove, ProposalPosition, StoreError};

use crate::world::{World, at, node, node_key, on_both, proposal};

pub(crate) fn moved(from: Status, to: Status) -> ProposalMove<'static> {
    ProposalMove { from, to, reason: None, decided_by: None, until_change: false, at: at(9) }
}

#[test]
fn a_proposal_is_read_as_it_was_opened() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = world.run(&fleet).await;
        let (eu, us) = (Arc::new(node("eu")), Arc::new(node("us")));
        let change =
            |cause, before: Option<&Arc<_>>, after: Option<&Arc<windlass_core::resource::Spec>>| Change {
                key: node_key(&format!("{cause:?}").to_lowercase()),
                cause,
                base: before.map(|spec: &Arc<windlass_core::resource::Spec>| spec.digest()),
                before: before.cloned(),
                desired: after.map(|spec| spec.digest()),
                after: after.cloned(),
            };
        let changes = [
            change(Cause::Declared, None, Some(&eu)),
            change(Cause::Edited, Some(&eu), Some(&us)),
            change(Cause::Adopted, Some(&eu), Some(&eu)),
            change(Cause::Contested, Some(&eu), Some(&us)),
            change(Cause::Removed, Some(&us), None),
        ];
        let opened: Vec<Proposal> = changes
            .into_iter()
            .enumerate()
            .map(|(position, change)| Proposal { change, ..proposal(&run, position, "x") })
            .collect();
        let mut writing = world.store.write().await.unwrap();
        writing.proposals_add(&opened).await.unwrap();
        for expected in &opened {
            let found = writing.proposal(&acme, &expected.id).await.unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            assert_eq!(found.content_digest(), expected.content_digest());
        }
        assert_eq!(writing.run_proposals(&run.id).await.unwrap().len(), 5);
    });
}

#[test]
fn a_resource_of_a_repository_has_one_open_proposal() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (fleet, other) = (world.repository(&acme, "fleet").await, world.repository(&acme, "other").await);
        let (run, theirs) = (world.run(&fleet).await, world.run(&other).await);
        let first = world.proposals(&run, &["edge"]).await.remove(0);
        world.proposals(&theirs, &["edge"]).await;
        for (from, to) in [(Status::PendingApproval, Status::Approved), (Status::Approved, Status::Failed)] {
            let mut writing = world.store.write().await.unwrap();
            let refused = writing.proposals_add(&[proposal(&run, 1, "edge")]).await;
            assert!(matches!(refused, Err(StoreError::Taken(_))), "{from}: {refused:?}");
            drop(writing);
            let mut writing = world.store.write().await.unwrap();
            assert!(writing.proposal_move(&first.id, &moved(from, to)).await.unwrap());
            writing.commit().await.unwrap();
        }
        world.proposals(&run, &["edge"]).await;
    });
}

#[test]
fn a_proposal_moves_only_from_the_given_state() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let mut writing = world.store.write().await.unwrap();
        let approved = ProposalMove {
            decided_by: Some("ada"),
            at: at(5),
            ..moved(Status::PendingApproval, Status::Approved)
        };
        assert!(writing.proposal_move(&id, &approved).await.unwrap());
        assert!(!writing.proposal_move(&id, &approved).await.unwrap());
        assert!(!writing.proposal_move(&ProposalId::new("nothing"), &approved).await.unwrap());
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!((found.status, found.version, found.closed_at), (Status::Approved, 2, None));
        assert_eq!((found.decided_by.as_deref(), found.decided_at), (Some("ada"), Some(at(5))));
        assert_eq!(found.blocked_by.len(), 1);

        let reason = CloseReason::ApplyFailed { error: "no".to_owned() };
        let failed =
            ProposalMove { reason: Some(&reason), at: at(7), ..moved(Status::Approved, Status::Failed) };
        assert!(writing.proposal_move(&id, &failed).await.unwrap());
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!((found.status, found.reason), (Status::Failed, Some(reason)));
        assert_eq!((found.decided_by.as_deref(), found.decided_at), (Some("ada"), Some(at(5))));
        assert_eq!((found.closed_at, found.blocked_by, found.version), (Some(at(7)), Vec::new(), 3));
    });
}

#[test]
fn an_edit_is_stored_only_for_the_version_it_was_made_for() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let spec = Arc::new(node("us"));
        let edit = Edit { digest: spec.digest(), spec, by: "bob".to_owned() };
        let mut people: Contributors =
            ["bob", "cy"].iter().filter_map(|who| Contributor::new(ContributorRole::Editor, who)).collect();
        people.note_gap(ContributorsGap::SourceChanged);
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.proposal_edit(&id, 1, Some(&edit), &people).await.unwrap());
        assert!(!writing.proposal_edit(&id, 1, None, &people).await.unwrap());
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!(found.effective_digest(), Some(edit.digest));
        assert_eq!(found.effective().unwrap().digest(), edit.digest);
        assert_eq!((found.edit.unwrap().by.as_str(), found.version), ("bob", 2));
        assert!(writing.proposal_edit(&id, 2, None, &people).await.unwrap());
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert!(found.edit.is_none());
        let ada = Contributor::new(ContributorRole::Author, "ada@example.com").unwrap();
        assert_eq!(
            found.contributors.people(),
            [people.people(), &[ada]].concat(),
            "every editor is remembered"
        );
        assert_eq!(found.contributors.gap(), Some(ContributorsGap::SourceChanged));
        assert_eq!(found.effective_digest(), Some(node("eu").digest()));
        let approved = moved(Status::PendingApproval, Status::Approved);
        assert!(writing.proposal_move(&id, &approved).await.unwrap());
        assert!(
            !writing.proposal_edit(&id, 4, Some(&edit), &people).await.unwrap(),
            "it is not pending any more"
        );
    });
}

#[test]
fn text_reasons_of_an_earlier_version_are_read_and_replaced() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let (blocked, reason) = ("template x does not exist yet", "git changed since this was proposed");
        world
            .tamper(&format!("UPDATE proposals SET blocked_by = '[\"{blocked}\"]', reason = '{reason}'"))
            .await;
        let mut writing = world.store.write().await.unwrap();
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!(found.blocked_by, [BlockedBy::Text(blocked.to_owned())]);
        assert_eq!(found.reason, Some(CloseReason::Text { text: reason.to_owned() }));
        let more = vec![BlockedBy::More { count: 2 }];
        writing.proposals_set_blockers(&[(id.clone(), more.clone())]).await.unwrap();
        assert_eq!(writing.proposal(&acme, &id).await.unwrap().unwrap().blocked_by, more);
    });
}

#[test]
fn position_and_dependencies_follow_the_newest_plan() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let (first, second) = (world.run(&fleet).await, world.run(&fleet).await);
        let id = world.proposals(&first, &["edge"]).await.remove(0).id;
        let mut writing = world.store.write().await.unwrap();
        let (waits, blocked) =
            (["node \"a\"".to_owned()], [BlockedBy::MissingPlatform { platform: "it's".to_owned() }]);
        let placed = ProposalPosition {
            id: &id,
            position: 4,
            cause: Cause::Adopted,
            waits_for: waits.to_vec(),
            blocked_by: blocked.to_vec(),
        };
        writing.proposals_set_positions(&[placed]).await.unwrap();
        for _ in 0..2 {
            writing.run_proposals_add(&[(&second.id, &id, 4)]).await.unwrap();
        }
        let found = writing.proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!(
            (found.position, found.change.cause, found.waits_for, found.blocked_by),
            (4, Cause::Adopted, waits.to_vec(), blocked.to_vec())
        );
        assert_eq!((found.version, found.run_id), (1, Some(first.id.clone())));
        writing.proposals_set_blockers(&[(id.clone(), Vec::new())]).await.unwrap();
        assert!(writing.proposal(&acme, &id).await.unwrap().unwrap().blocked_by.is_empty());
        let runs = writing.runs_of_proposals(&[&id]).await.unwrap();
        assert_eq!(runs, BTreeSet::from([first.id, second.id.clone()]));
        assert_eq!(writing.run_outcomes(&acme, &second.id).await.unwrap(), ProposalOutcomes::Open);
        writing.proposal_move(&id, &moved(Status::PendingApproval, Status::Withdrawn)).await.unwrap();
        let closed = ProposalOutcomes::Closed { all: 1, applied: 0, applied_manually: 0, failed: 0 };
        assert_eq!(writing.run_outcomes(&acme, &second.id).await.unwrap(), closed);
    });
}

#[test]
fn a_repeated_approval_counts_once_and_for_one_content() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let given = |approver: &str, digest: &str, second: i64| Approval {
            approver: approver.to_owned(),
            digest: Digest::of(digest.as_bytes()),
            reason: Some("fine".to_owned()),
            at: at(second),
            set_id: None,
            lapsed: None,
        };
        let mut writing = world.store.write().await.unwrap();
        for approval in
            [given("b", "one", 2), given("b", "one", 9), given("a", "one", 3), given("b", "two", 1)]
        {
            writing.approvals_add(&[(&id, approval)]).await.unwrap();
        }
        let all = [given("b", "two", 1), given("b", "one", 2), given("a", "one", 3)];
        assert_eq!(writing.approvals(&id).await.unwrap(), all);
        assert_eq!(writing.approvals(&ProposalId::new("nothing")).await.unwrap(), []);
        let of_both = writing.approvals_of(&[&id, &ProposalId::new("nothing")]).await.unwrap();
        assert_eq!(of_both.into_iter().collect::<Vec<_>>(), [(id.clone(), all.to_vec())]);
        assert_eq!(writing.approvals_lapse(&AccountId::new("another"), "b", "they left").await.unwrap(), 0);
        assert_eq!(writing.approvals_lapse(&acme, "b", "they left").await.unwrap(), 2);
        let lapsed = |approval: Approval| Approval { lapsed: Some("they left".to_owned()), ..approval };
        let all = [lapsed(given("b", "two", 1)), lapsed(given("b", "one", 2)), given("a", "one", 3)];
        assert_eq!(writing.approvals(&id).await.unwrap(), all);
        writing.approvals_add(&[(&id, given("b", "one", 12))]).await.unwrap();
        let again = writing.approvals(&id).await.unwrap();
        assert_eq!(again.last(), Some(&given("b", "one", 12)), "what fell can be given again");
        let refused = writing.approvals_add(&[(&ProposalId::new("nothing"), given("a", "one", 1))]).await;
        assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
    });
}

#[test]
fn of_many_simultaneous_decisions_one_succeeds() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let tasks: Vec<_> = (0..16)
            .map(|number| {
                let (store, id, acme) = (world.store.clone(), id.clone(), acme.clone());
                tokio::spawn(async move {
                    let by = format!("person-{number}");
                    let to = if number % 2 == 0 { Status::Approved } else { Status::Rejected };
                    let moved = ProposalMove { decided_by: Some(&by), ..moved(Status::PendingApproval, to) };
                    // With and without the lock of the account: the check of the state works either way.
                    if number % 4 < 2 {
                        let mut writing = store.write_account(&acme).await.unwrap();
                        let did = writing.proposal_move(&id, &moved).await.unwrap();
                        writing.commit().await.unwrap();
                        did
                    } else {
                        let mut writing = store.write().await.unwrap();
                        let did = writing.proposal_move(&id, &moved).await.unwrap();
                        writing.commit().await.unwrap();
                        did
                    }
                })
            })
            .collect();
        assert_eq!(count_true(tasks).await, 1);
        assert_eq!(version(&world, &acme, &id).await, 2);
    });
}

async fn count_true(tasks: Vec<tokio::task::JoinHandle<bool>>) -> usize {
    let mut count = 0;
    for task in tasks {
        count += usize::from(task.await.unwrap());
    }
    count
}

async fn version(world: &World, account_id: &AccountId, id: &ProposalId) -> i64 {
    world.store.read().await.unwrap().proposal(account_id, id).await.unwrap().unwrap().version
}
