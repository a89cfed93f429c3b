//! Fleets for the pages: with drift, with pending, rejected and failed changes. Deterministic.

use std::time::Duration;

use serde_json::json;
use windlass_api::permission::Role;
use windlass_core::rollout::RolloutNodeState;
use windlass_testkit::fleet::{FleetEdition, FleetForm, one_file};
use windlass_testkit::servers::WorkTree;

use crate::harness::{Installation, Person, config, now, texts};
use crate::reported_node::{file, report};

/// An installation with content on every page.
pub(crate) struct Scene {
    pub(crate) installation: Installation,
    pub(crate) admin: Person,
    /// The run with pending changes.
    pub(crate) run: String,
    /// The repositories, kept as long as the scene is used.
    _work: Vec<WorkTree>,
}

/// A scene with the minimum for every page.
pub(crate) async fn small() -> Scene {
    scene(24).await
}

/// A scene with a fleet of this many nodes.
pub(crate) async fn scene(nodes: usize) -> Scene {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.control.intervals.drift = Duration::from_millis(200);
    let installation = Installation::start_with(directory, config).await;
    let account = installation.account.clone();
    let admin = installation.person_with_email("ada@example.com", &account, Role::Admin).await;
    let approver = installation.person_with_email("ben@example.com", &account, Role::Approver).await;

    let work = WorkTree::new();
    let before = one_file(nodes, FleetForm::List, FleetEdition::Previous).text;
    commit(&work, &spread_over_cities(&before), "First sites of the edge fleet");
    let edge = installation.register(&admin, "edge-fleet", &work).await;
    let run = installation.sync(&admin, &edge).await;
    installation.apply_all(&approver, &run).await;

    make_manual_change(&installation, &admin).await;
    let message = "Larger caches, retire the oldest machine\n\nTokyo and London ran out of memory on Friday evening.\n\
                   The new machines take over from Monday on.";
    commit(&work, &spread_over_cities(&changed(&before)), message);
    let run = installation.sync(&admin, &edge).await;
    reject_one(&installation, &approver, &run).await;

    work.git(&["update-ref", "refs/pull/7/head", "HEAD"]);
    let previews = format!("/api/v1/system/gitops_repositories/{edge}/previews");
    let body = serde_json::json!({"ref": "refs/pull/7/head"});
    installation.tell(&admin.token, "POST", &previews, &body).await.expect(201);

    let broken = WorkTree::new();
    commit(&broken, BROKEN, "Add the Lisbon site");
    let lab = installation.register(&admin, "lab", &broken).await;
    installation.sync(&admin, &lab).await;
    enable_automatic_syncs(&installation, &admin, [&edge, &lab]).await;
    report_nodes(&installation, &admin).await;
    set_rules(&installation, &admin).await;
    store_rollout(&installation, nodes).await;
    store_enrolment(&installation, &admin).await;
    let run = run["id"].as_str().unwrap().to_owned();
    Scene { installation, admin, run, _work: vec![work, broken] }
}

/// Has every agent contact the server now: on a slow machine, nodes would be offline before a test looks at them.
pub(crate) async fn contact_agents(installation: &Installation) {
    let mut writing = installation.store.write().await.unwrap();
    for agent in writing.agents(&installation.account).await.unwrap() {
        writing.agent_contact(&agent.id, now()).await.unwrap();
    }
    writing.commit().await.unwrap();
}

/// Creates tokens with which agents can enrol, and stores the join of a host that waits.
async fn store_enrolment(installation: &Installation, admin: &Person) {
    let nodes = installation.get(admin, "/api/v1/system/node_status?state=unknown&limit=1").await;
    let tokens = "/api/v1/system/enrollment_tokens";
    let body = json!({"selector": {"name": "tokyo-*"}, "uses": 20, "join": "approve"});
    installation.tell(&admin.token, "POST", tokens, &body).await.expect(201);
    installation.store_join(nodes["nodes"][0]["name"].as_str().unwrap()).await;
}

/// Stores a rollout over the nodes, in which one failed and a few did not get the change.
async fn store_rollout(installation: &Installation, nodes: usize) {
    let names: Vec<String> = (0..nodes).map(|number| format!("tokyo-{number:05}")).collect();
    let state = |index: usize| match index {
        3 => RolloutNodeState::Failed,
        _ if index * 10 < nodes * 7 => RolloutNodeState::InSync,
        _ if index.is_multiple_of(9) => RolloutNodeState::Offline,
        _ => RolloutNodeState::Waiting,
    };
    let nodes: Vec<(&str, RolloutNodeState)> =
        names.iter().enumerate().map(|(index, name)| (name.as_str(), state(index))).collect();
    installation.store_rollout(&installation.account, &nodes).await;
}

/// A fleet with two mistakes in it.
const BROKEN: &str = "version: 1\naccount: acme\nnodes:\n  - {hostname: lisbon-01, template: edge-bse}\n  \
                      - {hostname: lisbon-02, regin: eu-west-4}\n";

fn commit(work: &WorkTree, text: &str, message: &str) {
    work.commit("fleet.yaml", text);
    work.git(&["commit", "--quiet", "--amend", "--message", message]);
}

/// Cities over which the fleet is spread, and their regions.
const CITIES: [(&str, &str); 4] =
    [("tokyo", "ap-tokyo-1"), ("london", "eu-west-2"), ("dallas", "us-south-1"), ("sydney", "ap-south-2")];

