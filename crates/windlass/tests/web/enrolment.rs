//! Enrolment on pages, without a script: the command that enrols a host, its token, hosts that wait to join, revocation.

use serde_json::json;
use windlass_api::permission::Role;

use crate::agent::{TestAgent, add_node, read_key, request};
use crate::browser::{Browser, button};
use crate::harness::{Installation, Reply, config};

/// The enrolment key in the response that shows a command.
fn key_of(reply: &Reply) -> String {
    assert_eq!((reply.status, reply.header("cache-control")), (200, "no-store"), "{reply:?}");
    let command = reply.text.split("id=\"enrolment-command\">windlass-agent enroll ").nth(1);
    command.unwrap_or_else(|| panic!("a command: {reply:?}")).split('<').next().unwrap().to_owned()
}

/// The address of the first form whose address ends so.
fn action(page: &str, end: &str) -> String {
    let actions = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    actions.into_iter().find(|action| action.ends_with(end)).unwrap_or_else(|| panic!("{page}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_node_shows_its_enrolment_command_once_and_revokes_its_agent() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "web-1", json!({})).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/web-1").await;
    assert!(page.contains("Not enrolled") && !page.contains("Revoke agent"), "{page}");
    let shown = browser.submit(&page, "/app/nodes/web-1/enroll", &[]).await;
    let text = key_of(&shown);
    assert!(shown.text.contains("Valid once, for node web-1; expires <time"), "{shown:?}");
    let key = read_key(&text);
    let token = key.token.expose();
    for path in ["/app/nodes/web-1/enroll", "/app/nodes/web-1", "/app/enrolment", "/app/events", "/app/audit"]
    {
        let other = browser.get(path).await;
        assert!(!other.text.contains(&text) && !other.text.contains(token), "{path}: {other:?}");
    }
    assert!(browser.page("/app/audit").await.contains("enrolment_token.create"));

    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    agent.enrol(token, "web-1").await.expect(201);
    assert!(agent.works().await);
    assert_eq!(agent.clone().enrol(token, "web-1").await.status, 403, "a token is valid once");
    let page = browser.page("/app/nodes/web-1").await;
    assert!(page.contains("Enrol again") && page.contains("disconnects the agent"), "{page}");
    let after = browser.submit_and_follow(&page, "/app/nodes/web-1/revoke-agent", &[]).await;
    assert!(after.contains("Revoked the agent of node web-1") && after.contains("Not enrolled"), "{after}");
    assert!(!agent.works().await, "the server rejects a revoked agent");
    let again = browser.submit_and_follow(&page, "/app/nodes/web-1/revoke-agent", &[]).await;
    assert!(again.contains("node web-1 has no agent"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_nobody_used_is_listed_and_revoked_on_the_page_of_its_node() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "web-1", json!({})).await;
    add_node(&installation, "web-2", json!({})).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/web-1").await;
    let shown = browser.submit(&page, "/app/nodes/web-1/enroll", &[]).await;
    let key = read_key(&key_of(&shown));
    assert!(!browser.page("/app/nodes/web-2").await.contains("Token expires"), "a token of another node");
    let page = browser.page("/app/nodes/web-1").await;
    assert!(page.contains("Token expires") && page.contains(&admin.email), "{page}");
    let form = [("back", "/app/nodes/web-1")];
    let after = browser.submit_and_follow(&page, &action(&page, "/revoke"), &form).await;
    assert!(after.contains("Enrolment token revoked") && !after.contains("Token expires"), "{after}");
    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    assert_eq!(agent.enrol(key.token.expose(), "web-1").await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_a_group_joins_after_someone_approved_it_on_a_page() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for name in ["web-1", "web-2"] {
        add_node(&installation, name, json!({"env": "prod"})).await;
    }
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/enrolment").await;
    let form = [("labels", ""), ("name", ""), ("uses", "7"), ("join", "approve"), ("lifetime", "3600")];
    let refused = browser.submit(&page, "/app/enrolment", &form).await;
    assert!(refused.status == 422 && refused.text.contains("the selector is empty"), "{refused:?}");
    assert!(refused.text.contains("name=\"uses\" type=\"number\" min=\"1\" max=\"10000\" value=\"7\""));
    let form = [("labels", "env=prod"), form[1], form[2], form[3], form[4]];
    let shown = browser.submit(&page, "/app/enrolment", &form).await;
    let key = read_key(&key_of(&shown));
    assert!(shown.text.contains("Valid 7 times, for nodes with env=prod"), "{shown:?}");

    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    let (certificate_request, pair) = request(|_| {});
    let token = key.token.expose();
    for node in ["web-1", "web-2"] {
        let waiting = agent.enrol_with(token, node, &certificate_request, &pair).await;
        assert_eq!(waiting.code(), "join-pending", "{waiting:?}");
    }
    let nodes = browser.page("/app/nodes").await;
    assert!(
        nodes.contains("<span class=\"count\">2<span class=\"visually-hidden\"> waiting to join"),
        "{nodes}"
    );
    let page = browser.page("/app/nodes/web-1").await;
    assert!(page.contains("Waiting to join") && page.contains("127.0.0.1"), "{page}");
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let seen = Browser::of(&installation, &viewer).page("/app/nodes/web-1").await;
    let approve = "Approve<span class=\"visually-hidden\"> web-1</span>";
    assert!(
        button(&seen, approve).contains(" disabled") && button(&seen, "Enrol agent").contains(" disabled")
    );
    for why in
        ["this needs the permission system.gitops.approve", "this needs the permission system.fleet.write"]
    {
        assert!(seen.contains(why), "{why}: {seen}");
    }
    let form = [("back", "/app/nodes/web-1")];
    let after = browser.submit_and_follow(&page, &action(&page, "/approve"), &form).await;
    assert!(after.contains("Approved web-1: the agent enrols with its next attempt"), "{after}");
    agent.clone().enrol_with(token, "web-1", &certificate_request, &pair).await.expect(201);
    let page = browser.page("/app/enrolment").await;
    assert!(page.contains("1 of 7") && page.contains("web-2"), "{page}");
    let after = browser.submit_and_follow(&page, &action(&page, "/reject"), &[]).await;
    assert!(after.contains("Rejected web-2"), "{after}");
    assert_eq!(agent.enrol_with(token, "web-2", &certificate_request, &pair).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_agents_says_so_on_the_page_of_the_node() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.agent_listen = None;
    let installation = Installation::start_with(directory, config).await;
    let admin = installation.admin().await;
    add_node(&installation, "web-1", json!({})).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/web-1").await;
    let shown = browser.submit(&page, "/app/nodes/web-1/enroll", &[]).await;
    assert!(shown.text.contains("this server does not listen for agents"), "{shown:?}");
    assert_eq!(browser.submit(&page, "/app/nodes/absent/enroll", &[]).await.status, 404);
}
