//! Nobody without the permission to approve can cause a change to be applied: not by editing, not through a
//! repository's settings, and not directly.

use serde_json::{Value, json};
use windlass_api::permission::{Permission, Role};

use crate::harness::{ApiToken, Installation, Life, Person, file_url, fleet};

const REPOSITORIES: &str = "/api/v1/system/gitops_repositories";
const PROPOSALS: &str = "/api/v1/system/proposals";
const POLICY: &str = "/api/v1/system/approval_policy";
const CLUSTERS: &str = "/api/v1/system/clusters";

const PROD: &str = "version: 1\naccount: acme\nclusters: [{name: one, labels: {tier: prod}}]\n";
const LAB: &str = "version: 1\naccount: acme\nclusters: [{name: one, labels: {tier: lab}}]\n";

async fn set_policy(installation: &Installation, admin: &Person, rules: Value) {
    let body = json!({"policy": {"rules": rules}});
    installation.tell(&admin.token, "PUT", POLICY, &body).await.expect(200);
}

/// A token with all permissions of a writer and none of an approver.
async fn writer(installation: &Installation) -> ApiToken {
    let operator = installation.person(&installation.account, Role::Operator).await;
    let all: Vec<Permission> = Role::Operator.permissions().into_iter().collect();
    installation.api_token(&operator, &all, Life::Good).await
}

async fn clusters(installation: &Installation, admin: &Person) -> Vec<Value> {
    installation.get(admin, CLUSTERS).await["clusters"].as_array().unwrap().clone()
}

/// Waits until the apply loop has checked everything once more: the admin's own change is applied after what was there.
async fn settle(installation: &Installation, admin: &Person, proposal: &Value) {
    let path = format!("{PROPOSALS}/{}/apply?wait=5", proposal["id"].as_str().unwrap());
    installation.ask(&admin.token, "POST", &path).await;
}

fn fields(fields: Value) -> Value {
    json!({ "gitops_repository": fields })
}

