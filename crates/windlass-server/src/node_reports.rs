//! Tests from the report of an agent to what people see through REST: status, drift, events, ways out, and what hostile
//! reports cannot do. Agents are injected: how they authenticate is another matter.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use windlass_api::agent::{ReportBody, ReportReceipt};
use windlass_control::ask::agent::report::report;
use windlass_control::caller::AgentCaller;
use windlass_control::clock::now;
use windlass_control::flow::observe::write_loop;
use windlass_control::loops::agent_events::number_events;
use windlass_control::loops::contacts::announce_contacts;
use windlass_control::refusal::{Refusal, RefusalKind};
use windlass_core::agent::Agent;
use windlass_core::host::{BlobDigest, NodeDocument, NodeModule};
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_store::NewAssignment;

use crate::gate_machine::installation::{Installation, TestCaller};

/// A text that must not be anywhere.
const PLANTED: &str = "hunter2hunter2";

struct World {
    installation: Installation,
    account: AccountId,
    callers: Vec<TestCaller>,
    document: NodeDocument,
    writer: JoinHandle<()>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

fn key(name: &str) -> ResourceKey {
    ResourceKey::new(Kind::Node, name)
}

fn document() -> NodeDocument {
    let module = |name: &str| NodeModule {
        name: name.to_owned(),
        version: Some("1.26.0".to_owned()),
        package: BlobDigest::of(name.as_bytes()),
        priority: 0,
        depends_on: Vec::new(),
        config: serde_json::Map::new(),
    };
    NodeDocument {
        node: serde_json::Map::new(),
        config: serde_json::Map::new(),
        modules: vec![module("motd"), module("nginx")],
    }
}

impl World {
    /// An account with two nodes that have the same assignment.
    async fn new() -> World {
        let installation = Installation::new(100).await;
        let (account, callers) = installation.account("acme").await;
        let document = document();
        let mut writing = installation.server.store().write_account(&account).await.expect("a transaction");
        for (name, region) in [("edge-01", "eu"), ("edge-02", "us")] {
            let text = json!({"template": "edge", "region": region, "labels": {"tier": "edge"}}).to_string();
            let spec = Spec::read(Kind::Node, &text).spec.expect("a node");
            writing.resource_put(&key(name), &spec, None, "ada", now()).await.expect("a node");
            let text = String::from_utf8(document.to_bytes()).expect("a text");
            let new = NewAssignment {
                target: &key(name),
                document: &text,
                digest: document.digest(),
                own_approvals: "[]",
                shared_approvals: "[]",
            };
            writing.assignments_put(&account, &[new], now()).await.expect("an assignment");
        }
        writing.commit().await.expect("a commit");
        let control = (*installation.server).clone();
        let writer = tokio::spawn(write_loop::run_loop(control));
        World { installation, account, callers, document, writer }
    }

    async fn enrol(&self, name: &str) -> Agent {
        let mut writing =
            self.installation.server.store().write_account(&self.account).await.expect("a transaction");
        let agent = writing.agent_enrol(&key(name), now()).await.expect("an agent");
        writing.commit().await.expect("a commit");
        agent
    }

    fn caller(&self, what: &str) -> &TestCaller {
        self.callers.iter().find(|caller| caller.what == what).expect("a caller")
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) =
            self.installation.send(self.caller("a viewer"), ("GET", path, &Value::Null)).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    async fn post(&self, who: &str, path: &str, body: Value) -> (u16, Value) {
        self.installation.send(self.caller(who), ("POST", path, &body)).await
    }

    async fn report(&self, agent: &Agent, body: Value) -> Result<ReportReceipt, Refusal> {
        let body: ReportBody = serde_json::from_value(body).expect("a report");
        let caller = AgentCaller { agent: agent.clone(), address: String::new(), request_id: String::new() };
        let bytes = 1000;
        let sent = report(&self.installation.server, caller, body, bytes);
        tokio::time::timeout(Duration::from_secs(20), sent).await.expect("an answer in time")
    }

    async fn status(&self, name: &str) -> Value {
        self.get(&format!("/api/v1/system/nodes/{name}/status")).await
    }

    /// A complete report of a node that is as assigned.
    fn in_sync(&self, sequence: u64) -> Value {
        let known = |digest: String| {
            json!({"observed": {"state": "known", "digest": digest, "generation": 1,
                "since": "2026-11-18T08:00:00Z", "at": "2026-11-18T08:00:05Z"}})
        };
        let module = |module: &NodeModule| json!({"name": module.name, "observation": known(module.digest().to_string())});
        json!({"generation": 1, "sequence": sequence, "complete": true,
            "target": known(self.document.digest().to_string()),
            "modules": self.document.modules.iter().map(module).collect::<Vec<_>>(),
            "host": {"agent_version": "0.1.0", "os": "Debian 13"}})
    }

