//! One approval for one reviewed set of a plan, of any size; further changes are proposed as others are applied.

use serde_json::{Value, json};
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{AuditInfo, RepositoryFields, RunInfo, RunList, UserCreated};
use windlass_core::diff::Action;
use windlass_testkit::servers::{Postgres, WorkTree};

use crate::api::{Api, Result, refused};
use crate::crashes::{Acknowledged, FinalState, check_history, end_of};
use crate::fleet::{fields, fleet, nodes, register, repository_with};
use crate::installation::{Installation, Server, sign_in};

/// A server with a small cap, and a repository whose plan is larger.
struct Planned {
    server: Server,
    work: WorkTree,
    repository: String,
    run: RunInfo,
    _installation: Installation,
}

impl Planned {
    fn new(cap: &str, count: usize) -> Planned {
        let installation = Installation::new();
        let server = installation.serve(&["--max-proposals-per-tick", cap]);
        let work = repository_with(&nodes("web", "web", 0..count));
        let repository = register(&server.api, "fleet-config", &work).id;
        let run = server.api.sync(&repository).unwrap();
        Planned { server, work, repository, run, _installation: installation }
    }

    fn api(&self) -> &Api {
        &self.server.api
    }

    fn whole(&self) -> Value {
        json!({"digest": self.run.sets[0].digest, "reason": "reviewed"})
    }

    fn approve(&self) {
        self.api().approve_set(&self.run.id, &self.whole()).unwrap();
    }

    fn halt(&self) {
        let body = json!({"reason": "so that nothing is applied yet"});
        self.api().text(self.api().call(Operation::Halt, &[]).body(&body)).unwrap();
    }

    fn resume(&self) {
        self.api().text(self.api().call(Operation::Resume, &[])).unwrap();
    }

    fn audited(&self, action: &str) -> Vec<AuditInfo> {
        let all = self.api().audit().unwrap();
        all.into_iter().filter(|entry| entry.action == action && entry.outcome == "done").collect()
    }

    fn is_set_approved(&self, run: &str) -> bool {
        !self.api().run(run).unwrap().sets[0].approved_by.is_empty()
    }
}

#[test]
fn a_sync_without_changes_repeats_the_previous_result() {
    let planned = Planned::new("10", 40);
    let (api, first) = (planned.api(), &planned.run);
    let same = |one: &RunInfo, other: &RunInfo| {
        let told = |run: &RunInfo| {
            let proposals: Vec<_> = run.proposals.iter().map(|proposal| proposal.id.clone()).collect();
            (run.status, run.diff_count, run.remaining, run.plan_digest.clone(), proposals)
        };
        assert_eq!(told(one), told(other));
        assert_eq!(one.diff, other.diff);
        assert_eq!(one.skipped_actions.len(), other.skipped_actions.len());
    };
    let second = api.sync(&planned.repository).unwrap();
    let third = api.sync(&planned.repository).unwrap();
    same(first, &second);
    same(first, &third);
    // The newest run is the one to review, whether it completed the comparison or not.
    let whole = json!({"digest": third.sets[0].digest});
    assert_eq!(api.approve_set(&third.id, &whole).unwrap().count, 41);
    api.wait_for_run(&third.id, "applied");
    let last = api.sync(&planned.repository).unwrap();
    assert_eq!((last.status.slug(), last.diff_count), ("success", 0));
    same(&last, &api.sync(&planned.repository).unwrap());
    // The next sync of the same commit includes direct changes.
    api.patch(Noun::Node, "web-003", &json!({"region": "us-9"})).unwrap();
    assert_eq!(api.sync(&planned.repository).unwrap().diff_count, 1);
}