/// The same fleet spread over several cities: a small fleet has only one site.
fn spread_over_cities(text: &str) -> String {
    text.lines().map(|line| travelled_line(line) + "\n").collect()
}

fn travelled_line(line: &str) -> String {
    let mut parts = line.split("tokyo-");
    let mut told = parts.next().unwrap_or_default().to_owned();
    let mut region = "ap-tokyo-1";
    for part in parts {
        // Four neighbours share a city. A name without a number is the region.
        let number = part.get(..5).and_then(|digits| digits.parse::<usize>().ok());
        let (city, home) = number.map_or(("tokyo", region), |number| CITIES[number / 4 % CITIES.len()]);
        region = home;
        told = format!("{told}{city}-{part}");
    }
    told.replace("ap-tokyo-1", region)
}

/// The next version of a fleet: a few larger nodes, one removed, some new, a module with another setting.
fn changed(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_node = |line: &String, number: &str| line.contains(&format!("hostname: tokyo-{number},"));
    for line in lines.iter_mut().filter(|line| ["00002", "00014", "00020"].iter().any(|n| is_node(line, n))) {
        *line = line.replace("t3-small", "t3-large");
    }
    lines.retain(|line| !is_node(line, "00005"));
    let first = lines.iter().position(|line| is_node(line, "00000")).unwrap();
    let new = |number: u32| {
        format!(
            "  - {{hostname: tokyo-9{number:04}, template: cdn, region: ap-tokyo-1, instance_type: t3-small}}"
        )
    };
    for number in (1..=4).rev() {
        lines.insert(first, new(number));
    }
    lines.join("\n").replace("config: {workers: 4}", "config: {workers: 8}") + "\n"
}

/// Sets a policy, and creates tokens for machines.
async fn set_rules(installation: &Installation, admin: &Person) {
    let rules = json!([
        {"name": "modules-twice", "match": {"kinds": ["module", "assignment"]}, "action": "require_approval",
         "approvals": 2, "not_author": true},
        {"name": "lab-is-free", "match": {"labels": {"tier": "lab"}, "changes": ["create", "update"]},
         "action": "auto_approve"},
    ]);
    let policy = json!({"policy": {"rules": rules}});
    installation.tell(&admin.token, "PUT", "/api/v1/system/approval_policy", &policy).await.expect(200);
    for (name, permissions) in [
        ("nightly sync", json!(["system.gitops.read", "system.gitops.sync"])),
        ("dashboard", json!(["system.gitops.read", "system.fleet.read"])),
    ] {
        let token = json!({"name": name, "permissions": permissions, "expires_in_days": 90});
        installation.tell(&admin.token, "POST", "/api/v1/auth/tokens", &token).await.expect(201);
    }
}

/// Makes a manual change, and waits until it is detected.
async fn make_manual_change(installation: &Installation, admin: &Person) {
    let mut events = installation.listen(&admin.token, "?kind=gitops.drift_detected", None).await;
    for (name, change) in [
        ("tokyo-00003", json!({"instance_type": "t3-xlarge"})),
        ("london-00007", json!({"labels": {"rack": "9", "maintenance": "yes"}})),
    ] {
        let path = format!("/api/v1/system/nodes/{name}");
        installation.tell(&admin.token, "PATCH", &path, &change).await.expect(200);
        events.next().await.unwrap();
    }
}

/// Enables automatic syncs, which run at once and then not for a day.
async fn enable_automatic_syncs(installation: &Installation, admin: &Person, repositories: [&String; 2]) {
    for repository in repositories {
        let mut events = installation.listen(&admin.token, "?kind=gitops.", None).await;
        let path = format!("/api/v1/system/gitops_repositories/{repository}");
        let body = json!({"gitops_repository": {"enabled": true, "reconcile_interval_seconds": 86_400}});
        installation.tell(&admin.token, "PATCH", &path, &body).await.expect(200);
        let is_end = |kind: &str| ["gitops.sync_succeeded", "gitops.sync_failed"].contains(&kind);
        while !is_end(&events.next().await.unwrap().kind) {}
    }
}

/// Rejects the proposals that destroy something.
async fn reject_one(installation: &Installation, approver: &Person, run: &serde_json::Value) {
    let proposals = run["proposals"].as_array().unwrap();
    let destroy = proposals.iter().find(|proposal| proposal["change"] == "destroy").unwrap();
    let path = format!("/api/v1/system/proposals/{}/reject", destroy["id"].as_str().unwrap());
    let body = json!({"reason": "it still serves the old office until Friday", "until_change": true});
    installation.tell(&approver.token, "POST", &path, &body).await.expect(200);
}

/// Lets the agents of the first nodes report: one drifted, the others in sync.
async fn report_nodes(installation: &Installation, admin: &Person) {
    let nodes = installation.get(admin, "/api/v1/system/nodes?limit=8").await;
    for (index, name) in texts(&nodes["nodes"], "name").iter().enumerate() {
        let assigned = "user www-data;\nworker_processes 4;\nevents {\n    worker_connections 1024;\n}\n";
        let observed = assigned.replace("worker_processes 4", "worker_processes 16");
        let items = match index {
            0 => vec![
                file("/etc/nginx/nginx.conf", &observed, assigned),
                file("/etc/motd", "welcome\n", "hello\n"),
            ],
            _ => Vec::new(),
        };
        report(installation, name, items).await;
    }
}
