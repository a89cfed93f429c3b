//! A restricting rule cannot be bypassed: not by removing its repository, not by moving a declaration to another file,
//! not by a run that did not fetch, not by a repository of the same name, and not by confirming what nobody saw.

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_testkit::servers::WorkTree;

use crate::harness::{Installation, Person, fleet};

const REPOSITORIES: &str = "/api/v1/system/gitops_repositories";
const PROPOSALS: &str = "/api/v1/system/proposals";
const POLICY: &str = "/api/v1/system/approval_policy";
const CLUSTERS: &str = "/api/v1/system/clusters";

const PROD: &str = "version: 1\naccount: acme\nclusters: [{name: one, labels: {tier: prod}}]\n";
const LAB: &str = "version: 1\naccount: acme\nclusters: [{name: one, labels: {tier: lab}}]\n";
const EMPTY: &str = "version: 1\naccount: acme\n";

/// An installation with an approver, and an operator who may do everything except approve.
struct Scene {
    installation: Installation,
    admin: Person,
    operator: Person,
}

impl Scene {
    async fn new() -> Scene {
        let installation = Installation::start().await;
        let admin = installation.admin().await;
        let operator = installation.person(&installation.account, Role::Operator).await;
        Scene { installation, admin, operator }
    }

    async fn set_policy(&self, rules: Value) {
        let body = json!({"policy": {"rules": rules}});
        self.installation.tell(&self.admin.token, "PUT", POLICY, &body).await.expect(200);
    }

    /// Registers a repository, and applies its changes, with approval if that is needed.
    async fn accepted(&self, name: &str, work: &WorkTree) -> String {
        let repository = self.installation.register(&self.admin, name, work).await;
        let run = self.installation.sync(&self.admin, &repository).await;
        if run["proposals"][0]["status"] == "pending_approval" {
            self.installation.apply_all(&self.admin, &run).await;
        }
        repository
    }

    async fn sync(&self, repository: &str) -> Value {
        self.installation.sync(&self.operator, repository).await
    }

    async fn get(&self, path: &str) -> Value {
        self.installation.get(&self.admin, path).await
    }

    async fn proposal(&self, id: &Value) -> Value {
        self.get(&format!("{PROPOSALS}/{}", id.as_str().unwrap())).await["proposal"].clone()
    }

    /// The accepted cluster, after the apply loop has checked everything once more.
    async fn cluster(&self) -> Value {
        let made = self.installation.make_cluster(&self.admin, &format!("turn-{}", self.count().await)).await;
        made.expect(201);
        self.get(&format!("{CLUSTERS}/one")).await
    }