#[test]
fn a_plan_far_over_the_cap_is_approved_in_one_call_and_applied_without_another_sync() {
    let planned = Planned::new("10", 120);
    let api = planned.api();
    let run = &planned.run;
    assert_eq!((run.remaining, run.proposals.len()), (111, 10));
    assert!(run.plan_digest.is_some());
    let told: Vec<_> = run.sets.iter().map(|set| (set.scope.slug(), set.count, set.destroys)).collect();
    assert_eq!(told, [("plan", 121, 0), ("group", 120, 0)]);
    let approved = api.approve_set(&run.id, &planned.whole()).unwrap();
    assert_eq!((approved.count, approved.approved, approved.not_open), (121, 10, 111));
    let mut most = 0;
    let done = api.wait_for("the end", |api| {
        let found = api.run(&run.id).unwrap();
        most = most.max(found.proposals.iter().filter(|it| it.status.is_open()).count());
        (found.status.slug() == "applied").then_some(found)
    });
    assert!(most <= 10, "{most} were open at a time");
    assert_eq!((done.applied_actions.len(), done.remaining), (121, 0));
    assert_eq!(done.drift_after_apply, Some(json!({})));
    assert_eq!(api.resources().unwrap().len(), 121);
    let runs: RunList = api.send(api.call(Operation::RunList, &[])).unwrap();
    assert_eq!(runs.sync_runs.len(), 1, "one run did it all");
    let entries = planned.audited("plan.approve");
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0].detail["digest"], planned.whole()["digest"]);
    assert_eq!(entries[0].detail["changes"], 121);
    assert_eq!(planned.audited("proposal.apply").len(), 121);
    check_history(api, &Acknowledged::default());
    planned.server.stop();
}

#[test]
fn under_auto_apply_the_next_batch_opens_as_soon_as_one_is_done() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "5"]);
    let work = repository_with(&nodes("web", "web", 0..40));
    let automatic = RepositoryFields { auto_apply: Some(true), ..fields("fleet-config", &work) };
    let repository = server.api.register(automatic).unwrap().id;
    let run = server.api.sync(&repository).unwrap();
    server.api.wait_for_run(&run.id, "applied");
    assert_eq!(server.api.resources().unwrap().len(), 41);
    let runs: RunList = server.api.send(server.api.call(Operation::RunList, &[])).unwrap();
    assert_eq!(runs.sync_runs.len(), 1);
    server.stop();
}

#[test]
fn a_group_of_identical_changes_is_approved_as_one_and_nothing_else_with_it() {
    let planned = Planned::new("5", 20);
    let api = planned.api();
    let group = &planned.run.sets[1];
    assert_eq!(
        (group.kind.as_deref(), group.change.map(Action::word), group.count),
        (Some("node"), Some("create"), 20)
    );
    let approved = api.approve_set(&planned.run.id, &json!({"digest": group.digest})).unwrap();
    assert_eq!((approved.count, approved.approved), (20, 4));
    let template = &planned.run.proposals[0];
    assert_eq!(api.proposal(&template.id).unwrap().status.slug(), "pending_approval");
    assert!(api.resources().unwrap().is_empty(), "the nodes wait for their template");
    api.approve(&template.id).unwrap();
    api.wait_for_run(&planned.run.id, "applied");
    assert_eq!(api.resources().unwrap().len(), 21);
    planned.server.stop();
}

#[test]
fn the_approval_lapses_when_a_newer_plan_has_one_more_change() {
    let planned = Planned::new("5", 20);
    let api = planned.api();
    planned.halt();
    planned.approve();
    assert!(planned.is_set_approved(&planned.run.id));
    planned.work.commit("fleet.yaml", &nodes("web", "web", 0..21));
    let second = api.sync(&planned.repository).unwrap();
    let lapsed = planned.audited("plan.approval_fell");
    assert_eq!(lapsed.len(), 1);
    assert_eq!(lapsed[0].detail["reason"], "a newer plan has 1 change that the approved set did not have");
    assert!(!planned.is_set_approved(&second.id));
    planned.resume();
    api.wait_for("everything to be asked for again", |api| {
        let run = api.run(&second.id).unwrap();
        run.proposals.iter().all(|it| it.status.slug() == "pending_approval").then_some(())
    });
    assert!(api.resources().unwrap().is_empty(), "nothing of it was applied");
    let stale = refused(api.approve_set(&planned.run.id, &planned.whole()));
    assert_eq!(stale.0, 409, "{}", stale.1);
    api.approve_set(&second.id, &json!({"digest": second.sets[0].digest})).unwrap();
    api.wait_for_run(&second.id, "applied");
    planned.server.stop();
}

