//! Enrolment and renewal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::authority::Authority;
use super::server::FakeServer;
use super::world::{World, file};
use crate::connection::RequestError;
use crate::enroll::{Enrolment, enroll_in};
use crate::error::AgentError;
use crate::surroundings::DiskHooks;
use crate::{Agent, AgentEnd};

fn identity_file(world: &World) -> String {
    fs::read_to_string(world.state_dir.join("identity.json")).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_enrolled_agent_has_a_private_identity_and_is_accepted() {
    let world = World::enrolled().await;
    let path = world.state_dir.join("identity.json");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&world.state_dir).unwrap().permissions().mode() & 0o777, 0o700);
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
    assert_eq!(world.read("/etc/motd"), "hello\n");
}

#[tokio::test(start_paused = true)]
async fn a_server_of_another_authority_is_not_trusted_and_gets_no_token() {
    let world = World::new();
    let key = FakeServer::new().enrolment_key("token");
    let surroundings = world.surroundings(DiskHooks::default());
    let error = enroll_in(&world.options(), &key, Enrolment::First, &surroundings).await.unwrap_err();
    assert!(matches!(error, AgentError::Server { source: RequestError::NotTrusted(_), .. }), "{error}");
    assert_eq!(world.server.lock().requests, [""; 0], "nothing was sent");
    assert!(!world.state_dir.join("identity.json").exists());
}