    async fn count(&self) -> usize {
        self.get(CLUSTERS).await["clusters"].as_array().unwrap().len()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_repository_needs_an_approver_if_a_rule_names_it_or_it_owns_resources() {
    let scene = Scene::new().await;
    let (prod, dev) = (fleet(PROD), fleet(EMPTY));
    let prod = scene.accepted("prod", &prod).await;
    let dev_id = scene.installation.register(&scene.admin, "dev", &dev).await;
    scene
        .set_policy(json!([
            {"name": "strict", "match": {"repositories": ["prod"]}, "action": "require_approval", "approvals": 2,
             "not_author": true},
            {"name": "free", "match": {"repositories": ["dev"]}, "action": "auto_approve"},
        ]))
        .await;
    dev.commit("fleet.yaml", LAB);
    let run = scene.sync(&dev_id).await;
    let contested = &run["proposals"][0];
    assert_eq!(contested["status"], "pending_approval", "no rule of dev approves what prod owns: {run}");
    let shown = scene.proposal(&contested["id"]).await;
    assert!(shown["gate"]["reasons"].to_string().contains("another repository owns it"), "{shown}");
    let refused =
        scene.installation.ask(&scene.operator.token, "DELETE", &format!("{REPOSITORIES}/{prod}")).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text.contains("the rule `strict`"), "{refused:?}");
    scene.set_policy(json!([])).await;
    let refused =
        scene.installation.ask(&scene.operator.token, "DELETE", &format!("{REPOSITORIES}/{prod}")).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text.contains("owns 1 resource"), "{refused:?}");
    assert_eq!(scene.cluster().await["cluster"]["spec"]["labels"]["tier"], "prod");
    // A repository that owns nothing, and that no rule names, is for writers to change.
    let unused = scene.installation.register(&scene.operator, "unused", &fleet(EMPTY)).await;
    let here = format!("{REPOSITORIES}/{unused}");
    scene.installation.ask(&scene.operator.token, "DELETE", &here).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contested_change_is_re_evaluated_when_the_resource_loses_its_owner() {
    let scene = Scene::new().await;
    let (prod, dev) = (fleet(PROD), fleet(LAB));
    let prod = scene.accepted("prod", &prod).await;
    let dev = scene.installation.register(&scene.admin, "dev", &dev).await;
    let rule = json!({"name": "free", "match": {"repositories": ["dev"]}, "action": "auto_approve"});
    scene.set_policy(json!([rule])).await;
    let contested = scene.sync(&dev).await["proposals"][0].clone();
    let gone = format!("{REPOSITORIES}/{prod}");
    scene.installation.ask(&scene.admin.token, "DELETE", &gone).await.expect(204);
    assert_eq!(scene.proposal(&contested["id"]).await["status"], "pending_approval");
    scene.sync(&dev).await;
    let path = format!("{PROPOSALS}/{}/apply?wait=60", contested["id"].as_str().unwrap());
    let applied = scene.installation.ask(&scene.admin.token, "POST", &path).await.expect(200);
    assert_eq!(applied["proposal"]["status"], "applied", "{applied}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_direct_change_is_withdrawn_with_the_owning_repository() {
    let scene = Scene::new().await;
    let prod = scene.accepted("prod", &fleet(PROD)).await;
    let body = json!({"labels": {"tier": "lab"}});
    let path = format!("{CLUSTERS}/one");
    let waiting = scene.installation.tell(&scene.operator.token, "PATCH", &path, &body).await.expect(202);
    let gone = format!("{REPOSITORIES}/{prod}");
    scene.installation.ask(&scene.admin.token, "DELETE", &gone).await.expect(204);
    let shown = scene.proposal(&waiting["proposal"]["id"]).await;
    assert_eq!(shown["status"], "withdrawn", "{shown}");
    assert!(shown["reason"].as_str().unwrap().contains("removed"), "{shown}");
}

/// A repository with two files, and a rule that restricts one of them and allows the other.
async fn two_files(scene: &Scene) -> (WorkTree, String) {
    let work = fleet("version: 1\naccount: acme\ninclude: ['fleet.d/*.yaml']\n");
    work.commit("fleet.d/lab.yaml", "clusters: []\n");
    work.commit("fleet.d/prod.yaml", &declared("{name: one, labels: {tier: prod}}"));
    let repository = scene.accepted("fleet", &work).await;
    scene
        .set_policy(json!([
            {"name": "twice", "match": {"paths": ["fleet.d/prod.yaml"]}, "action": "require_approval", "approvals": 2},
            {"name": "free", "match": {"paths": ["fleet.d/lab.yaml"], "changes": ["create", "update", "destroy"]},
             "action": "auto_approve"},
        ]))
        .await;
    (work, repository)
}

fn declared(clusters: &str) -> String {
    format!("clusters: [{clusters}]\n")
}

/// Moves the cluster to the file that a rule allows, in a commit that changes nothing else.
async fn move_only(scene: &Scene, (work, repository): &(WorkTree, String)) {
    work.commit("fleet.d/prod.yaml", "clusters: []\n");
    work.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: prod}}"));
    let run = scene.sync(repository).await;
    assert_eq!(run["diff_count"], 0, "a file is no part of a resource: {run}");
}

