//! What the gate, the kill switch and a failed sync make of an approved proposal.

use super::*;
use crate::gate::Halt;
use crate::id::RunId;
use crate::proposal::made_up::{AUTHOR, create, destroy, edited, made_directly, update, wanted_by};
use crate::repository::LastStatus;
use crate::run::RunStatus;

fn grows() -> Proposal {
    wanted_by("core", update(Kind::Cluster, "c", SMALL, LARGE))
}

/// An account in which the cluster is small and `core` has it.
fn small() -> Stage {
    Stage::new().with(Kind::Cluster, "c", SMALL, Some("core"))
}

fn fail_sync(stage: &mut Stage, id: &str) {
    let repository = stage.repository(id);
    repository.last_status = LastStatus::Ended(RunStatus::Failed);
    repository.last_error = Some("no such branch".to_owned());
    repository.last_run_id = Some(RunId::new("7"));
}

#[test]
fn what_was_approved_is_applied_and_its_repository_owns_it_then() {
    assert_eq!(small().becomes_of(&grows()), "update cluster c for core");
    let created = wanted_by("core", create(Kind::Cluster, "c", SMALL));
    assert_eq!(Stage::new().becomes_of(&created), "create cluster c for core");
    let destroyed = wanted_by("core", destroy(Kind::Cluster, "c", SMALL));
    assert_eq!(small().becomes_of(&destroyed), "destroy cluster c for core");
}

#[test]
fn what_a_removed_repository_wanted_ends_whatever_else_is_true() {
    let removed = |mut stage: Stage| {
        stage.repositories.retain(|repository| repository.id.as_str() != "core");
        stage
    };
    let halted = || {
        let mut stage = small();
        stage.account.halt =
            Some(Halt { by: BOB.to_owned(), reason: String::new(), since: Timestamp::from_millis(0) });
        stage
    };
    let blocked = small().with_rules("[{name: frozen, action: block}]");
    for stage in [small(), halted(), blocked, Stage::new()] {
        assert_eq!(removed(stage).becomes_of(&grows()), "superseded: its repository was removed");
    }
    let direct = made_directly(None, update(Kind::Cluster, "c", SMALL, LARGE));
    let unowned = removed(Stage::new().with(Kind::Cluster, "c", SMALL, None));
    assert_eq!(unowned.becomes_of(&direct), "update cluster c for nobody", "a direct change has none");
}

#[test]
fn approvals_that_do_not_suffice_any_more_are_asked_for_again() {
    let no_rule = "asks again: no rule matches, so one approval is needed";
    let given_by_bob = |change: &dyn Fn(&mut Approval)| {
        let mut scene = small().scene(&[grows()], |proposal| {
            let mut given = approval(proposal, BOB);
            change(&mut given);
            vec![given]
        });
        told(&scene.judge(&grows()))
    };
    assert_eq!(given_by_bob(&|_| {}), "update cluster c for core");
    for (change, why) in [
        (
            (|given| given.digest = grows().change.base.unwrap()) as fn(&mut Approval),
            "the approval of bob@example.com was for another state of this change",
        ),
        (
            |given| given.lapsed = Some("they left".to_owned()),
            "the approval of bob@example.com no longer counts: they left",
        ),
        (
            |given| given.approver = AUTHOR.to_owned(),
            "the approval of ann@example.com does not count, because they may not approve in this account now",
        ),
    ] {
        assert_eq!(given_by_bob(&change), format!("{no_rule}; {why}"));
    }
    let mut nobody = small().scene(&[grows()], |_| Vec::new());
    assert_eq!(told(&nobody.judge(&grows())), no_rule);
    nobody.approvals.clear();
    assert_eq!(told(&nobody.judge(&grows())), no_rule);

    let twice =
        small().with_rules("[{name: two, action: require_approval, approvals: 2, reason: it is large}]");
    assert_eq!(twice.becomes_of(&grows()), "asks again: the rule `two` requires 2 approvals: it is large");
    let mut both = twice.scene(&[grows()], |proposal| [BOB, CY].map(|who| approval(proposal, who)).to_vec());
    assert_eq!(told(&both.judge(&grows())), "update cluster c for core");
}

#[test]
fn the_approval_of_one_proposal_is_none_of_another() {
    let (one, other) = (grows(), wanted_by("core", create(Kind::Cluster, "d", SMALL)));
    let mut scene = small().scene(&[one.clone(), other.clone()], |_| vec![approval(&one, BOB)]);
    assert_eq!(told(&scene.judge(&one)), "update cluster c for core");
    assert_eq!(
        told(&scene.judge(&other)),
        "asks again: no rule matches, so one approval is needed; \
         the approval of bob@example.com was for another state of this change"
    );
}

