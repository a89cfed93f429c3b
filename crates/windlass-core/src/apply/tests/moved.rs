//! What becomes of a proposal that was approved against another accepted state, or another owner.

use super::*;
use crate::diff::Cause;
use crate::proposal::made_up::{create, destroy, edited, made_directly, update, wanted_by};

const MOVED: &str = "superseded: the accepted state changed since this was approved";
const BY_HAND: &str = "applied_manually: someone made this change manually";
const ELSEWHERE: &str = "withdrawn: the owner of the resource changed since this was proposed";

/// An account in which the cluster is so and this repository has it.
fn cluster(text: &str, owner: Option<&str>) -> Stage {
    Stage::new().with(Kind::Cluster, "c", text, owner)
}

fn creates() -> Proposal {
    wanted_by("core", create(Kind::Cluster, "c", LARGE))
}

fn updates() -> Proposal {
    wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE))
}

fn destroys() -> Proposal {
    wanted_by("core", destroy(Kind::Cluster, "c", SMALL))
}

fn direct(owner: Option<&str>) -> Proposal {
    made_directly(owner, update(Kind::Cluster, "c", SMALL, LARGE))
}

#[test]
fn what_was_approved_against_another_accepted_state_is_superseded() {
    for (stage, proposal) in [
        (cluster(MEDIUM, Some("core")), updates()),
        (cluster(MEDIUM, None), updates()),
        (cluster(MEDIUM, Some("edge")), updates()),
        (Stage::new(), updates()),
        (cluster(SMALL, Some("core")), creates()),
        (cluster(SMALL, None), creates()),
        (cluster(MEDIUM, Some("core")), destroys()),
        (cluster(MEDIUM, Some("core")), direct(Some("core"))),
        (Stage::new(), direct(Some("core"))),
        (cluster(MEDIUM, Some("edge")), direct(Some("core"))),
    ] {
        assert_eq!(stage.becomes_of(&proposal), MOVED, "{stage:?} {proposal:?}");
    }
}

#[test]
fn what_someone_made_by_hand_meanwhile_needs_no_applying() {
    for (stage, proposal) in [
        (cluster(LARGE, Some("core")), updates()),
        (cluster(LARGE, Some("core")), creates()),
        // The next sync adopts what belongs to nobody.
        (cluster(LARGE, None), creates()),
        (Stage::new(), destroys()),
        (cluster(LARGE, Some("core")), direct(Some("core"))),
        (cluster(LARGE, None), direct(None)),
        (Stage::new(), made_directly(Some("core"), destroy(Kind::Cluster, "c", SMALL))),
    ] {
        assert_eq!(stage.becomes_of(&proposal), BY_HAND, "{stage:?} {proposal:?}");
    }
}

#[test]
fn what_is_as_it_was_wanted_but_another_repositorys_was_not_made_for_this_one() {
    for proposal in [creates(), updates()] {
        assert_eq!(cluster(LARGE, Some("edge")).becomes_of(&proposal), MOVED);
    }
    // It was there and owned; now nobody owns it, and this repository has yet to adopt it.
    assert_eq!(cluster(LARGE, None).becomes_of(&updates()), MOVED);
}

#[test]
fn whether_an_edit_was_made_by_hand_is_told_by_what_was_edited_and_not_by_what_git_wants() {
    let edited = || edited(updates(), MEDIUM);
    assert_eq!(cluster(MEDIUM, Some("core")).becomes_of(&edited()), BY_HAND);
    assert_eq!(cluster(LARGE, Some("core")).becomes_of(&edited()), MOVED);
}

#[test]
fn an_edit_is_applied_instead_of_what_git_wants() {
    let edited = edited(updates(), MEDIUM);
    let mut scene = cluster(SMALL, Some("core"))
        .scene(std::slice::from_ref(&edited), |proposal| vec![approval(proposal, BOB)]);
    let Verdict::Apply { change, owner_id, .. } = scene.judge(&edited) else { panic!("it was approved") };
    let medium = spec(Kind::Cluster, MEDIUM);
    assert_eq!(owner_id, Some(RepositoryId::new("core")));
    assert_eq!((change.desired, change.base), (Some(medium.digest()), edited.change.base));
    assert_eq!(change.after, Some(medium));
    let standing = scene.world.accepted(&change.key).unwrap();
    assert_eq!((Some(standing.digest), &standing.owner_id), (change.desired, &owner_id));
}

#[test]
fn a_direct_change_does_not_change_the_owner() {
    for owner in [Some("core"), Some("edge"), None] {
        let expected = format!("update cluster c for {}", owner.unwrap_or("nobody"));
        assert_eq!(cluster(SMALL, owner).becomes_of(&direct(owner)), expected);
    }
    let creates = made_directly(None, create(Kind::Cluster, "c", LARGE));
    assert_eq!(Stage::new().becomes_of(&creates), "create cluster c for nobody");
}

#[test]
fn a_direct_change_is_withdrawn_when_the_owner_changes() {
    for (then, now) in
        [(Some("core"), Some("edge")), (Some("core"), None), (None, Some("core")), (Some("gone"), None)]
    {
        assert_eq!(cluster(SMALL, now).becomes_of(&direct(then)), ELSEWHERE, "{then:?} {now:?}");
    }
}

#[test]
fn what_another_repository_owns_waits_until_that_one_gives_it_up() {
    let mut contested = updates();
    contested.change.cause = Cause::Contested;
    let theirs = "waits: cluster c is owned by the repository `edge`";
    assert_eq!(cluster(SMALL, Some("edge")).becomes_of(&contested), theirs);
    assert_eq!(cluster(SMALL, None).becomes_of(&contested), "update cluster c for core");
    assert_eq!(Stage::new().becomes_of(&contested), MOVED, "that one destroyed it");
    // It is as this repository wants it, and stays the other's.
    let mut same = wanted_by("core", update(Kind::Cluster, "c", SMALL, SMALL));
    same.change.cause = Cause::Contested;
    assert_eq!(cluster(SMALL, Some("edge")).becomes_of(&same), theirs);

    let free = cluster(SMALL, None).with_rules("[{name: free, action: auto_approve}]");
    let mut scene = free.scene(std::slice::from_ref(&contested), |_| Vec::new());
    assert_eq!(
        told(&scene.judge(&contested)),
        "asks again: another repository owns it, and only people approve that: one approval is needed"
    );
}

#[test]
fn what_nobody_owned_is_adopted_as_it_is() {
    let mut adopted = wanted_by("core", update(Kind::Cluster, "c", SMALL, SMALL));
    adopted.change.cause = Cause::Adopted;
    assert_eq!(cluster(SMALL, None).becomes_of(&adopted), "update cluster c for core");
    assert_eq!(cluster(MEDIUM, None).becomes_of(&adopted), MOVED);
}

#[test]
fn what_others_were_faster_to_own_waits_and_is_not_lost() {
    let mut adopted = updates();
    adopted.change.cause = Cause::Adopted;
    for proposal in [updates(), adopted, destroys(), edited(updates(), MEDIUM)] {
        let verdict = cluster(SMALL, Some("edge")).becomes_of(&proposal);
        assert_eq!(verdict, "waits: cluster c is owned by the repository `edge`", "{proposal:?}");
    }
}