#[test]
fn the_approval_stands_while_only_what_it_covers_was_applied() {
    let planned = Planned::new("5", 20);
    let api = planned.api();
    // The first batch is approved separately and applied; then the whole plan, of which the rest is held.
    for proposal in &planned.run.proposals {
        api.approve(&proposal.id).unwrap();
    }
    for proposal in &planned.run.proposals {
        api.wait_for_status(&proposal.id, "applied");
    }
    planned.halt();
    planned.approve();
    let second = api.sync(&planned.repository).unwrap();
    assert_ne!(second.plan_digest, planned.run.plan_digest);
    assert_eq!((second.diff_count, planned.audited("plan.approval_fell").len()), (16, 0));
    assert!(planned.is_set_approved(&second.id));
    planned.resume();
    api.wait_for_run(&second.id, "applied");
    assert_eq!(api.resources().unwrap().len(), 21);
    assert_eq!(planned.audited("plan.approve").len(), 1);
    planned.server.stop();
}

#[test]
fn destroys_are_approved_only_by_who_said_that_they_are_meant() {
    let planned = Planned::new("25", 8);
    let api = planned.api();
    planned.approve();
    api.wait_for_run(&planned.run.id, "applied");
    planned.work.commit("fleet.yaml", &nodes("web", "web", 0..4).replace("eu-1", "eu-2"));
    let run = api.sync(&planned.repository).unwrap();
    assert_eq!((run.sets[0].count, run.sets[0].destroys), (8, 4));
    let mut body = json!({"digest": run.sets[0].digest});
    let (status, message) = refused(api.approve_set(&run.id, &body));
    assert_eq!((status, message.contains("4 changes of this set are destroys")), (422, true), "{message}");
    let other = api.approve_set(&run.id, &json!({"digest": "sha256:00", "include_destroys": true}));
    assert_eq!(refused(other).0, 409);
    assert_eq!(api.run(&run.id).unwrap().applied_actions.len(), 0);
    body["include_destroys"] = json!(true);
    api.approve_set(&run.id, &body).unwrap();
    api.wait_for_run(&run.id, "applied");
    assert_eq!(api.resources().unwrap().len(), 5);
    planned.server.stop();
}

#[test]
fn edited_and_rejected_proposals_are_not_approved_by_the_set() {
    let planned = Planned::new("5", 10);
    let api = planned.api();
    let (edited, rejected) = (&planned.run.proposals[1], &planned.run.proposals[2]);
    let mut payload = edited.payload.clone();
    payload["region"] = json!("eu-9");
    let body = json!({"payload": payload});
    api.text(api.call(Operation::ProposalEdit, &[&edited.id]).body(&body)).unwrap();
    planned.halt();
    planned.approve();
    assert_eq!(api.proposal(&edited.id).unwrap().status.slug(), "pending_approval");
    api.reject(&rejected.id, &json!({"reason": "not this one"})).unwrap();
    planned.resume();
    api.wait_for("the others", |api| (api.resources().unwrap().len() == 9).then_some(()));
    let again = api.sync(&planned.repository).unwrap();
    assert!(planned.is_set_approved(&again.id), "the set is still the same");
    let open: Vec<_> = again.proposals.iter().map(|it| (it.name.as_str(), it.status.slug())).collect();
    let expected = [(edited.name.as_str(), "pending_approval"), (rejected.name.as_str(), "pending_approval")];
    assert_eq!(open, expected, "each needs an approval of its own");
    planned.server.stop();
}

/// A new approver of the account, signed in.
fn approver(server: &Server, email: &str) -> Api {
    let body = json!({"email": email, "role": "approver"});
    let added: UserCreated =
        server.api.send(server.api.call(Operation::UserCreate, &[]).body(&body)).unwrap();
    let once = added.one_time_password.unwrap();
    let api = Api::new(&server.address, Some(&sign_in(&server.api, email, &once).token));
    let chosen = "another password for tests";
    let body = json!({"current_password": once, "new_password": chosen});
    api.text(api.call(Operation::Password, &[]).body(&body)).unwrap();
    Api::new(&server.address, Some(&sign_in(&server.api, email, chosen).token))
}

