//! Module versions: made by applying a module, promoted through the gate, followed by what pins them.

use std::time::Instant;

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_testkit::servers::WorkTree;

use crate::harness::{Installation, Person, TIMEOUT, fleet, texts};

/// A fleet with a module and these templates.
fn fleet_text(module: &str, templates: &[(&str, &str)]) -> String {
    let templates: Vec<String> = templates
        .iter()
        .map(|(name, pin)| format!("  {name}: {{node_platform: debian-12-amd64, modules: [{pin}]}}\n"))
        .collect();
    format!("version: 1\naccount: acme\nmodules:\n  web: {module}\ntemplates:\n{}", templates.concat())
}

/// An admin with a registered repository.
struct Fleet {
    installation: Installation,
    admin: Person,
    repository: String,
    work: WorkTree,
}

impl Fleet {
    async fn start(text: &str) -> Fleet {
        let installation = Installation::start().await;
        let admin = installation.admin().await;
        let work = fleet(text);
        let repository = installation.register(&admin, "fleet", &work).await;
        Fleet { installation, admin, repository, work }
    }

    async fn sync(&self) -> Value {
        self.installation.sync(&self.admin, &self.repository).await
    }

    async fn commit(&self, text: &str) -> Value {
        self.work.commit("fleet.yaml", text);
        self.sync().await
    }

    async fn apply(&self, run: &Value) {
        self.installation.apply_all(&self.admin, run).await;
    }

    async fn get(&self, path: &str) -> Value {
        self.installation.get(&self.admin, &format!("/api/v1/system/{path}")).await
    }

    /// Each version of the module with its state, newest first.
    async fn versions(&self) -> Vec<String> {
        let list = self.get("node_modules/web/versions").await;
        let told =
            |one: &Value| format!("{} {}", one["version"].as_str().unwrap(), one["state"].as_str().unwrap());
        list["versions"].as_array().unwrap().iter().map(told).collect()
    }

    async fn set_state(&self, version: &str, state: &str, reason: &str) -> crate::harness::Reply {
        let path = format!("/api/v1/system/node_modules/web/versions/{version}?reason={reason}");
        self.installation.tell(&self.admin.token, "PATCH", &path, &json!({"state": state})).await
    }

    /// The newest finished run that a promotion triggered, once there are so many.
    async fn promotion_run(&self, count: usize) -> Value {
        let begun = Instant::now();
        loop {
            let list = self.get("gitops_sync_runs?limit=100").await;
            let runs = list["sync_runs"].as_array().unwrap();
            let of_promotions: Vec<&Value> = runs
                .iter()
                .filter(|run| run["trigger"] == "promotion" && run["status"] != "in_progress")
                .collect();
            if of_promotions.len() >= count {
                let id = of_promotions[0]["id"].as_str().unwrap();
                return self.get(&format!("gitops_sync_runs/{id}")).await["sync_run"].clone();
            }
            assert!(begun.elapsed() < TIMEOUT, "{list}");
            tokio::task::yield_now().await;
        }
    }

    /// The open proposals about a resource.
    async fn open(&self, name: &str) -> Vec<Value> {
        let list = self.get(&format!("proposals?name={name}&status=pending_approval")).await;
        list["proposals"].as_array().unwrap().clone()
    }
}

const TEMPLATES: [(&str, &str); 3] = [("one", "web@live"), ("two", "web@live"), ("exact", "web@1.26.0")];

