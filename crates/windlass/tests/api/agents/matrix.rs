//! The authorization matrix of the agent listener: every route of the endpoint table, requested by everyone.

use serde_json::json;
use windlass_api::endpoint::{Access, Method, endpoints};

use crate::agents::client::{TestAgent, add_node, enrolment_key};
use crate::harness::Installation;

#[tokio::test(flavor = "multi_thread")]
async fn agents_reach_their_own_routes_and_nothing_of_people() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    for endpoint in endpoints() {
        let path = endpoint.path.replace("{id}", "edge-01").replace("{digest}", "absent");
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
        let path = endpoint.path.replace("{id}", "edge-01");
        let method = reqwest::Method::from_bytes(endpoint.method.as_str().as_bytes()).unwrap();
        let request = stranger.http().request(method, stranger.url(&path)).bearer_auth(&admin.token);
        let status = request.send().await.unwrap().status().as_u16();
        let at = format!("{} {path}", endpoint.method.as_str());
        match (endpoint.is_for_agents(), endpoint.access) {
            (true, Access::Agent) => assert_eq!(status, 401, "{at}"),
            (true, _) => assert_eq!(status, 400, "{at}: a malformed enrolment"),
            (false, _) => assert_eq!(status, 404, "{at}"),
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