#[test]
fn the_policy_holds_for_each_member_and_counts_each_approver_once() {
    let planned = Planned::new("5", 20);
    let api = planned.api();
    let rules = json!([{"name": "twice", "action": "require_approval", "approvals": 2, "not_author": true}]);
    let body = json!({"policy": {"rules": rules}});
    api.text(api.call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
    // The commits of the tests' repositories are hers.
    let author = approver(&planned.server, "ana@example.com");
    let other = approver(&planned.server, "ben@example.com");
    let (status, message) = refused(author.approve_set(&planned.run.id, &planned.whole()));
    assert_eq!((status, message.contains("author")), (403, true), "{message}");
    for _ in 0..2 {
        let first = api.approve_set(&planned.run.id, &planned.whole()).unwrap();
        assert_eq!((first.approved, first.waiting), (0, 5), "one person counts once");
    }
    let gate = api.proposal(&planned.run.proposals[0].id).unwrap().gate.unwrap();
    assert_eq!((gate.have, gate.need), (1, 2));
    assert!(api.resources().unwrap().is_empty());
    other.approve_set(&planned.run.id, &planned.whole()).unwrap();
    api.wait_for_run(&planned.run.id, "applied");
    assert_eq!(api.resources().unwrap().len(), 21);
    planned.server.stop();
}

#[test]
fn what_moved_since_it_was_planned_is_left_to_the_next_sync() {
    let planned = Planned::new("5", 10);
    let api = planned.api();
    // Created directly before its turn: the plan wanted to create it.
    let body = json!({"name": "web-009", "template": "web", "region": "eu-7"});
    api.create(Noun::NodeTemplate, &json!({"name": "spare", "node_platform": "ubuntu-24.04-amd64"})).unwrap();
    api.create(Noun::Node, &json!({"template": "spare", "name": body["name"], "region": "eu-7"})).unwrap();
    planned.approve();
    let run = api.wait_for("all but one", |api| {
        api.run(&planned.run.id).ok().filter(|run| run.applied_actions.len() == 10)
    });
    assert_eq!((run.status.slug(), run.remaining), ("partial", 1));
    let node = api.resource(Noun::Node, "web-009").unwrap();
    assert_eq!(node.spec["region"], "eu-7");
    let again = api.sync(&planned.repository).unwrap();
    assert_eq!((again.diff_count, again.proposals.len()), (1, 1));
    planned.server.stop();
}

#[test]
fn the_approval_falls_when_the_repository_reads_elsewhere() {
    let planned = Planned::new("5", 20);
    let api = planned.api();
    planned.halt();
    planned.approve();
    planned.work.git(&["branch", "other"]);
    let elsewhere = RepositoryFields { branch: Some("other".to_owned()), ..RepositoryFields::default() };
    api.configure(&planned.repository, elsewhere).unwrap();
    assert_eq!(planned.audited("plan.approval_fell").len(), 1);
    let again = api.sync(&planned.repository).unwrap();
    assert!(!planned.is_set_approved(&again.id), "the same plan, but not from where it was reviewed");
    planned.resume();
    assert!(again.proposals.iter().all(|it| it.status.slug() == "pending_approval"), "{again:?}");
    planned.server.stop();
}

#[test]
fn what_opens_later_is_judged_by_who_wrote_it_and_by_the_file_it_moved_out_of() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "2"]);
    let api = &server.api;
    let work = repository_with(&fleet("include: ['fleet.d/*.yaml']\n"));
    let clusters = |names: &[&str], tier: &str| {
        let lines = names.iter().map(|name| format!("  {name}: {{labels: {{tier: {tier}}}}}\n"));
        format!("clusters:\n{}", lines.collect::<String>())
    };
    work.commit("fleet.d/free.yaml", &clusters(&["a1", "a2"], "lab"));
    work.commit("fleet.d/guarded.yaml", &clusters(&["z1", "z2"], "lab"));
    let repository = register(api, "fleet-config", &work).id;
    let first = api.sync(&repository).unwrap();
    api.approve_set(&first.id, &json!({"digest": first.sets[0].digest})).unwrap();
    api.wait_for_run(&first.id, "applied");
    // A newer commit, so that nobody of the first contributes to it.
    let rules = json!([{"name": "guarded", "match": {"paths": ["fleet.d/guarded.yaml"]},
        "action": "require_approval", "approvals": 2, "not_author": true}]);
    let body = json!({"policy": {"rules": rules}});
    api.text(api.call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
    work.git(&["rm", "--quiet", "fleet.d/guarded.yaml"]);
    work.commit("fleet.d/free.yaml", &clusters(&["a1", "a2", "z1", "z2"], "prod"));
    let run = api.sync(&repository).unwrap();
    let names: Vec<_> = run.proposals.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, run.remaining), (vec!["a1", "a2"], 2));
    api.approve_set(&run.id, &json!({"digest": run.sets[0].digest})).unwrap();
    let opened = api.wait_for("the next to be opened", |api| {
        let opened = api.run(&run.id).unwrap().proposals;
        let opened: Vec<_> = opened.into_iter().filter(|it| it.name.starts_with('z')).collect();
        (opened.len() == 2).then_some(opened)
    });
    let author = approver(&server, "ana@example.com");
    for proposal in &opened {
        let found = api.proposal(&proposal.id).unwrap();
        let gate = found.gate.clone().unwrap();
        assert_eq!((found.status.slug(), gate.have, gate.need), ("pending_approval", 1, 2), "{found:?}");
        let (status, message) = refused(author.approve(&proposal.id));
        assert_eq!((status, message.contains("author")), (403, true), "{message}");
    }
    server.stop();
}