#[tokio::test(flavor = "multi_thread")]
async fn promoting_a_version_proposes_everything_that_follows_it_as_one_group() {
    let first = fleet_text("{version: 1.26.0, priority: 10}", &TEMPLATES);
    let fleet = Fleet::start(&first).await;
    let run = fleet.sync().await;
    fleet.apply(&run).await;
    assert_eq!(fleet.versions().await, ["1.26.0 live"]);
    let made = fleet.get("node_module_versions/web@1.26.0").await;
    assert_eq!(made["node_module_version"]["owner"], Value::Null, "nobody owns what a module makes");

    let by_hand = json!({"name": "by-hand", "node_platform": "debian-12-amd64", "modules": ["web@live"]});
    let path = "/api/v1/system/node_templates";
    fleet.installation.tell(&fleet.admin.token, "POST", path, &by_hand).await.expect(201);
    let second = fleet_text("{version: 1.27.0, version_state: staging, priority: 20}", &TEMPLATES);
    let run = fleet.commit(&second).await;
    assert_eq!(texts(&run["proposals"], "name"), ["web"], "templates at @live keep 1.26.0");
    fleet.apply(&run).await;
    assert_eq!(fleet.versions().await, ["1.27.0 staging", "1.26.0 live"]);
    assert_eq!(fleet.sync().await["status"], "success");

    fleet.set_state("1.27.0", "live", "tested").await.expect(200);
    let run = fleet.promotion_run(1).await;
    assert_eq!(texts(&run["proposals"], "name"), ["one", "two"], "{run}");
    let groups: Vec<&Value> =
        run["sets"].as_array().unwrap().iter().filter(|set| set["scope"] == "group").collect();
    assert_eq!((groups.len(), &groups[0]["count"]), (1, &json!(2)), "{run}");
    let id = run["proposals"][0]["id"].as_str().unwrap();
    let fields = &fleet.get(&format!("proposals/{id}")).await["proposal"]["fields"];
    let expected = json!([{"path": "modules[\"web@live\"]", "before": "1.26.0", "after": "1.27.0"}]);
    assert_eq!(fields, &expected);
    let direct = fleet.open("by-hand").await;
    assert_eq!(direct.len(), 1, "a template of nobody follows too");
    assert_eq!(direct[0]["repository_id"], "");

    fleet.apply(&run).await;
    assert_eq!(fleet.sync().await["status"], "success", "nothing is left to propose");
    fleet.set_state("1.26.0", "retired", "old").await.expect(200);
    let list = fleet.get("node_modules/web/versions").await;
    assert_eq!(list["versions"][0]["used_by"]["templates"], 2, "{list}");
    let used = &list["versions"][1]["used_by"];
    assert_eq!(used["templates"], 2, "the exact pin, and by-hand until its proposal is approved: {list}");
    let path = "/api/v1/system/node_module_versions/web@1.26.0";
    let refused = fleet.installation.ask(&fleet.admin.token, "DELETE", path).await;
    assert_eq!((refused.status, refused.code()), (409, "referenced".to_owned()), "{refused:?}");
    assert!(refused.text.contains("template by-hand and 1 more still refers to it"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_that_nothing_satisfies_is_blocked_and_unblocks_by_itself() {
    let text = fleet_text("{version: 1.0.0, version_state: built}", &[("late", "web@blessed")]);
    let fleet = Fleet::start(&text).await;
    let run = fleet.sync().await;
    let module = run["proposals"].as_array().unwrap().iter().find(|one| one["name"] == "web").unwrap();
    fleet.installation.approve(&fleet.admin, module["id"].as_str().unwrap()).await.expect(200);
    let path = format!("/api/v1/system/proposals/{}/apply?wait=60", module["id"].as_str().unwrap());
    fleet.installation.ask(&fleet.admin.token, "POST", &path).await.expect(200);
    fleet.sync().await;
    let blocked = fleet.open("late").await;
    assert_eq!(blocked[0]["blocked_by"], json!(["no version of the module web is blessed"]));
    assert_eq!(blocked[0]["blocked_by_kinds"], json!(["no_version"]));

    fleet.set_state("1.0.0", "blessed", "").await.expect(200);
    let run = fleet.promotion_run(1).await;
    assert_eq!(texts(&run["proposals"], "name"), ["late"]);
    let open = fleet.open("late").await;
    assert_eq!((open.len(), &open[0]["blocked_by"]), (1, &json!([])));
    fleet.apply(&run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_declares_a_module_and_the_state_of_its_version_in_one_commit() {
    let text = fleet_text("{version: 1.0.0, version_state: staging}", &[("t", "web@1.0.0")]);
    let declared = |state: &str| format!("{text}module_versions:\n  web@1.0.0: {{state: {state}}}\n");
    let fleet = Fleet::start(&declared("blessed")).await;
    let run = fleet.sync().await;
    assert_eq!(texts(&run["proposals"], "name"), ["web", "web@1.0.0", "t"], "{run}");
    fleet.apply(&run).await;
    assert_eq!(fleet.versions().await, ["1.0.0 blessed"]);
    let made = fleet.get("node_module_versions/web@1.0.0").await;
    assert_eq!(made["node_module_version"]["owner"]["repository_name"], "fleet");
    assert_eq!(fleet.sync().await["status"], "success", "nothing differs");
    let run = fleet.commit(&declared("live")).await;
    assert_eq!(texts(&run["proposals"], "name"), ["web@1.0.0"]);
    fleet.apply(&run).await;
    assert_eq!(fleet.versions().await, ["1.0.0 live"]);
    let drift = fleet.get(&format!("gitops_repositories/{}/drift_report", fleet.repository)).await;
    assert_eq!(drift["drift"], false, "{drift}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_content_of_a_version_never_changes() {
    let fleet = Fleet::start(&fleet_text("{version: 1.0.0, priority: 10}", &[("t", "web@live")])).await;
    let run = fleet.sync().await;
    fleet.apply(&run).await;
    let run = fleet.commit(&fleet_text("{version: 1.0.0, priority: 20}", &[("t", "web@live")])).await;
    let reason = "version 1.0.0 of web exists with other content; give it a new version";
    assert_eq!(fleet.open("web").await[0]["blocked_by"], json!([reason]), "{run}");
    let path = "/api/v1/system/node_modules/web";
    let refused = fleet.installation.tell(&fleet.admin.token, "PATCH", path, &json!({"priority": 30})).await;
    assert_eq!((refused.status, refused.code()), (409, "version-reused".to_owned()), "{refused:?}");
    let described = json!({"description": "not part of the content"});
    fleet.installation.tell(&fleet.admin.token, "PATCH", path, &described).await.expect(200);
    assert_eq!(fleet.versions().await, ["1.0.0 live"]);
    let written = json!({"name": "web@2.0.0", "state": "live"});
    let path = "/api/v1/system/node_module_versions";
    let refused = fleet.installation.tell(&fleet.admin.token, "POST", path, &written).await;
    assert_eq!(refused.status, 422, "only a module makes a version: {refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_passes_the_gate_and_git_takes_no_version_back() {
    let text = fleet_text("{version: 1.0.0, version_state: staging}", &[("t", "web@1.0.0")]);
    let fleet = Fleet::start(&text).await;
    let run = fleet.sync().await;
    fleet.apply(&run).await;
    let rules = json!({"policy": {"rules": [{"name": "live-needs-two", "action": "require_approval", "approvals": 2,
        "match": {"kinds": ["module_version"], "to_states": ["live"]}}]}});
    let path = "/api/v1/system/approval_policy";
    fleet.installation.tell(&fleet.admin.token, "PUT", path, &rules).await.expect(200);

    fleet.set_state("1.0.0", "blessed", "").await.expect(200);
    let waiting = fleet.set_state("1.0.0", "live", "").await.expect(202);
    assert_eq!(waiting["proposal"]["gate"]["rule"], "live-needs-two", "{waiting}");
    assert_eq!(fleet.versions().await, ["1.0.0 blessed"]);
    let other = fleet.installation.person(&fleet.installation.account, Role::Admin).await;
    fleet.installation.approve(&other, waiting["proposal"]["id"].as_str().unwrap()).await.expect(200);
    let begun = Instant::now();
    while fleet.versions().await != ["1.0.0 live"] {
        assert!(begun.elapsed() < TIMEOUT);
    }

    let writer = fleet.installation.person(&fleet.installation.account, Role::Operator).await;
    let path = "/api/v1/system/node_modules/web/versions/1.0.0";
    let retire = json!({"state": "retired"});
    let waiting = fleet.installation.tell(&writer.token, "PATCH", path, &retire).await.expect(202);
    assert_eq!(waiting["proposal"]["status"], "pending_approval", "an operator cannot retire alone");
    assert_eq!(fleet.versions().await, ["1.0.0 live"]);

    let refused = fleet.set_state("1.0.0", "staging", "").await;
    assert_eq!((refused.status, refused.code()), (422, "reason-missing".to_owned()), "{refused:?}");
    fleet.commit(&format!("{text}module_versions:\n  web@1.0.0: {{state: staging}}\n")).await;
    let blocked = fleet.open("web@1.0.0").await;
    let from_git = blocked.iter().find(|one| one["repository_id"] != Value::Null).unwrap();
    assert_eq!(from_git["blocked_by_kinds"], json!(["version_back"]), "{from_git}");
}
