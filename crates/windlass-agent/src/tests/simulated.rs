//! Simulated agents do what the real agent does, and refuse what it refuses.

use windlass_api::agent::StreamMessage;
use windlass_core::target_assignment::AssignmentRefusal;
use windlass_core::time::Timestamp;

use super::world::{World, file};
use crate::simulated::{SimulatedAgent, SimulatedConnection, SimulationError};

fn at() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

async fn connected(world: &World) -> (SimulatedAgent, SimulatedConnection) {
    let key = world.server.enrolment_key("simulated");
    let agent = SimulatedAgent::enroll_over(world.server.dial(), &key, "web-1", at()).await.unwrap();
    let mut connection = agent.connect().await.unwrap();
    assert!(matches!(connection.next().await.unwrap(), Some(StreamMessage::Hello { .. })));
    (agent, connection)
}

#[tokio::test(start_paused = true)]
async fn a_simulated_agent_takes_its_assignment_and_reports_that_it_is_in_sync() {
    let world = World::new();
    let (mut agent, mut connection) = connected(&world).await;
    let five = world.make(5, &[("motd", file("/etc/motd", "five\n"))], &[]);
    world.assign(&five);
    assert_eq!(connection.next().await.unwrap(), Some(StreamMessage::Assignment { generation: 5 }));
    agent.accept_assignment(&connection).await.unwrap();
    assert_eq!(agent.fetch_content(&connection).await.unwrap(), 1);
    assert_eq!(agent.fetch_content(&connection).await.unwrap(), 0, "it has the package");
    agent.begin_changes(at());
    assert!(agent.report(&connection, at()).await.unwrap());
    agent.finish_changes(at());
    while agent.report(&connection, at()).await.unwrap() {}
    world.until_in_sync(&five).await;
}

#[tokio::test(start_paused = true)]
async fn a_simulated_agent_refuses_a_replay_and_content_that_was_not_approved() {
    let world = World::new();
    let (mut agent, connection) = connected(&world).await;
    let (five, six) = (
        world.make(5, &[("motd", file("/etc/motd", "five\n"))], &[]),
        world.make(6, &[("motd", file("/etc/motd", "six\n"))], &[]),
    );
    world.assign(&six);
    agent.accept_assignment(&connection).await.unwrap();
    for stored in world.server.lock().blobs.values_mut() {
        *stored = zstd::bulk::compress(b"something else", 3).unwrap();
    }
    let tampered = agent.fetch_content(&connection).await.unwrap_err();
    assert!(matches!(tampered, SimulationError::Tampered(_)), "{tampered}");
    world.server.offer(7, &five.assignment, &five.document.to_bytes());
    let refused = agent.accept_assignment(&connection).await.unwrap_err();
    let older = AssignmentRefusal::OlderGeneration { offered: 5, has: 6 };
    assert!(matches!(refused, SimulationError::Refused(reason) if reason == older));
    assert_eq!(agent.generation(), 6);
}
