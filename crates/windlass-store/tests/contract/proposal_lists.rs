//! Listing and counting proposals.

use windlass_core::diff::{Action, Cause};
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::proposal::{Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::Kind;
use windlass_core::run::Run;
use windlass_store::{PlanCursor, ProposalFilter, ProposalMove, ProposalPosition, ProposalSource};

use crate::proposals::moved;
use crate::world::{World, at, node_key, on_both};

struct Scene {
    acme: AccountId,
    fleet: Repository,
    run: Run,
    proposals: Vec<Proposal>,
}

/// Four proposals of one run: pending, two approved, and rejected.
async fn scene(world: &World) -> Scene {
    let acme = world.account("acme").await;
    let fleet = world.repository(&acme, "fleet").await;
    let run = world.run(&fleet).await;
    let proposals = world.proposals(&run, &["a_b", "aXb", "100%", "gone"]).await;
    for (index, from, to) in [
        (1, Status::PendingApproval, Status::Approved),
        (2, Status::PendingApproval, Status::Approved),
        (3, Status::PendingApproval, Status::Rejected),
    ] {
        step(world, &proposals[index].id, &moved(from, to)).await;
    }
    Scene { acme, fleet, run, proposals }
}

async fn step(world: &World, id: &ProposalId, moved: &ProposalMove<'_>) {
    let mut writing = world.store.write().await.unwrap();
    assert!(writing.proposal_move(id, moved).await.unwrap());
    writing.commit().await.unwrap();
}

fn names(proposals: &[Proposal]) -> Vec<&str> {
    proposals.iter().map(|proposal| proposal.change.key.name.as_str()).collect()
}

#[test]
fn open_proposals_are_found_by_resource() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let keys = ["a_b", "gone", "100%", "none"].map(node_key);
        let mut reading = world.store.read().await.unwrap();
        let mut found = reading.proposals_about(&scene.acme, &keys).await.unwrap();
        found.sort();
        let expected = [
            (node_key("100%"), scene.proposals[2].id.clone()),
            (node_key("a_b"), scene.proposals[0].id.clone()),
        ];
        assert_eq!(found, expected);
        let other = world.account("other").await;
        assert_eq!(world.store.read().await.unwrap().proposals_about(&other, &keys).await.unwrap(), []);
    });
}

#[test]
fn every_filter_finds_matching_proposals_newest_first() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let other = world.repository(&scene.acme, "other").await;
        let other_run = world.run(&other).await;
        world.proposals(&other_run, &["theirs"]).await;
        let text = |text: &str| Some(text.to_owned());
        let all = ProposalFilter::default;
        let mut reading = world.store.read().await.unwrap();
        for (filter, expected) in [
            (all(), &["theirs", "gone", "100%", "aXb", "a_b"][..]),
            (
                ProposalFilter { statuses: vec![Status::Approved, Status::Rejected], ..all() },
                &["gone", "100%", "aXb"],
            ),
            (ProposalFilter { run_id: Some(other_run.id.clone()), ..all() }, &["theirs"]),
            (
                ProposalFilter { source: Some(ProposalSource::Repository(other.id.clone())), ..all() },
                &["theirs"],
            ),
            (ProposalFilter { kind: Some(Kind::Template), ..all() }, &[]),
            (ProposalFilter { name: text("a_b"), kind: Some(Kind::Node), ..all() }, &["a_b"]),
            (ProposalFilter { search: text("A_B"), ..all() }, &["a_b"]),
            (ProposalFilter { search: text("%"), ..all() }, &["100%"]),
        ] {
            let found = reading.proposals(&scene.acme, &filter, None, 9).await.unwrap();
            assert_eq!(names(&found), expected, "{filter:?}");
        }
        let before = Some(&scene.proposals[2].id);
        let page = reading.proposals(&scene.acme, &ProposalFilter::default(), before, 1).await.unwrap();
        assert_eq!(names(&page), ["aXb"]);
    });
}

#[test]
fn proposals_in_order_are_sorted_by_run_and_position_and_pages_are_complete() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let later = world.run(&scene.fleet).await;
        let newer = world.proposals(&later, &["n1", "n2"]).await;
        let mut writing = world.store.write().await.unwrap();
        let placed = |id, position, waits_for: &str| ProposalPosition {
            id,
            position,
            cause: Cause::Edited,
            waits_for: vec![waits_for.to_owned()],
            blocked_by: Vec::new(),
        };
        let places = [placed(&newer[0].id, 5, "node n2"), placed(&newer[1].id, 1, "node n22")];
        writing.proposals_set_positions(&places).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let all = ProposalFilter::default();
        let whole = reading.proposals_in_order(&scene.acme, &all, None, 99).await.unwrap();
        assert_eq!(names(&whole), ["n2", "n1", "a_b", "aXb", "100%", "gone"]);
        assert_eq!(reading.proposals_matching(&scene.acme, &all).await.unwrap(), 6);
        let (mut after, mut paged) = (None, Vec::new());
        while let Some(next) =
            reading.proposals_in_order(&scene.acme, &all, after.as_ref(), 1).await.unwrap().pop()
        {
            after = Some(PlanCursor {
                run_id: next.run_id.clone(),
                position: next.position,
                id: next.id.clone(),
            });
            paged.push(next);
        }
        assert_eq!(names(&paged), names(&whole));
        let waiting = ProposalFilter { waits_for: Some("node n2".to_owned()), ..all };
        assert_eq!(names(&reading.proposals_in_order(&scene.acme, &waiting, None, 9).await.unwrap()), ["n1"]);
        for (change, count) in [(Action::Create, 6), (Action::Update, 0), (Action::Destroy, 0)] {
            let filter = ProposalFilter { change: Some(change), ..ProposalFilter::default() };
            assert_eq!(reading.proposals_matching(&scene.acme, &filter).await.unwrap(), count, "{change}");
        }
        let tally = reading.proposals_tally(&scene.acme).await.unwrap();
        assert_eq!(tally.len(), 1, "{tally:?}");
        assert_eq!((tally[0].kind, tally[0].change.as_str(), tally[0].count), (Kind::Node, "create", 5));
    });
}