#[test]
fn what_was_edited_after_it_was_approved_is_asked_for_again() {
    let edited = edited(grows(), MEDIUM);
    let mut scene = small().scene(std::slice::from_ref(&edited), |_| vec![approval(&grows(), BOB)]);
    assert_eq!(
        told(&scene.judge(&edited)),
        "asks again: it was edited, and only people approve what was edited: one approval is needed; \
         the approval of bob@example.com was for another state of this change"
    );
}

#[test]
fn a_halted_account_applies_nothing_and_the_reason_is_told() {
    let mut halted = small();
    let since = Timestamp::from_millis(0);
    halted.account.halt = Some(Halt { by: CY.to_owned(), reason: "incident 12".to_owned(), since });
    let why = "waits: applying is halted since 1970-01-01T00:00:00.000Z by cy@example.com: incident 12";
    assert_eq!(halted.becomes_of(&grows()), why);
    let direct = made_directly(Some("core"), update(Kind::Cluster, "c", SMALL, LARGE));
    assert_eq!(halted.becomes_of(&direct), why);
}

#[test]
fn what_git_wanted_waits_while_the_newest_sync_failed_and_a_direct_change_does_not() {
    let mut failed = small();
    fail_sync(&mut failed, "core");
    let why = "waits: the last sync of core failed: no such branch; sync again, or confirm the failed run";
    assert_eq!(failed.becomes_of(&grows()), why);
    assert_eq!(failed.becomes_of(&edited(grows(), MEDIUM)), why);
    let direct = made_directly(Some("core"), update(Kind::Cluster, "c", SMALL, LARGE));
    assert_eq!(failed.becomes_of(&direct), "update cluster c for core");
    failed.repository("core").confirmed_failure = Some(RunId::new("7"));
    assert_eq!(failed.becomes_of(&grows()), "update cluster c for core");

    let mut elsewhere = small();
    fail_sync(&mut elsewhere, "edge");
    assert_eq!(elsewhere.becomes_of(&grows()), "update cluster c for core", "another repository's");
}

#[test]
fn outside_the_windows_of_its_rule_an_approved_change_waits() {
    let rule = |window: &str| format!("[{{name: office, action: require_approval, windows: [{window}]}}]");
    let closed = small().with_rules(&rule("{days: [tue], from: '09:00', to: '17:00'}"));
    assert_eq!(
        closed.becomes_of(&grows()),
        "waits: outside the rule's windows; the next one opens Tue 2026-11-17 09:00 UTC (2026-11-17T09:00:00.000Z)"
    );
    let open = small().with_rules(&rule("{days: [mon], from: '09:00', to: '17:00'}"));
    assert_eq!(open.becomes_of(&grows()), "update cluster c for core");
}

#[test]
fn what_a_rule_blocks_by_now_waits_with_everything_else_that_holds_it() {
    let mut frozen = small().with_rules("[{name: frozen, action: block, reason: year-end freeze}]");
    assert_eq!(frozen.becomes_of(&grows()), "waits: the rule `frozen` blocks it: year-end freeze");
    fail_sync(&mut frozen, "core");
    assert_eq!(
        frozen.becomes_of(&grows()),
        "waits: the last sync of core failed: no such branch; sync again, or confirm the failed run; \
         the rule `frozen` blocks it: year-end freeze"
    );
}

#[test]
fn what_needs_approval_is_asked_for_even_while_something_holds_it() {
    let mut held = small().with_rules("[{name: two, action: require_approval, approvals: 2}]");
    fail_sync(&mut held, "core");
    assert_eq!(held.becomes_of(&grows()), "asks again: the rule `two` requires 2 approvals");
}

#[test]
fn what_nobody_approved_is_applied_only_where_a_rule_or_a_setting_trusts_its_repository() {
    let unapproved = |stage: &Stage, proposal: &Proposal| {
        let mut scene = stage.scene(std::slice::from_ref(proposal), |_| Vec::new());
        told(&scene.judge(proposal))
    };
    let ruled = small().with_rules("[{name: ours, match: {repositories: ['cor*']}, action: auto_approve}]");
    let mut trusted = small();
    trusted.repository("core").auto_apply = true;
    let destroys = wanted_by("core", destroy(Kind::Cluster, "c", SMALL));
    let direct = made_directly(Some("core"), update(Kind::Cluster, "c", SMALL, LARGE));
    let others = wanted_by("edge", create(Kind::Cluster, "d", SMALL));
    for stage in [ruled, trusted] {
        assert_eq!(unapproved(&stage, &grows()), "update cluster c for core");
        for proposal in [&destroys, &direct, &edited(grows(), MEDIUM), &others] {
            let verdict = unapproved(&stage, proposal);
            assert!(verdict.starts_with("asks again: "), "{verdict}: {proposal:?}");
        }
    }
}
