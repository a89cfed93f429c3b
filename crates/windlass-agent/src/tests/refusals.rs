//! What the agent refuses, each with its reason in an event, and what it keeps.

use windlass_core::host::BlobDigest;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::target_assignment::{CoveringApproval, TargetAssignment};

use super::world::{Assigned, Running, World, file};
use crate::AgentEnd;

/// A world in which generation 5 is in force.
async fn at_generation_5() -> (World, Running, Assigned) {
    let world = World::enrolled().await;
    let five = world.make(5, &[("motd", file("/etc/motd", "five\n"))], &[]);
    world.assign(&five);
    let agent = world.start();
    world.until_in_sync(&five).await;
    (world, agent, five)
}

async fn until_refused(world: &World, reason: &str) -> Option<u64> {
    let is_refused = |(found, _): &(String, Option<u64>)| found == reason;
    world.server.until(reason, |state| state.merged.refusals().iter().any(is_refused)).await;
    let refusals = world.server.lock().merged.refusals();
    refusals.into_iter().find(is_refused).unwrap().1
}

/// Offers something, and checks that it is refused for this reason and changes nothing.
async fn check(reason: &str, generation: u64, offer: impl FnOnce(&World, &mut TargetAssignment)) {
    let (world, agent, _) = at_generation_5().await;
    let mut six = world.make(6, &[("motd", file("/etc/motd", "six\n"))], &[]);
    let good = six.clone();
    offer(&world, &mut six.assignment);
    world.server.offer(6, &six.assignment, &six.document.to_bytes());
    assert_eq!(until_refused(&world, reason).await, Some(generation), "{reason}");
    assert_eq!(world.read("/etc/motd"), "five\n", "{reason}");
    // It is not an event for each attempt.
    let requests = |state: &super::server::ServerState| {
        state.requests.iter().filter(|one| one.contains("assignment")).count()
    };
    let before = requests(&world.server.lock());
    world.server.until("asked again", |state| requests(state) > before + 2).await;
    assert_eq!(world.server.lock().merged.refusals().len(), 1, "{reason}");
    // The right one is accepted afterwards.
    world.assign(&good);
    world.until_in_sync(&good).await;
    assert_eq!(world.read("/etc/motd"), "six\n", "{reason}");
    assert_eq!(agent.stop().await, AgentEnd::Stopped);
}

#[tokio::test(start_paused = true)]
async fn an_older_generation_is_refused() {
    check("older_generation", 4, |_, assignment| assignment.generation = 4).await;
}

#[tokio::test(start_paused = true)]
async fn another_document_of_the_same_generation_is_refused() {
    check("other_document", 5, |_, assignment| assignment.generation = 5).await;
}

#[tokio::test(start_paused = true)]
async fn the_assignment_of_another_node_is_refused() {
    check("not_mine", 6, |_, assignment| assignment.target = ResourceKey::new(Kind::Node, "web-2")).await;
}

#[tokio::test(start_paused = true)]
async fn the_assignment_of_an_earlier_enrolment_is_refused() {
    check("not_mine", 6, |_, assignment| assignment.enrolment = 0).await;
}

#[tokio::test(start_paused = true)]
async fn another_document_than_the_signed_one_is_refused() {
    check("wrong_document", 6, |_, assignment| assignment.document = BlobDigest::of(b"another")).await;
}

#[tokio::test(start_paused = true)]
async fn a_module_that_no_approval_covers_is_refused() {
    let withdrawn = CoveringApproval::People { proposal: "p".to_owned(), people: Vec::new() };
    check("not_covered", 6, |_, assignment| assignment.covered[0].approval = withdrawn).await;
    check("not_covered", 6, |_, assignment| assignment.covered.clear()).await;
}

#[tokio::test(start_paused = true)]
async fn a_signature_of_another_key_is_refused() {
    let (world, agent, _) = at_generation_5().await;
    let six = world.make(6, &[("motd", file("/etc/motd", "six\n"))], &[]);
    world.assign(&six);
    let mut response = world.server.lock().assignment.clone().unwrap();
    response.assignment.signature =
        super::authority::Authority::new().sign(response.assignment.assignment.as_bytes());
    world.server.offer_response(7, response);
    assert_eq!(until_refused(&world, "bad_signature").await, Some(7));
    let failure = world.server.lock().merged.failure().unwrap();
    assert_eq!(failure, (7, "refused: the signature of the assignment is not the server's".to_owned()));
    assert_eq!(world.read("/etc/motd"), "five\n");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_replayed_assignment_changes_nothing() {
    let (world, agent, five) = at_generation_5().await;
    let six = world.make(6, &[("motd", file("/etc/motd", "six\n"))], &[]);
    world.assign(&six);
    world.until_in_sync(&six).await;
    world.server.offer(7, &five.assignment, &five.document.to_bytes());
    assert_eq!(until_refused(&world, "older_generation").await, Some(5));
    world.server.offer(7, &six.assignment, &six.document.to_bytes());
    let asked = world.server.lock().requests.len();
    world.server.until("asked again", |state| state.requests.len() > asked + 2).await;
    assert_eq!(world.read("/etc/motd"), "six\n");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_tampered_blob_is_refused_and_nothing_of_its_assignment_is_applied() {
    let (world, agent, _) = at_generation_5().await;
    let modules = |text: &str| {
        [
            ("motd", file("/etc/motd", text)),
            ("page", serde_json::json!({"host": {"files": {"/srv/p": {"source": "p"}}}})),
        ]
    };
    let six = world.make(6, &modules("six\n"), &[("p", "approved\n")]);
    let digest = BlobDigest::of(b"approved\n");
    let good = std::mem::replace(
        world.server.lock().blobs.get_mut(&digest).unwrap(),
        zstd::encode_all(b"tampered\n".as_slice(), 3).unwrap(),
    );
    world.assign(&six);
    assert_eq!(until_refused(&world, "tampered_blob").await, Some(6));
    assert_eq!(world.read("/etc/motd"), "five\n", "an assignment is applied as a whole or not at all");
    assert!(!world.path("/srv/p").exists());
    world.server.lock().blobs.insert(digest, good);
    world.until_in_sync(&six).await;
    assert_eq!(world.read("/srv/p"), "approved\n");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_truncated_blob_is_resumed() {
    let (world, agent, _) = at_generation_5().await;
    let text: String = (0..2_000).map(|number| format!("line {}\n", number * number)).collect();
    let page = serde_json::json!({"host": {"files": {"/srv/p": {"source": "p"}}}});
    let six = world.make(6, &[("page", page)], &[("p", &text)]);
    world.server.lock().blob_limit = Some(1_000);
    world.assign(&six);
    world.until_in_sync(&six).await;
    assert_eq!(world.read("/srv/p"), text);
    {
        let state = world.server.lock();
        let resumed: Vec<&String> = state.requests.iter().filter(|one| one.contains("bytes=")).collect();
        assert!(resumed.len() > 2 && resumed[0].ends_with("bytes=1000-"), "{resumed:?}");
    }
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_or_failed_fetch_changes_nothing() {
    let (world, agent, five) = at_generation_5().await;
    world.server.lock().assignment = None;
    world.server.lock().announced = 6;
    world.server.cut();
    let asked = world.server.lock().requests.len();
    world
        .server
        .until("asked in vain", |state| {
            state.requests[asked..].iter().filter(|one| one.contains("assignment")).count() > 2
        })
        .await;
    assert_eq!(world.read("/etc/motd"), "five\n");
    let digest = five.digest();
    assert!(world.server.lock().merged.is_in_sync(5, digest));
    agent.stop().await;
}