/// Registers, syncs, approves the whole plan and waits until it is accepted; repeats requests without a response.
fn sync_and_approve_all(api: &Api, work: &WorkTree) -> Result<()> {
    let id = match api.repository("fleet-config") {
        Ok(known) => known.id,
        Err(ClientError::Refused { status: 404, .. }) => api.register(fields("fleet-config", work))?.id,
        Err(error) => return Err(error),
    };
    let runs: RunList = api.send(api.call(Operation::RepositoryRuns, &[&id]))?;
    let run = match runs.sync_runs.first() {
        Some(run) => api.run(&run.id)?,
        None => api.sync(&id)?,
    };
    if run.sets.first().is_some_and(|whole| whole.approved_by.is_empty()) {
        api.approve_set(&run.id, &json!({"digest": run.sets[0].digest}))?;
    }
    api.try_wait_for("the end", |api| Ok((api.run(&run.id)?.status.slug() == "applied").then_some(())))
}

fn final_state_after(installation: &Installation, point: Option<&str>) -> FinalState {
    const CAP: &[&str] = &["--max-proposals-per-tick", "3"];
    let work = repository_with(&nodes("web", "web", 0..12));
    let mut server = installation.serve_with_crash_point(point, CAP);
    let mut deaths = 0;
    while let Err(error) = sync_and_approve_all(&server.api, &work) {
        assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
        server.wait_for_end();
        deaths += 1;
        server = installation.serve(CAP);
    }
    assert_eq!(deaths, usize::from(point.is_some()), "{point:?}");
    check_history(&server.api, &Acknowledged::default());
    let approvals = server.api.audit().unwrap();
    let approvals = approvals.iter().filter(|entry| entry.action == "plan.approve").count();
    assert_eq!(approvals, 1, "{point:?}");
    let end = end_of(&server.api);
    server.stop();
    end
}

#[test]
fn a_crash_while_a_plan_is_approved_and_opened_does_not_change_the_result() {
    let undisturbed = final_state_after(&Installation::new(), None);
    assert_eq!(undisturbed.resources.len(), 13);
    for point in windlass_server::PLAN_CRASH_POINTS {
        assert_eq!(final_state_after(&Installation::new(), Some(point)), undisturbed, "{point}");
    }
}

#[test]
fn several_servers_on_one_database_open_and_apply_each_change_of_a_plan_once() {
    let Some(postgres) = Postgres::shared() else { return };
    let installation = Installation::with_database(postgres.fresh_database());
    let first = installation.serve(&["--max-proposals-per-tick", "4"]);
    let replica = installation.replica();
    let second = replica.serve(&["--max-proposals-per-tick", "4"]);
    let work = repository_with(&nodes("web", "web", 0..60));
    let repository = register(&first.api, "fleet-config", &work).id;
    let run = first.api.sync(&repository).unwrap();
    second.api.approve_set(&run.id, &json!({"digest": run.sets[0].digest})).unwrap();
    first.api.wait_for_run(&run.id, "applied");
    assert_eq!(first.api.proposals().unwrap().len(), 61, "none was opened twice");
    check_history(&first.api, &Acknowledged::default());
    assert_eq!(first.api.resources().unwrap().len(), 61);
    second.stop();
    first.stop();
}