async fn assert_twice(scene: &Scene, repository: &str) {
    let run = scene.sync(repository).await;
    let shown = scene.proposal(&run["proposals"][0]["id"]).await;
    let gate = (&shown["gate"]["rule"], &shown["gate"]["need"], &shown["status"]);
    assert_eq!(gate, (&json!("twice"), &json!(2), &json!("pending_approval")), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_on_files_applies_to_the_change_after_a_move() {
    let scene = Scene::new().await;
    let moved = two_files(&scene).await;
    move_only(&scene, &moved).await;
    let body = json!({"labels": {"tier": "lab"}});
    let direct =
        scene.installation.tell(&scene.admin.token, "PATCH", &format!("{CLUSTERS}/one"), &body).await;
    assert_eq!(direct.expect(202)["proposal"]["gate"]["rule"], "twice");
    moved.0.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: lab}}"));
    assert_twice(&scene, &moved.1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_on_files_applies_to_the_destroy_after_a_move() {
    let scene = Scene::new().await;
    let moved = two_files(&scene).await;
    move_only(&scene, &moved).await;
    moved.0.commit("fleet.d/lab.yaml", "clusters: []\n");
    assert_twice(&scene, &moved.1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_on_files_applies_to_a_resource_that_is_removed_and_declared_elsewhere() {
    let scene = Scene::new().await;
    let moved = two_files(&scene).await;
    moved.0.commit("fleet.d/prod.yaml", "clusters: []\n");
    assert_twice(&scene, &moved.1).await;
    moved.0.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: prod}}"));
    assert_eq!(scene.sync(&moved.1).await["diff_count"], 0);
    moved.0.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: lab}}"));
    assert_twice(&scene, &moved.1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_approved_change_the_rules_for_the_new_file_apply() {
    let scene = Scene::new().await;
    let moved = two_files(&scene).await;
    move_only(&scene, &moved).await;
    moved.0.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: lab}}"));
    let run = scene.sync(&moved.1).await;
    let path = format!("{PROPOSALS}/{}", run["proposals"][0]["id"].as_str().unwrap());
    let second = scene.installation.admin().await;
    for approver in [&scene.admin, &second] {
        scene.installation.ask(&approver.token, "POST", &format!("{path}/approve")).await.expect(200);
    }
    let applied = scene.installation.ask(&second.token, "POST", &format!("{path}/apply?wait=60")).await;
    assert_eq!(applied.expect(200)["proposal"]["status"], "applied");
    moved.0.commit("fleet.d/lab.yaml", &declared("{name: one, labels: {tier: free}}"));
    let run = scene.sync(&moved.1).await;
    assert_ne!(run["proposals"][0]["status"], "pending_approval", "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_fetch_does_not_release_the_hold_of_a_failed_sync() {
    let scene = Scene::new().await;
    let work = fleet("version: 1\naccount: acme\nclusters: [{name: one}, {name: two}]\n");
    let repository = scene.accepted("fleet", &work).await;
    work.commit("fleet.yaml", "version: 1\naccount: acme\nclusters: [{name: two}]\n");
    let destroy = scene.sync(&repository).await["proposals"][0].clone();
    assert_eq!(destroy["change"], "destroy");
    work.commit("fleet.yaml", "version: 1\naccount: [\n");
    let failed = scene.sync(&repository).await;
    assert_eq!(failed["status"], "failed");
    let path = format!("{PROPOSALS}/{}", destroy["id"].as_str().unwrap());
    scene.installation.ask(&scene.admin.token, "POST", &format!("{path}/approve")).await.expect(200);
    let by_hand = json!({"labels": {"made": "by-hand"}});
    let path = format!("{CLUSTERS}/two");
    scene.installation.tell(&scene.admin.token, "PATCH", &path, &by_hand).await.expect(200);
    let target = json!({"kind": "cluster", "name": "two"});
    let drift = format!("{REPOSITORIES}/{repository}/drift/revert");
    let reverted = scene.installation.tell(&scene.operator.token, "POST", &drift, &target).await.expect(202);
    let run = reverted["sync_run_id"].as_str().unwrap();
    let run = scene.get(&format!("/api/v1/system/gitops_sync_runs/{run}?wait=60")).await["sync_run"].clone();
    assert_eq!(run["error"], Value::Null, "{run}");
    let repository = scene.get(&format!("{REPOSITORIES}/{repository}")).await["gitops_repository"].clone();
    assert_eq!(repository["last_status"], "failed", "{repository}");
    let opened = run["proposals"].as_array().unwrap().iter().find(|it| it["name"] == "two").unwrap();
    for id in [&destroy["id"], &opened["id"]] {
        let path = format!("{PROPOSALS}/{}", id.as_str().unwrap());
        scene.installation.ask(&scene.admin.token, "POST", &format!("{path}/approve")).await;
        scene.installation.ask(&scene.admin.token, "POST", &format!("{path}/apply?wait=5")).await;
        let held = scene.proposal(id).await;
        assert_eq!(held["status"], "approved", "{held}");
        assert!(held["blocked_by"].to_string().contains("failed"), "{held}");
    }
    assert_eq!(scene.count().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn saving_a_policy_again_does_not_trust_a_new_repository_of_the_same_name() {
    let scene = Scene::new().await;
    let trusted = scene.installation.register(&scene.admin, "fleet", &fleet(EMPTY)).await;
    let rules = json!([{"name": "trusts", "match": {"repositories": ["fleet"]}, "action": "auto_approve"}]);
    scene.set_policy(rules.clone()).await;
    let gone = format!("{REPOSITORIES}/{trusted}");
    scene.installation.ask(&scene.admin.token, "DELETE", &gone).await.expect(204);
    // Nobody has the name: the saved policy can be saved again, and the rule matches nothing.
    scene.set_policy(rules.clone()).await;
    assert_eq!(scene.get(POLICY).await["unknown_repositories"], json!(["fleet"]));
    let lab = fleet(LAB);
    let evil = scene.installation.register(&scene.operator, "fleet", &lab).await;
    let body = json!({"policy": {"rules": rules}});
    let refused = scene.installation.tell(&scene.admin.token, "PUT", POLICY, &body).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "repository-name-reused"), "{refused:?}");
    assert!(refused.text.contains("the rule `trusts`") && refused.text.contains(&evil), "{refused:?}");
    let run = scene.sync(&evil).await;
    assert_eq!(run["proposals"][0]["status"], "pending_approval", "{run}");
    // To mean the other repository of the same name, the rule must name its id.
    scene
        .set_policy(json!([{"name": "trusts", "match": {"repositories": [evil]}, "action": "auto_approve"}]))
        .await;
    let shown = scene.get(POLICY).await;
    assert_eq!(shown["policy"]["rules"][0]["match"]["repositories"], json!(["fleet"]), "{shown}");
    scene.set_policy(shown["policy"]["rules"].clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_repository_can_be_named_like_an_id() {
    let scene = Scene::new().await;
    let repository = scene.installation.register(&scene.operator, "fleet", &fleet(EMPTY)).await;
    let named = json!({"gitops_repository": {"name": repository}});
    let here = format!("{REPOSITORIES}/{repository}");
    let refused = scene.installation.tell(&scene.admin.token, "PATCH", &here, &named).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "bad-value"), "{refused:?}");
    assert!(refused.text.contains("looks like an id"), "{refused:?}");
}

fn many(count: usize) -> String {
    let clusters: Vec<String> = (0..count).map(|number| format!("{{name: c{number}}}")).collect();
    format!("version: 1\naccount: acme\nclusters: [{}]\n", clusters.join(", "))
}

impl Scene {
    /// Requests a sync that confirms a mass destroy.
    async fn confirm(&self, who: &Person, repository: &str, commit: Option<&str>) -> crate::harness::Reply {
        let mut body = json!({"confirm_mass_destroy": true});
        if let Some(commit) = commit {
            body["commit"] = json!(commit);
        }
        let path = format!("{REPOSITORIES}/{repository}/sync_now?wait=60");
        self.installation.tell(&who.token, "POST", &path, &body).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_approvers_confirm_a_mass_destroy_and_only_for_the_stopped_commit() {
    let scene = Scene::new().await;
    let work = fleet(&many(13));
    let repository = scene.accepted("fleet", &work).await;
    let first = work.commit("fleet.yaml", &many(2));
    assert_eq!(scene.sync(&repository).await["error"]["code"], "mass-destroy");
    let refused = scene.confirm(&scene.operator, &repository, None).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text.contains("system.gitops.approve"), "{refused:?}");
    // While the approver reviews, someone pushes more.
    work.commit("fleet.yaml", &many(1));
    for commit in [None, Some(first.as_str())] {
        let run = scene.confirm(&scene.admin, &repository, commit).await.expect(202)["sync_run"].clone();
        if commit.is_none() {
            assert_eq!(run["error"]["code"], "mass-destroy", "{run}");
            let message = run["error"]["message"].as_str().unwrap();
            assert!(message.contains(&format!("confirmed for another commit, {first}")), "{message}");
            work.git(&["reset", "--quiet", "--hard", &first]);
            continue;
        }
        assert_eq!((&run["error"], &run["commit_sha"]), (&Value::Null, &json!(first)), "{run}");
        assert_eq!(run["proposals"].as_array().unwrap().len(), 11, "{run}");
    }
    for (body, code) in [
        (json!({"confirm_mass_destroy": true, "commit": "main"}), "bad-value"),
        (json!({"commit": first}), "conflicting-keys"),
    ] {
        let path = format!("{REPOSITORIES}/{repository}/sync_now");
        let refused = scene.installation.tell(&scene.admin.token, "POST", &path, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, code), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attachment_of_a_trusted_repository_must_pass_the_rules_about_the_node() {
    let scene = Scene::new().await;
    let prod_fleet = "version: 1\naccount: acme\ntemplates: [{name: web, node_platform: ubuntu-24.04-amd64}]\n\
                      nodes: [{hostname: prod-1, template: web}]\n";
    let prod = fleet(prod_fleet);
    scene.accepted("prod", &prod).await;
    let own = "version: 1\naccount: acme\nmodules: [{name: agent, version: 1.0.0}]\n\
               templates: [{name: lab, node_platform: ubuntu-24.04-amd64}]\nnodes: [{hostname: lab-1, template: lab}]\n\
               assignments: {'lab-1:agent': {}, 'prod-1:agent': {}}\n";
    let dev = fleet(own);
    let dev_id = scene.installation.register(&scene.admin, "dev", &dev).await;
    let rules = json!([
        {"name": "twice", "match": {"repositories": ["prod"]}, "action": "require_approval", "approvals": 2},
        {"name": "free", "match": {"repositories": ["dev"]}, "action": "auto_approve"}]);
    scene.set_policy(rules).await;
    scene.sync(&dev_id).await;
    let open = scene.get(&format!("{PROPOSALS}?status=pending_approval")).await;
    let waiting: Vec<(&Value, &Value, &Value)> = open["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["name"], &it["gate"]["rule"], &it["gate"]["need"]))
        .collect();
    assert_eq!(waiting, [(&json!("prod-1:agent"), &json!("twice"), &json!(2))], "{open}");
}