    /// A complete report with one changed file of nginx.
    fn drifted(&self, sequence: u64) -> Value {
        let mut body = self.in_sync(sequence);
        let other = windlass_core::digest::Digest::of(b"other").to_string();
        body["target"]["observed"]["digest"] = json!(other);
        body["modules"][1]["observation"]["observed"]["digest"] = json!(other);
        body["drift"] = json!([{"kind": "path", "name": "/etc/nginx/nginx.conf", "module": "nginx",
            "mode": "report", "since": "2026-11-18T08:00:01Z", "fields": [
                {"type": "content", "path": "/etc/nginx/nginx.conf", "change": "changed",
                    "lines": format!("@@ -1,2 +1,2 @@\n-workers 8;\n+workers 4;\n password: {PLANTED}\n")},
                {"type": "value", "field": "mode", "observed": "0600", "desired": "0644"}]}]);
        body
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_becomes_the_status_of_its_node() {
    let world = World::new().await;
    let before = world.status("edge-01").await;
    assert_eq!(before["state"], "unknown");
    assert_eq!(before["reason"], "No agent is enrolled; run `windlass node enroll edge-01`.");
    let agent = world.enrol("edge-01").await;
    let receipt = world.report(&agent, world.in_sync(1)).await.expect("a receipt");
    assert_eq!(receipt, ReportReceipt { sequence: 1, send_complete: false, newer: None });
    let status = world.status("edge-01").await;
    assert_eq!(
        (&status["state"], &status["host"]["os"]),
        (&json!("converged"), &json!("Debian 13")),
        "{status}"
    );
    assert_eq!(status["modules"][1]["name"], "nginx");
    assert_eq!(
        (&status["modules"][1]["state"], &status["modules"][1]["version"]),
        (&json!("converged"), &json!("1.26.0"))
    );
    assert_eq!((&status["assigned_generation"], &status["reached_generation"]), (&json!(1), &json!(1)));
    assert!(status["as_of"].is_string() && status["agent"]["last_contact_at"].is_string());

    let mut failed = world.in_sync(2);
    let failure =
        json!({"generation": 1, "since": "2026-11-18T08:00:00Z", "message": "nginx -t exited with 1"});
    failed["target"]["failure"] = failure.clone();
    failed["modules"][1]["observation"]["failure"] = failure;
    world.report(&agent, failed).await.expect("a receipt");
    let status = world.status("edge-01").await;
    assert_eq!(status["reason"], "Module nginx failed since 2026-11-18T08:00:00Z: nginx -t exited with 1.");

    let failed = world.get("/api/v1/system/node_status?state=failed,drifted&label=tier=edge&region=eu").await;
    assert_eq!(
        (failed["nodes"].as_array().map(Vec::len), &failed["nodes"][0]["name"]),
        (Some(1), &json!("edge-01"))
    );
    let page = world.get("/api/v1/system/node_status?limit=1").await;
    let cursor = page["meta"]["next_cursor"].as_str().expect("a second page");
    let rest = world.get(&format!("/api/v1/system/node_status?limit=1&cursor={cursor}")).await;
    assert_eq!((&rest["nodes"][0]["name"], &rest["meta"]["next_cursor"]), (&json!("edge-02"), &Value::Null));
    for (by, groups) in
        [("template", vec!["edge"]), ("region", vec!["eu", "us"]), ("label:tier", vec!["edge"])]
    {
        let summary = world.get(&format!("/api/v1/system/node_status/summary?by={by}")).await;
        let names: Vec<&str> = summary["groups"]
            .as_array()
            .expect("groups")
            .iter()
            .filter_map(|it| it["name"].as_str())
            .collect();
        assert_eq!(
            (names, &summary["all"]["headline"]),
            (groups, &json!("0 of 2 in sync, 1 failed, 1 unknown"))
        );
    }
    let (status, _) = world
        .installation
        .send(world.caller("a viewer"), ("GET", "/api/v1/system/node_status?state=broken", &Value::Null))
        .await;
    assert_eq!(status, 400);
    let converged = world.get("/api/v1/system/node_status?state=converged").await;
    assert_eq!(converged["nodes"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn drift_is_shown_with_its_difference_and_resolved_in_three_ways() {
    let world = World::new().await;
    let agent = world.enrol("edge-01").await;
    world.report(&agent, world.drifted(1)).await.expect("a receipt");
    let drift = world.get("/api/v1/system/nodes/edge-01/drift").await;
    assert_eq!(drift["state"], "drifted");
    assert_eq!(
        drift["reason"],
        "Drifted: path /etc/nginx/nginx.conf of module nginx changed since 2026-11-18T08:00:01Z."
    );
    let fields = &drift["items"][0]["fields"];
    assert!(fields[0]["diff"].as_str().is_some_and(|diff| diff.contains("-workers 8;")), "{drift}");
    assert_eq!((&fields[1]["observed"], &fields[1]["desired"]), (&json!("0600"), &json!("0644")));
    assert!(!drift.to_string().contains(PLANTED), "{drift}");

    let item = json!({"kind": "path", "name": "/etc/nginx/nginx.conf"});
    let path = |what: &str| format!("/api/v1/system/nodes/edge-01/drift/{what}");
    let (status, refused) = world.post("an operator", &path("adopt"), item.clone()).await;
    assert_eq!((status, &refused["error"]["code"]), (409, &json!("adopt")), "{refused}");
    let mut accept = item.clone();
    accept["reason"] = json!("a trial");
    assert_eq!(world.post("an operator", &path("accept"), accept.clone()).await.0, 403);
    let (status, accepted) = world.post("the approver", &path("accept"), accept).await;
    assert_eq!(status, 200, "{accepted}");
    assert_eq!(
        (&accepted["state"], &accepted["items"][0]["acceptance"]["reason"]),
        (&json!("converged"), &json!("a trial"))
    );
    let listed = world.get("/api/v1/system/node_status?state=in_sync").await;
    assert_eq!(
        (&listed["nodes"][0]["accepted_items"], &listed["nodes"][0]["drifted_items"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(world.post("an operator", &path("revert"), json!({})).await.0, 403, "an approver accepted it");
    assert_eq!(world.post("the approver", &path("unaccept"), item.clone()).await.0, 200);
    assert_eq!(world.status("edge-01").await["state"], "drifted");

    let (status, reverted) = world.post("an operator", &path("revert"), json!({})).await;
    assert_eq!((status, &reverted["generation"]), (202, &json!(2)), "{reverted}");
    let status = world.status("edge-01").await;
    assert_eq!(
        (&status["state"], &status["reason"]),
        (&json!("applying"), &json!("Applying generation 2, reached 1."))
    );
    let mut applied = world.in_sync(2);
    for path in ["/target/observed", "/modules/0/observation/observed", "/modules/1/observation/observed"] {
        applied.pointer_mut(path).expect("an observation")["generation"] = json!(2);
    }
    applied["generation"] = json!(2);
    world.report(&agent, applied).await.expect("a receipt");
    assert_eq!(world.status("edge-01").await["state"], "converged");
    assert_eq!(world.get("/api/v1/system/nodes/edge-01/drift").await["items"], json!([]));
    assert_eq!(world.post("an operator", &path("revert"), json!({})).await.0, 409, "nothing differs");
    let audit = world.get("/api/v1/system/audit?target=node/edge-01").await.to_string();
    for action in ["node.drift_accept", "node.drift_unaccept", "node.drift_revert"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_becomes_events_once_and_too_many_are_dropped() {
    let world = World::new().await;
    let agent = world.enrol("edge-01").await;
    let event = |message: &str| {
        json!({"at": "1999-01-01T00:00:00Z", "what": {"kind": "drifted", "item": "path /etc/motd", "module": "motd"},
            "message": message})
    };
    let mut body = world.in_sync(1);
    let secret = format!("https://ada:{PLANTED}@db.example.com");
    body["events"] = json!([event("someone changed /etc/motd"), event(&secret)]);
    for _ in 0..3 {
        world.report(&agent, body.clone()).await.expect("a receipt, whether it was stored before or not");
    }
    number_events(&world.installation.server).await.expect("events are numbered");
    let log = world.get("/api/v1/system/nodes/edge-01/log").await;
    let events = log["fleet_events"].as_array().expect("events");
    assert_eq!(events.len(), 2, "a report that is sent again has no news: {log}");
    assert_eq!(
        (&events[1]["kind"], &events[1]["message"]),
        (&json!("agent.drifted"), &json!("someone changed /etc/motd"))
    );
    assert_eq!(events[1]["resource_name"], "edge-01");
    assert!(events[1]["at"].as_str().is_some_and(|at| !at.starts_with("1999")), "the server's time counts");
    assert!(!log.to_string().contains(PLANTED));

    for sequence in 2..5 {
        let mut body = world.in_sync(sequence);
        body["events"] = vec![event("again"); 200].into();
        world.report(&agent, body).await.expect("a receipt");
    }
    number_events(&world.installation.server).await.expect("events are numbered");
    let status = world.status("edge-01").await;
    let dropped = status["events_dropped"].as_u64().expect("a number");
    assert!((300..=410).contains(&dropped), "{dropped} of 602 were dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_reports_are_refused_or_harmless() {
    let world = World::new().await;
    let (agent, neighbour) = (world.enrol("edge-01").await, world.enrol("edge-02").await);
    world.report(&neighbour, world.in_sync(1)).await.expect("a receipt");
    world.report(&agent, world.in_sync(5)).await.expect("a receipt");
    world.report(&agent, world.drifted(4)).await.expect("a receipt");
    assert_eq!(world.status("edge-01").await["state"], "converged", "an older report changes nothing");

    let mut other = world.in_sync(6);
    other["modules"][0]["name"] = json!("../../edge-02");
    let refused = world.report(&agent, other).await.expect_err("an invalid name");
    assert_eq!(refused.kind(), RefusalKind::BadRequest);

    let mut foreign = world.in_sync(7);
    foreign["complete"] = json!(false);
    foreign["modules"][0]["name"] = json!("of-another-node");
    world.report(&agent, foreign).await.expect("a module that is not assigned says nothing about others");
    assert_eq!(world.status("edge-02").await["state"], "converged");

    let mut future = world.in_sync(8);
    future["generation"] = json!(900);
    world.report(&agent, future).await.expect("a receipt");
    let status = world.status("edge-01").await;
    assert_eq!(status["state"], "unknown", "{status}");
    assert!(status["reason"].as_str().is_some_and(|why| why.contains("enrol the node again")), "{status}");
    let again = world.enrol("edge-01").await;
    let refused = world.report(&agent, world.in_sync(9)).await.expect_err("the first agent was revoked");
    assert_eq!(refused.kind(), RefusalKind::Forbidden);
    let receipt = world.report(&again, world.in_sync(1)).await.expect("a receipt");
    assert!(!receipt.send_complete);
    assert_eq!(world.status("edge-01").await["state"], "converged", "the new enrolment counts from one");
    let mut partial = world.in_sync(2);
    partial["complete"] = json!(false);
    world.report(&neighbour, partial).await.expect("a receipt");
    assert_eq!(world.status("edge-02").await["state"], "converged");

    let mut limited = 0;
    for sequence in 10..90 {
        let done = world.report(&neighbour, world.in_sync(sequence)).await;
        limited += usize::from(done.is_err_and(|refused| refused.kind() == RefusalKind::TooMany));
    }
    assert!(limited > 0, "an agent that reports all the time is slowed down");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_observe_asks_for_a_complete_report_and_contacts_are_announced_once() {
    let world = World::new().await;
    let path = "/api/v1/system/nodes/edge-01/observe";
    assert_eq!(world.post("an operator", path, json!({})).await.0, 409, "no agent is enrolled");
    let agent = world.enrol("edge-01").await;
    world.report(&agent, world.in_sync(1)).await.expect("a receipt");
    assert_eq!(world.post("a viewer", path, json!({})).await.0, 403);
    assert_eq!(world.post("an operator", path, json!({})).await.0, 202);
    let mut partial = world.in_sync(2);
    partial["complete"] = json!(false);
    assert!(world.report(&agent, partial).await.expect("a receipt").send_complete);
    assert!(!world.report(&agent, world.in_sync(3)).await.expect("a receipt").send_complete);

    let server = &world.installation.server;
    let later = |seconds| now().plus(Duration::from_secs(seconds));
    for moment in [now(), later(600), later(601), now(), now()] {
        announce_contacts(server, moment).await.expect("contacts are announced");
    }
    let log = world.get("/api/v1/system/nodes/edge-01/log").await;
    let kinds: Vec<&str> =
        log["fleet_events"].as_array().expect("events").iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["agent.online", "agent.offline"], "newest first, each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_reports_at_once_are_stored_together() {
    let world = World::new().await;
    let (agent, other) = (world.enrol("edge-01").await, world.enrol("edge-02").await);
    let reports = (1..40).flat_map(|sequence| [(&agent, sequence), (&other, sequence)]);
    let sent = reports.map(|(agent, sequence)| world.report(agent, world.in_sync(sequence)));
    let receipts = futures_util::future::join_all(sent).await;
    assert!(receipts.iter().all(Result::is_ok), "{receipts:?}");
    assert_eq!(world.status("edge-02").await["state"], "converged");
}