#[test]
fn the_proposals_of_a_run_are_in_the_order_of_its_plan() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let later = world.run(&scene.fleet).await;
        let mut writing = world.store.write().await.unwrap();
        for (position, index) in [(0, 2), (1, 0), (2, 1)] {
            let id = &scene.proposals[index].id;
            writing.run_proposals_add(&[(&later.id, id, position)]).await.unwrap();
        }
        assert_eq!(names(&writing.run_proposals(&later.id).await.unwrap()), ["100%", "a_b", "aXb"]);
        assert_eq!(
            names(&writing.run_proposals(&scene.run.id).await.unwrap()),
            ["a_b", "aXb", "100%", "gone"]
        );
    });
}

#[test]
fn open_approved_and_counted_proposals_match_their_states() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let quiet = world.account("quiet").await;
        let mut writing = world.store.write().await.unwrap();
        let id = &scene.proposals[1].id;
        let placed = ProposalPosition {
            id,
            position: 9,
            cause: Cause::Edited,
            waits_for: Vec::new(),
            blocked_by: Vec::new(),
        };
        writing.proposals_set_positions(&[placed]).await.unwrap();
        let open = writing.proposals_open_of(&scene.fleet.id).await.unwrap();
        let open: Vec<_> = open.iter().map(|it| (it.key.name.as_str(), it.status)).collect();
        let expected =
            [("a_b", Status::PendingApproval), ("aXb", Status::Approved), ("100%", Status::Approved)];
        assert_eq!(open, expected);
        let first = writing.proposals_to_apply(&scene.acme, None, 1).await.unwrap();
        assert_eq!(names(&first), ["100%"]);
        let turn = first[0].apply_order();
        let rest = writing.proposals_to_apply(&scene.acme, Some(&turn), 10).await.unwrap();
        assert_eq!(names(&rest), ["aXb"]);
        assert_eq!(writing.accounts_to_apply().await.unwrap(), std::slice::from_ref(&scene.acme));
        let mut counts = writing.proposals_count(&scene.acme).await.unwrap();
        counts.sort();
        assert_eq!(counts, [(Status::PendingApproval, 1), (Status::Approved, 2)]);
        assert_eq!(writing.proposals_count(&quiet).await.unwrap(), []);
    });
}

#[test]
fn expired_proposals_are_found_and_closed_ones_are_not() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.proposals_expired(at(999)).await.unwrap(), []);
        let expired = reading.proposals_expired(at(1000)).await.unwrap();
        let expected = [0, 1, 2].map(|index| (scene.acme.clone(), scene.proposals[index].id.clone()));
        assert_eq!(expired, expected);
    });
}

#[test]
fn a_rejection_counts_until_a_later_proposal_for_the_resource() {
    on_both(|world| async move {
        let scene = scene(&world).await;
        let mut reading = world.store.read().await.unwrap();
        let found = reading.proposals_rejected(&scene.fleet.id).await.unwrap();
        assert_eq!((found.len(), &found[0].key, found[0].until_change), (1, &node_key("gone"), false));
        assert_eq!((found[0].base, found[0].desired), (None, scene.proposals[3].change.desired));
        let again = world.proposals(&scene.run, &["gone"]).await.remove(0);
        assert_eq!(reading.proposals_rejected(&scene.fleet.id).await.unwrap(), []);
        let rejected =
            ProposalMove { until_change: true, ..moved(Status::PendingApproval, Status::Rejected) };
        step(&world, &again.id, &rejected).await;
        let found = reading.proposals_rejected(&scene.fleet.id).await.unwrap();
        assert_eq!((found.len(), found[0].until_change), (1, true));
    });
}

#[test]
fn proposals_of_other_repositories_are_found_with_specs_that_may_claim_addresses() {
    on_both(|world| async move {
        let (acme, globex) = (world.account("acme").await, world.account("globex").await);
        let fleet = world.repository(&acme, "fleet").await;
        let other = world.repository(&acme, "other").await;
        let elsewhere = world.repository(&globex, "fleet").await;
        for repository in [&fleet, &other, &elsewhere] {
            let run = world.run(repository).await;
            let closed = world.proposals(&run, &["open", "closed"]).await.remove(1);
            let mut writing = world.store.write().await.unwrap();
            let ends = moved(Status::PendingApproval, Status::Rejected);
            assert!(writing.proposal_move(&closed.id, &ends).await.unwrap());
            writing.commit().await.unwrap();
        }
        let mut reading = world.store.read().await.unwrap();
        let found = reading.proposals_open_of_others(&acme, Some(&fleet.id)).await.unwrap();
        let found_names: Vec<_> =
            found.iter().map(|it| (it.repository_name.as_str(), it.key.name.as_str())).collect();
        assert_eq!(found_names, [("other", "open")]);
        assert!(found[0].spec.is_none(), "a node claims no addresses");
        assert_eq!(reading.proposals_open_of_others(&acme, None).await.unwrap().len(), 2);
        drop(reading);
        world.tamper("UPDATE proposals SET kind = 'network'").await;
        world.tamper("UPDATE contents SET body = '{\"cidr\":\"10.0.0.0/8\"}'").await;
        let mut reading = world.store.read().await.unwrap();
        let found = reading.proposals_open_of_others(&acme, Some(&fleet.id)).await.unwrap();
        assert!(found[0].spec.is_some());
    });
}
