//! Direct changes that are open proposals, and who pushed which commit.

use windlass_core::gate::{Contributor, Contributors, ContributorsGap, MAX_PUSHERS};
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::proposal::{Proposal, Status};

use crate::proposals::moved;
use crate::world::{at, on_both, plenty, proposal};

/// A direct change of a node, as if a person of the account made it.
fn direct(template: &Proposal, account_id: &AccountId, owner_id: Option<&RepositoryId>) -> Proposal {
    Proposal {
        id: windlass_store::new_id(),
        account_id: account_id.clone(),
        repository_id: None,
        repository_name: String::new(),
        run_id: None,
        owner_id: owner_id.cloned(),
        direct_reason: Some("incident 12".to_owned()),
        ..template.clone()
    }
}

#[test]
fn an_account_has_one_open_direct_change_per_resource_and_it_is_in_no_run() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        let run = world.run(&fleet).await;
        let from_git = proposal(&run, 0, "edge");
        let mut writing = world.store.write().await.unwrap();
        let ours = direct(&from_git, &acme, Some(&fleet.id));
        let theirs = direct(&from_git, &other, None);
        writing.proposals_add(&[from_git.clone(), ours.clone(), theirs]).await.unwrap();
        let found = writing.proposal(&acme, &ours.id).await.unwrap().unwrap();
        assert!(found.is_direct() && !from_git.is_direct());
        assert_eq!(found.direct_reason.as_deref(), Some("incident 12"));
        assert_eq!(
            (found.governing_repository(), from_git.governing_repository()),
            (Some(&fleet.id), Some(&fleet.id))
        );
        assert_eq!(writing.run_proposals(&run.id).await.unwrap().len(), 1);
        let withdrawn = moved(Status::PendingApproval, Status::Withdrawn);
        assert!(writing.proposal_move(&ours.id, &withdrawn).await.unwrap());
        writing.proposals_add(&[direct(&from_git, &acme, None)]).await.unwrap();
        writing.commit().await.unwrap();
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.proposals_add(&[direct(&from_git, &acme, None)]).await.is_err(), "a second one");
    });
}

fn names(pushers: &[Contributor]) -> Vec<&str> {
    pushers.iter().map(|pusher| pusher.person.as_str()).collect()
}

#[test]
fn the_pusher_of_the_commit_is_listed_first_among_many_pushers() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let mut writing = world.store.write().await.unwrap();
        writing.push_record(&fleet, "c1", "eve", at(1)).await.unwrap();
        for number in 0..=MAX_PUSHERS {
            writing.push_record(&fleet, "c2", &format!("made-up-{number}"), at(9)).await.unwrap();
        }
        let found = writing.pushers(&fleet, "c1", at(2)).await.unwrap();
        assert_eq!(names(&found)[0], "eve");
        let listed: Contributors = found.into_iter().collect();
        assert_eq!(
            listed.gap(),
            Some(ContributorsGap::TooManyPeople),
            "and the list says that it is cut off"
        );
    });
}

#[test]
fn pushers_of_a_commit_or_since_a_time_are_returned_until_deleted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let mut writing = world.store.write().await.unwrap();
        for (commit, person, moment) in
            [("c1", "ada", 1), ("c2", "bob", 5), ("c2", "bob", 6), ("c3", "cy", 7)]
        {
            writing.push_record(&fleet, commit, person, at(moment)).await.unwrap();
        }
        let pushers = |commit: &'static str, since: i64| (commit, at(since));
        for ((commit, since), expected) in [
            (pushers("c1", 100), vec!["ada"]),
            (pushers("c1", 6), vec!["ada", "cy"]),
            (pushers("c9", 100), vec![]),
        ] {
            let found = writing.pushers(&fleet, commit, since).await.unwrap();
            assert_eq!(names(&found), expected, "{commit}");
        }
        assert_eq!(writing.pushes_delete_old(at(6), &mut plenty()).await.unwrap(), 2);
        assert_eq!(names(&writing.pushers(&fleet, "c1", at(0)).await.unwrap()), ["cy"]);
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.repository_remove(&fleet).await.unwrap();
        assert!(writing.pushers(&fleet, "c3", at(0)).await.unwrap().is_empty());
    });
}
