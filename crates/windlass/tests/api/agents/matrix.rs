//! The authorization matrix of the agent listener: every route of the endpoint table, requested by everyone. An agent reads and
//! writes what belongs to its own node, and nothing else.

use std::time::Instant;

use serde_json::{Value, json};
use windlass_api::agent::{ASSIGNMENT, BLOBS, REPORT};
use windlass_api::endpoint::{Access, Endpoint, Method, endpoints};
use windlass_core::digest::Digest;
use windlass_core::host::NodeDocument;

use crate::agents::client::{TestAgent, add_node, enrolment_key};
use crate::harness::{Installation, TIMEOUT, fleet};

/// The path of an endpoint about a node, or about a blob that does not exist.
fn path_of(endpoint: &Endpoint, node: &str) -> String {
    endpoint.path.replace("{id}", node).replace("{digest}", "absent")
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_reach_their_own_routes_and_nothing_of_people() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    for endpoint in endpoints() {
        let path = path_of(&endpoint, "edge-01");
        let reply = agent.send(endpoint.method.as_str(), &path, None).await;
        let at = format!("{} {path}: {reply:?}", endpoint.method.as_str());
        match endpoint.is_for_agents() {
            true => assert!(![401, 403].contains(&reply.status) && reply.status < 500, "{at}"),
            false => assert_eq!((reply.status, reply.code().as_str()), (404, "not-found"), "{at}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_people_are_nothing_to_the_agent_listener_and_agents_nothing_to_the_other() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let key = enrolment_key(&installation, &admin, "edge-01").await;
    let stranger = TestAgent::new(installation.agent_address(), &key.authority).await;
    for endpoint in endpoints() {
        let path = path_of(&endpoint, "edge-01");
        let at = format!("{} {path}", endpoint.method.as_str());
        for token in [None, Some(&admin.token)] {
            let method = reqwest::Method::from_bytes(endpoint.method.as_str().as_bytes()).unwrap();
            let mut request = stranger.http().request(method, stranger.url(&path));
            if let Some(token) = token {
                request = request.bearer_auth(token);
            }
            let status = request.send().await.unwrap().status().as_u16();
            match (endpoint.is_for_agents(), endpoint.access) {
                (true, Access::Agent) => assert_eq!(status, 401, "{at}"),
                (true, _) => assert_eq!(status, 400, "{at}: a malformed enrolment"),
                (false, _) => assert_eq!(status, 404, "{at}"),
            }
        }
        // The listener for people refuses them whatever they show.
        if endpoint.access == Access::Agent {
            let as_person = installation.ask(&admin.token, endpoint.method.as_str(), &path).await;
            assert_eq!((as_person.status, as_person.code().as_str()), (403, "forbidden"), "{at}");
        }
    }
    let body = json!({"token": key.token.expose(), "certificate_request": "", "agent_version": "1"});
    let elsewhere = installation.tell("", Method::Post.as_str(), "/agent/v1/enroll", &body).await;
    assert_eq!(elsewhere.status, 404, "nobody enrols on the listener for people");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agent_reaches_no_route() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    installation.ask(&admin.token, "POST", "/api/v1/system/nodes/edge-01/revoke_agent").await.expect(200);
    for endpoint in endpoints() {
        let path = path_of(&endpoint, "edge-01");
        let reply = agent.send(endpoint.method.as_str(), &path, None).await;
        let expected = match (endpoint.is_for_agents(), endpoint.access) {
            (true, Access::Agent) => (403, "agent-revoked"),
            (true, _) => (400, "bad-request"),
            (false, _) => (404, "not-found"),
        };
        assert_eq!((reply.status, reply.code().as_str()), expected, "{} {path}", endpoint.method.as_str());
    }
}

/// Two nodes with different modules.
const TWO_NODES: &str = "version: 1
account: acme
modules:
  first: {version: 1.0.0, host: {files: {/etc/first: {content: first}}}}
  second: {version: 1.0.0, host: {files: {/etc/second: {content: second}}}}
templates:
  first: {node_platform: debian-12-amd64, modules: [first@live]}
  second: {node_platform: debian-12-amd64, modules: [second@live]}
nodes:
  - {hostname: edge-01, template: first}
  - {hostname: edge-02, template: second}
";

/// The agent's signed assignment, and the document that it names.
async fn assignment_of(agent: &TestAgent) -> (Value, NodeDocument) {
    let begun = Instant::now();
    loop {
        let reply = agent.send("GET", ASSIGNMENT, None).await;
        if reply.status == 200 {
            let answer = reply.json();
            let signed = serde_json::from_str(answer["assignment"]["assignment"].as_str().unwrap()).unwrap();
            let document = answer["document"].as_str().unwrap();
            return (signed, NodeDocument::from_bytes(document.as_bytes()).unwrap());
        }
        assert!(begun.elapsed() < TIMEOUT, "{reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_reads_and_writes_its_own_node_and_no_other() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(TWO_NODES);
    let repository = installation.register(&admin, "fleet-config", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let one = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let two = TestAgent::enrolled(&installation, &admin, "edge-02").await;
    let (signed, document) = assignment_of(&one).await;
    assert_eq!(signed["target"], json!({"kind": "node", "name": "edge-01"}));
    let (_, other) = assignment_of(&two).await;
    let blob = |document: &NodeDocument| format!("{BLOBS}/{}", document.modules[0].package);
    assert_eq!(one.send("GET", &blob(&document), None).await.status, 200);
    let foreign = two.send("GET", &blob(&document), None).await;
    let absent = two.send("GET", &format!("{BLOBS}/blake3:{}", "0".repeat(64)), None).await;
    assert_eq!(foreign.without_request(), absent.without_request(), "as one that does not exist");
    assert_eq!(foreign.status, 404);
    assert_eq!(two.send("GET", &blob(&other), None).await.status, 200);

    // A report is about the node of the certificate, whatever it says.
    let moment = "2026-11-18T08:00:00Z";
    let known = |digest: Digest| json!({"observed": {"state": "known", "digest": digest, "generation": 1, "since": moment, "at": moment}});
    let module = &document.modules[0];
    let mut body = json!({"generation": 1, "sequence": 1, "complete": true, "target": known(document.digest()),
        "modules": [{"name": module.name, "observation": known(module.digest())}]});
    two.send("POST", REPORT, Some(&body)).await.expect(200);
    let status =
        async |node: &str| installation.get(&admin, &format!("/api/v1/system/nodes/{node}/status")).await;
    let (first, second) = (status("edge-01").await, status("edge-02").await);
    assert_eq!((&first["reached_generation"], &first["as_of"]), (&Value::Null, &Value::Null), "{first}");
    assert_eq!(second["state"], "drifted", "{second}");
    body["node"] = json!("edge-01");
    assert_eq!(two.send("POST", REPORT, Some(&body)).await.status, 400);
}
