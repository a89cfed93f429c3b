//! More differences than one run may propose.

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::types::{BatchBody, BatchDecision, RunInfo};
use windlass_testkit::servers::Postgres;

use crate::api::{Api, batch};
use crate::fleet::{nodes, register, repository_with};
use crate::installation::Installation;

#[test]
fn a_hundred_differences_come_in_four_batches_of_one_run() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "25"]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..99));
    let repository = register(api, "fleet-config", &work);
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.status.slug(), run.remaining, run.proposals.len()), ("partial", 75, 25));
    for (remaining, status) in [(50, "partial"), (25, "partial"), (0, "diff_ready")] {
        api.decide(&run, BatchDecision::Approve).unwrap();
        let next = api.wait_for("the next batch", |api| {
            let run = api.run(&run.id).unwrap();
            let pending =
                run.proposals.iter().filter(|proposal| proposal.status.slug() == "pending_approval");
            (run.remaining == remaining && pending.count() == 25).then_some(run)
        });
        assert_eq!((next.status.slug(), next.applied_actions.len()), (status, 75 - remaining));
    }
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_for_run(&run.id, "applied").applied_actions.len(), 100);
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.status.slug(), run.remaining, run.diff_count), ("success", 0, 0));
    assert_eq!(api.resources().unwrap().len(), 100);
    server.stop();
}

#[test]
fn a_change_that_the_database_rejects_fails_alone() {
    let Some(postgres) = Postgres::shared() else { return };
    let url = postgres.fresh_database();
    let installation = Installation::with_database(url.clone());
    let server = installation.serve(&[]);
    let api = &server.api;
    postgres.execute(&url, "ALTER TABLE resources ADD CONSTRAINT unlucky CHECK (name NOT LIKE '%07%')");
    let work = repository_with(&nodes("web", "web", 0..12));
    let repository = register(api, "fleet-config", &work);
    let run = api.sync(&repository.id).unwrap();
    api.decide(&run, BatchDecision::Approve).unwrap();
    let run = api.wait_until_applied(&run.id).unwrap();
    assert_eq!((run.status.slug(), run.applied_actions.len()), ("partial", 12));
    let failed: Vec<_> = run.proposals.iter().filter(|proposal| proposal.status.slug() == "failed").collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].name.contains("07"), "{failed:?}");
    let reason = api.proposal(&failed[0].id).unwrap().reason.unwrap_or_default();
    assert!(reason.contains("unlucky"), "{reason}");
    assert_eq!(api.resources().unwrap().len(), 12);
    server.stop();
}

#[test]
fn at_most_the_cap_is_open_at_a_time_and_nothing_twice() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "5"]);
    let work = repository_with(&nodes("web", "web", 0..11));
    let repository = register(&server.api, "fleet-config", &work);
    let first = server.api.sync(&repository.id).unwrap();
    let second = server.api.sync(&repository.id).unwrap();
    assert_eq!((first.status.slug(), first.remaining, first.proposals.len()), ("partial", 7, 5));
    assert_eq!((second.status.slug(), second.remaining, second.proposals.len()), ("partial", 7, 5));
    assert_eq!(second.proposals, first.proposals);
    assert_eq!(server.api.proposals().unwrap().len(), 5);
    server.stop();
}

#[test]
fn what_a_rule_blocks_takes_no_room_from_the_others() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "3"]);
    let api = &server.api;
    let rules = json!([{"name": "frozen", "action": "block", "match": {"names": ["web-00*"]}}]);
    let body = json!({"policy": {"rules": rules}});
    api.text(api.call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
    let work = repository_with(&nodes("web", "web", 0..12));
    let repository = register(api, "fleet-config", &work);
    let run = api.sync(&repository.id).unwrap();
    let others = |run: &RunInfo| -> Vec<String> {
        let open = run.proposals.iter().filter(|proposal| proposal.status.slug() == "pending_approval");
        open.filter(|it| !it.name.starts_with("web-00")).map(|it| it.id.clone()).collect()
    };
    // The template first, then the two nodes that no rule blocks: after ten that nobody can approve.
    api.approve(&others(&run)[0]).unwrap();
    let run = api.wait_for("the last two", |api| {
        api.run(&run.id).ok().filter(|run| run.remaining == 0 && others(run).len() == 2)
    });
    assert_eq!(run.proposals.len(), 13);
    server.stop();
}

#[test]
fn rejected_changes_come_again_and_do_not_starve_the_others() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "25"]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..99));
    let repository = register(api, "fleet-config", &work);
    let first = api.sync(&repository.id).unwrap();
    // The template is approved, so that the others can be applied; the first nodes are always rejected.
    let rejected: Vec<String> = first.proposals[1..].iter().map(|proposal| proposal.name.clone()).collect();
    let mut reopened = 0;
    for _ in 0..8 {
        let run = api.sync(&repository.id).unwrap();
        reopened += decide_by_name(api, &run, &rejected);
        api.wait_until_applied(&run.id).unwrap();
    }
    assert!(reopened > rejected.len(), "what was rejected was offered again: {reopened}");
    let accepted: Vec<String> = api.resources().unwrap().into_iter().map(|resource| resource.name).collect();
    assert_eq!(accepted.len(), 100 - rejected.len());
    assert!(rejected.iter().all(|name| !accepted.contains(name)));
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.diff_count, run.remaining), (rejected.len(), 0));
    server.stop();
}

/// Rejects the proposals with these names, and approves the others. Returns how many were rejected.
fn decide_by_name(api: &Api, run: &RunInfo, rejected: &[String]) -> usize {
    let pending = run.proposals.iter().filter(|proposal| proposal.status.slug() == "pending_approval");
    let (no, yes): (Vec<_>, Vec<_>) = pending.partition(|proposal| rejected.contains(&proposal.name));
    let count = no.len();
    for (decision, chosen) in [(BatchDecision::Reject, no), (BatchDecision::Approve, yes)] {
        if !chosen.is_empty() {
            let ids = chosen.iter().map(|proposal| proposal.id.clone()).collect();
            let decided = api.batch(&BatchBody { ids, ..batch(decision) }).unwrap();
            assert_eq!(decided.refused, 0, "{decided:?}");
        }
    }
    count
}

#[test]
fn what_is_rejected_until_it_changes_comes_again_only_then() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..2));
    let repository = register(api, "fleet-config", &work);
    let run = api.sync(&repository.id).unwrap();
    let last = run.proposals.last().unwrap();
    assert_eq!(last.name, "web-001");
    api.reject(&last.id, &json!({"until_change": true, "reason": "not this one"})).unwrap();
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "partial");
    let run = api.sync(&repository.id).unwrap();
    assert!(run.proposals.is_empty(), "{:?}", run.proposals);
    assert_eq!((run.diff_count, run.skipped_actions.len()), (1, 1));
    work.commit("fleet.yaml", &nodes("web", "web", 0..2).replace("eu-1", "eu-2"));
    let run = api.sync(&repository.id).unwrap();
    let names: Vec<&str> = run.proposals.iter().map(|proposal| proposal.name.as_str()).collect();
    assert_eq!(names, ["web-000", "web-001"]);
    server.stop();
}