#[tokio::test(start_paused = true)]
async fn an_enrolled_agent_does_not_follow_a_server_of_another_authority() {
    let world = World::enrolled().await;
    let real = std::mem::replace(&mut world.server.lock().authority, Arc::new(Authority::new()));
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.server.until("the agent tried several times", |state| state.connections > 4).await;
    assert_eq!(world.server.lock().requests.len(), 1, "only the enrolment");
    world.server.lock().authority = real;
    world.assign(&one);
    world.until_in_sync(&one).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_certificate_of_an_agent_does_not_make_a_server() {
    let world = World::enrolled().await;
    let thief = world.server.lock().authority.impersonated();
    let real = std::mem::replace(&mut world.server.lock().authority, Arc::new(thief));
    let agent = world.start();
    world.server.until("the agent tried several times", |state| state.connections > 4).await;
    assert_eq!(world.server.lock().requests.len(), 1, "only the enrolment");
    agent.stop().await;
    world.server.lock().authority = real;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_knows_only_the_authority_before_follows_a_rotation() {
    let world = World::enrolled().await;
    let next = world.server.lock().authority.next();
    let old = std::mem::replace(&mut world.server.lock().authority, Arc::new(next));
    // The agent's own certificate is of the old authority, which the server still accepts; here it renews at once.
    world.server.lock().previous_authority = Some(old);
    world.server.lock().expired_before = 1;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
    assert_eq!(world.server.lock().renewals, 1);
    // From now on the agent trusts the new authority.
    let trust = fs::read_to_string(world.state_dir.join("identity.json")).unwrap();
    let pem = world.server.lock().authority.trust().authorities[0].replace('\n', "\\n");
    assert!(trust.contains(&pem));
}

#[tokio::test(start_paused = true)]
async fn an_enrolment_that_a_person_has_to_approve_waits_for_it() {
    let world = World::new();
    world.server.lock().pending_joins = 3;
    world.enroll("token", Enrolment::First).await.unwrap();
    let state = world.server.lock();
    assert_eq!(state.requests.iter().filter(|one| one.contains("enroll")).count(), 4);
    assert_eq!(state.join_requests.len(), 1, "always with the same key");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_was_revoked_while_it_was_off_stops_when_it_connects() {
    let world = World::enrolled().await;
    world.server.lock().revoked = true;
    assert_eq!(world.start().end().await, Some(AgentEnd::Revoked));
}

/// The host's clock may be wrong: certificates of the past and of the future lead to trust like those of today.
#[tokio::test(start_paused = true)]
async fn a_server_is_trusted_whenever_its_certificates_are_valid() {
    for (from, until) in [(1971, 1972), (2070, 2090)] {
        let world = World::new();
        world.server.lock().authority = Arc::new(Authority::valid(from, until));
        world.enroll("token", Enrolment::First).await.unwrap();
        let agent = world.start();
        world
            .server
            .until("greeted", |state| state.requests.iter().any(|one| one.ends_with("/stream")))
            .await;
        agent.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_is_enrolled_again_only_on_purpose() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("web", file("/etc/motd", "one\n"))], &[]);
    world.apply(&one).await;
    let before = identity_file(&world);
    let error = world.enroll("another", Enrolment::First).await.unwrap_err();
    assert!(
        matches!(error, AgentError::AlreadyEnrolled { .. }) && error.help().contains("--again"),
        "{error}"
    );
    world.server.lock().tokens.clear();
    let key = world.server.enrolment_key("used");
    world.server.lock().tokens.clear();
    let surroundings = world.surroundings(DiskHooks::default());
    let error = enroll_in(&world.options(), &key, Enrolment::Again, &surroundings).await.unwrap_err();
    assert!(error.to_string().contains("enrolment-refused"), "{error}");
    assert_eq!(identity_file(&world), before, "a refused enrolment leaves the identity");
    world.enroll("third", Enrolment::Again).await.unwrap();
    // The new enrolment counts generations from the start, and takes over what the old one made.
    let new = world.make(1, &[("other", file("/etc/issue", "new\n"))], &[]);
    world.apply(&new).await;
    assert!(!world.path("/etc/motd").exists(), "what is no longer assigned is removed");
    assert_eq!(world.read("/etc/issue"), "new\n");
}

#[tokio::test(start_paused = true)]
async fn the_certificate_is_renewed_when_the_server_says_so() {
    let world = World::enrolled().await;
    world.server.lock().renew_after = 100;
    let before = identity_file(&world);
    let agent = world.start();
    world.server.until("renewed twice", |state| state.renewals == 2).await;
    world.server.until("connected with each", |state| state.connections >= 4).await;
    assert_ne!(identity_file(&world), before);
    agent.stop().await;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_certificate_still_renews() {
    let world = World::enrolled().await;
    world.server.lock().expired_before = 1;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
    assert_eq!(world.server.lock().renewals, 1);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_breaks_leaves_the_old_identity_and_is_tried_again() {
    let world = World::enrolled().await;
    world.server.lock().renew_after = 50;
    let before = identity_file(&world);
    let agent = world.start();
    world.server.until("connected", |state| state.connections == 2 && !state.reports.is_empty()).await;
    // The renewal takes effect on the server, and its response is lost.
    let place = world.server.lock().places;
    world.server.lock().cut_at = Some(place + 1);
    world.server.until("the renewal was lost", |state| state.renewals == 1).await;
    assert_eq!(identity_file(&world), before);
    world.server.until("renewed again", |state| state.renewals == 2).await;
    world.server.until("connected with it", |state| state.connections == 4).await;
    assert_ne!(identity_file(&world), before);
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_torn_identity_gives_the_one_before_and_a_lost_one_says_to_enrol_again() {
    let world = World::enrolled().await;
    world.server.lock().expired_before = 1;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.apply(&one).await;
    let path = world.state_dir.join("identity.json");
    fs::write(&path, &fs::read(&path).unwrap()[..100]).unwrap();
    world.server.lock().expired_before = 2;
    let two = world.make(2, &[("web", file("/etc/motd", "again\n"))], &[]);
    world.apply(&two).await;
    for name in ["identity.json", "identity.json.previous"] {
        fs::write(world.state_dir.join(name), "torn").unwrap();
    }
    let Err(error) = Agent::open_in(world.options(), world.surroundings(DiskHooks::default())) else {
        panic!("there is no identity")
    };
    assert!(error.help().contains("enrol the host again"), "{error}");
    assert_eq!(world.read("/etc/motd"), "again\n", "nothing is removed");
}

#[tokio::test(start_paused = true)]
async fn a_revoked_agent_stops_and_leaves_the_host_as_it_is() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("web", file("/etc/motd", "hello\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    world.server.tell(&windlass_api::agent::StreamMessage::Revoked);
    assert_eq!(agent.end().await, Some(AgentEnd::Revoked));
    assert_eq!(world.read("/etc/motd"), "hello\n");
}