#[tokio::test(flavor = "multi_thread")]
async fn editing_a_proposal_into_a_rule_approves_nothing() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let work = fleet(PROD);
    let repository = installation.register(&admin, "fleet", &work).await;
    let rules = json!([{"name": "lab", "match": {"labels": {"tier": "lab"}}, "action": "auto_approve"}]);
    set_policy(&installation, &admin, rules).await;
    let run = installation.sync(&admin, &repository).await;
    let proposal = run["proposals"][0].clone();
    let path = format!("{PROPOSALS}/{}", proposal["id"].as_str().unwrap());
    let edit = json!({"payload": {"labels": {"tier": "lab"}}});
    installation.tell(&writer.secret, "POST", &format!("{path}/edit"), &edit).await.expect(200);
    // Every way to make the gate decide again.
    let slower = fields(json!({"reconcile_interval_seconds": 900}));
    installation
        .tell(&writer.secret, "PATCH", &format!("{REPOSITORIES}/{repository}"), &slower)
        .await
        .expect(200);
    installation
        .ask(&writer.secret, "POST", &format!("{REPOSITORIES}/{repository}/sync_now?wait=60"))
        .await
        .expect(202);
    settle(&installation, &admin, &proposal).await;
    let shown = installation.get(&admin, &path).await["proposal"].clone();
    assert_eq!(shown["status"], "pending_approval", "{shown}");
    assert!(shown["gate"]["reasons"][0].as_str().unwrap().contains("only people approve"), "{shown}");
    assert_eq!(clusters(&installation, &admin).await, Vec::<Value>::new());
    installation.approve(&admin, proposal["id"].as_str().unwrap()).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_trusts_of_a_repository_is_changed_by_approvers_alone_and_refusals_are_on_the_record() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let (work, elsewhere) = (fleet(PROD), fleet(LAB));
    let trusted = installation.register(&admin, "fleet", &work).await;
    let rules = json!([{"name": "trusts", "match": {"repositories": ["fleet"]}, "action": "auto_approve"}]);
    set_policy(&installation, &admin, rules).await;
    let here = format!("{REPOSITORIES}/{trusted}");
    for change in [
        json!({"repo_url": file_url(&elsewhere)}),
        json!({"branch": "other"}),
        json!({"path_prefix": "x"}),
        json!({"allowed_signers": ""}),
        json!({"name": "renamed"}),
        json!({"vault_credential_path": "git/other"}),
        json!({"enabled": true}),
    ] {
        let reply = installation.tell(&writer.secret, "PATCH", &here, &fields(change.clone())).await;
        // There are no signers, so that clearing them changes nothing.
        if change.get("allowed_signers").is_some() {
            reply.expect(200);
            continue;
        }
        assert_eq!(reply.status, 403, "{change}: {reply:?}");
        let error = &reply.json()["error"];
        assert!(
            error["message"].as_str().unwrap().contains("the rule `trusts` approves changes of fleet"),
            "{error}"
        );
        let audit = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
        assert_eq!((&audit["outcome"], &audit["target"]), (&json!("refused"), &json!(here)), "{audit}");
    }
    assert_eq!(installation.ask(&writer.secret, "DELETE", &here).await.status, 403);
    let slower = fields(json!({"reconcile_interval_seconds": 900}));
    installation.tell(&writer.secret, "PATCH", &here, &slower).await.expect(200);
    let moved = fields(json!({"repo_url": file_url(&elsewhere)}));
    installation.tell(&admin.token, "PATCH", &here, &moved).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_means_the_repository_that_it_named_whatever_is_called_so_later() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let (good, evil) = (fleet(PROD), fleet(LAB));
    let trusted = installation.register(&admin, "fleet", &good).await;
    let body = fields(json!({"name": "stranger", "repo_url": file_url(&evil), "enabled": false}));
    let stranger = installation.tell(&writer.secret, "POST", REPOSITORIES, &body);
    let stranger = stranger.await.expect(201)["gitops_repository"]["id"].as_str().unwrap().to_owned();
    let rules = json!([{"name": "trusts", "match": {"repositories": ["fleet"]}, "action": "auto_approve"}]);
    set_policy(&installation, &admin, rules).await;
    let renamed = fields(json!({"name": "fleet-eu"}));
    installation
        .tell(&admin.token, "PATCH", &format!("{REPOSITORIES}/{trusted}"), &renamed)
        .await
        .expect(200);
    let shown = installation.get(&admin, POLICY).await;
    assert_eq!(shown["policy"]["rules"][0]["match"]["repositories"], json!(["fleet-eu"]), "{shown}");
    let takes_name = fields(json!({"name": "fleet"}));
    installation
        .tell(&writer.secret, "PATCH", &format!("{REPOSITORIES}/{stranger}"), &takes_name)
        .await
        .expect(200);
    let run = installation.sync(&admin, &stranger).await;
    assert_eq!(run["proposals"][0]["status"], "pending_approval", "{run}");
    // The rule also applies to the repository under its new name.
    let run = installation.sync(&admin, &trusted).await;
    assert_ne!(run["proposals"][0]["status"], "pending_approval", "{run}");
    installation.ask(&admin.token, "DELETE", &format!("{REPOSITORIES}/{trusted}")).await.expect(204);
    let shown = installation.get(&admin, POLICY).await;
    assert_eq!(shown["unknown_repositories"], json!(["fleet"]), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_names_an_unknown_repository_is_refused_with_the_nearest_name() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.register(&admin, "fleet", &fleet(PROD)).await;
    let rules = json!([{"name": "typo", "match": {"repositories": ["flet"]}, "action": "auto_approve"}]);
    let refused = installation.tell(&admin.token, "PUT", POLICY, &json!({"policy": {"rules": rules}})).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "unknown-repository"), "{refused:?}");
    assert!(refused.text.contains("did you mean `fleet`?"), "{refused:?}");
    let administers = [Permission::GitopsRead, Permission::GitopsAdmin];
    let token = installation.api_token(&admin, &administers, Life::Good).await;
    let body = json!({"policy": {"rules": [{"name": "all", "action": "auto_approve"}]}});
    let refused = installation.tell(&token.secret, "PUT", POLICY, &body).await;
    assert_eq!(refused.status, 403, "a policy approves ahead: {refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_rule_lets_any_repository_through_only_approvers_register_one() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let work = fleet(LAB);
    let rules = json!([{"name": "lab", "match": {"labels": {"tier": "lab"}}, "action": "auto_approve"}]);
    set_policy(&installation, &admin, rules).await;
    let body = fields(json!({"name": "mine", "repo_url": file_url(&work), "enabled": false}));
    let refused = installation.tell(&writer.secret, "POST", REPOSITORIES, &body).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    installation.tell(&admin.token, "POST", REPOSITORIES, &body).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_elsewhere_is_withdrawn_before_anyone_trusts_where_it_reads_now() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let (good, evil) = (fleet(PROD), fleet(LAB));
    let repository = installation.register(&admin, "fleet", &evil).await;
    let run = installation.sync(&admin, &repository).await;
    let here = format!("{REPOSITORIES}/{repository}");
    let back = fields(json!({"repo_url": file_url(&good)}));
    installation.tell(&writer.secret, "PATCH", &here, &back).await.expect(200);
    let proposal = &run["proposals"][0];
    let shown = installation.get(&admin, &format!("{PROPOSALS}/{}", proposal["id"].as_str().unwrap())).await;
    assert_eq!(shown["proposal"]["status"], "withdrawn", "{shown}");
    let revert = json!({"kind": "cluster", "name": "one"});
    let reverted = installation.tell(&writer.secret, "POST", &format!("{here}/drift/revert"), &revert).await;
    let run = reverted.expect(202)["sync_run_id"].as_str().unwrap().to_owned();
    let run = installation.get(&admin, &format!("/api/v1/system/gitops_sync_runs/{run}?wait=60")).await;
    assert_eq!(run["sync_run"]["error"]["code"], "source-changed", "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_change_of_who_may_not_approve_waits_as_a_proposal() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let body = json!({"name": "one", "labels": {"tier": "lab"}});
    let path = format!("{CLUSTERS}?reason=incident%2012");
    let waiting = installation.tell(&writer.secret, "POST", &path, &body).await.expect(202);
    let proposal = waiting["proposal"].clone();
    assert!(waiting["message"].as_str().unwrap().contains("is now a proposal"), "{waiting}");
    assert_eq!(proposal["direct_reason"], "incident 12");
    assert!(
        proposal["repository_name"].as_str().unwrap().starts_with("direct change by operator"),
        "{proposal}"
    );
    assert_eq!(clusters(&installation, &admin).await, Vec::<Value>::new());
    // Requested again, it is the same proposal; requested by someone else, it is a conflict.
    let again = installation.tell(&writer.secret, "POST", CLUSTERS, &body).await.expect(202);
    assert_eq!(again["proposal"]["id"], proposal["id"]);
    let other = self::writer(&installation).await;
    let different = json!({"name": "one", "labels": {"tier": "prod"}});
    let refused = installation.tell(&other.secret, "POST", CLUSTERS, &different).await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "change-waits"), "{refused:?}");
    let listed = installation.get(&admin, &format!("{PROPOSALS}?repository=none&status=open")).await;
    assert_eq!(listed["proposals"].as_array().unwrap().len(), 1, "{listed}");
    let path = format!("{PROPOSALS}/{}", proposal["id"].as_str().unwrap());
    installation.approve(&admin, proposal["id"].as_str().unwrap()).await.expect(200);
    let applied = installation.ask(&admin.token, "POST", &format!("{path}/apply?wait=60")).await.expect(200);
    assert_eq!(applied["proposal"]["status"], "applied", "{applied}");
    let found = clusters(&installation, &admin).await;
    assert_eq!((found.len(), &found[0]["owner"]), (1, &Value::Null), "{found:?}");
    let gone = installation.ask(&writer.secret, "DELETE", &format!("{CLUSTERS}/one")).await.expect(202);
    assert_eq!(gone["proposal"]["change"], "destroy");
    assert_eq!(clusters(&installation, &admin).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_change_is_made_at_once_only_where_the_writers_own_approval_suffices() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "free").await.expect(201);
    let audit = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
    assert_eq!(
        (&audit["action"], &audit["detail"]["reason"]),
        (&json!("resource.create"), &json!("direct change"))
    );
    let rule = |rest: Value| {
        let mut rule = json!({"name": "it", "match": {"kinds": ["cluster"]}});
        rule.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!([rule])
    };
    for (number, rest) in [
        json!({"action": "require_approval", "approvals": 2}),
        json!({"action": "require_approval", "not_author": true}),
    ]
    .into_iter()
    .enumerate()
    {
        set_policy(&installation, &admin, rule(rest.clone())).await;
        let waiting = installation.make_cluster(&admin, &format!("waits-{number}")).await;
        assert_eq!(waiting.status, 202, "{rest}: {waiting:?}");
        assert_eq!(waiting.json()["proposal"]["status"], "pending_approval", "{rest}");
    }
    set_policy(&installation, &admin, rule(json!({"action": "block", "reason": "freeze"}))).await;
    let refused = installation.make_cluster(&admin, "blocked").await;
    assert_eq!((refused.status, refused.code().as_str()), (409, "blocked"), "{refused:?}");
    set_policy(&installation, &admin, rule(json!({"action": "auto_approve"}))).await;
    installation.make_cluster(&admin, "at-once").await.expect(201);
    let halt = json!({"reason": "incident"});
    installation.tell(&admin.token, "POST", "/api/v1/system/halt", &halt).await.expect(200);
    let held = installation.make_cluster(&admin, "held").await.expect(202);
    assert_eq!(held["proposal"]["status"], "approved", "{held}");
    assert!(held["message"].as_str().unwrap().contains("applying is halted"), "{held}");
    let made = clusters(&installation, &admin).await;
    for (name, is_there) in
        [("free", true), ("at-once", true), ("waits-1", false), ("blocked", false), ("held", false)]
    {
        assert_eq!(made.iter().any(|cluster| cluster["name"] == name), is_there, "{name}: {made:?}");
    }
    installation.ask(&admin.token, "POST", "/api/v1/system/resume").await.expect(200);
    let path = format!("{PROPOSALS}/{}/apply?wait=60", held["proposal"]["id"].as_str().unwrap());
    assert_eq!(
        installation.ask(&admin.token, "POST", &path).await.expect(200)["proposal"]["status"],
        "applied"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_about_a_repository_and_its_files_hold_for_direct_changes_of_what_it_owns() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(PROD);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    for matched in [
        json!({"repositories": ["fleet"]}),
        json!({"paths": ["fleet.yaml"]}),
        json!({"labels": {"tier": "prod"}}),
    ] {
        let rules = json!([{"name": "two", "match": matched, "action": "require_approval", "approvals": 2}]);
        set_policy(&installation, &admin, rules).await;
        let body = json!({"labels": {"tier": "lab"}});
        let waiting = installation.tell(&admin.token, "PATCH", &format!("{CLUSTERS}/one"), &body).await;
        assert_eq!(waiting.status, 202, "{matched}: {waiting:?}");
        assert_eq!(waiting.json()["proposal"]["gate"]["rule"], "two", "{matched}");
    }
    set_policy(&installation, &admin, json!([])).await;
    let body = json!({"labels": {"tier": "lab"}});
    installation.tell(&admin.token, "PATCH", &format!("{CLUSTERS}/one"), &body).await.expect(200);
    let report = installation.get(&admin, &format!("{REPOSITORIES}/{repository}/drift_report")).await;
    // Without the rule, their approved change may be applied before they ask again.
    let changed_by = report["drifted"][0]["changed_by"].as_str().unwrap();
    assert!(report["drift"] == json!(true) && changed_by.starts_with(&admin.email), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_on_files_holds_for_what_moves_out_of_them_or_is_taken_out() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet("version: 1\naccount: acme\ninclude: ['fleet.d/*.yaml']\n");
    let declared = |clusters: &str| format!("clusters: [{clusters}]\n");
    work.commit("fleet.d/prod.yaml", &declared("{name: one}, {name: two}"));
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let rules = json!([{"name": "twice", "match": {"paths": ["fleet.d/prod.yaml"]}, "action": "require_approval",
        "approvals": 2}, {"name": "free", "match": {"paths": ["fleet.d/lab.yaml"]}, "action": "auto_approve"}]);
    set_policy(&installation, &admin, rules).await;
    work.commit("fleet.d/prod.yaml", "clusters: []\n");
    work.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: lab}}"));
    installation.sync(&admin, &repository).await;
    let listed = installation.get(&admin, &format!("{PROPOSALS}?status=open")).await;
    let listed = listed["proposals"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    for proposal in listed {
        assert_eq!(
            (&proposal["gate"]["rule"], &proposal["gate"]["need"]),
            (&json!("twice"), &json!(2)),
            "{proposal}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_difference_is_reverted_by_approvers_alone() {
    let installation = Installation::start().await;
    let (admin, writer) = (installation.admin().await, writer(&installation).await);
    let work = fleet(PROD);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let body = json!({"labels": {"tier": "lab"}});
    installation.tell(&admin.token, "PATCH", &format!("{CLUSTERS}/one"), &body).await.expect(200);
    let drift = format!("{REPOSITORIES}/{repository}/drift");
    let accept = json!({"kind": "cluster", "name": "one", "reason": "meant"});
    installation.tell(&admin.token, "POST", &format!("{drift}/accept"), &accept).await.expect(200);
    let target = json!({"kind": "cluster", "name": "one"});
    let refused = installation.tell(&writer.secret, "POST", &format!("{drift}/revert"), &target).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    installation.tell(&admin.token, "POST", &format!("{drift}/revert"), &target).await.expect(202);
}
