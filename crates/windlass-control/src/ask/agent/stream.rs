//! The stream of one agent, from its first line to its last.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use windlass_api::agent::StreamMessage;
use windlass_core::enrolment::renew_after_seconds;
use windlass_core::time::Timestamp;

use crate::agents::certificate::PeerCertificate;
use crate::agents::hub::StreamPlace;
use crate::agents::mailbox::Delivery;
use crate::caller::AgentCaller;
use crate::clock::now;
use crate::control::Control;
use crate::refusal::Refusal;

/// How often the server says that the connection is alive.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// After how long without a line an agent connects again: it missed two pings.
const SILENCE_SECONDS: u64 = 60;

/// The open stream of an agent.
pub struct AgentStream {
    place: StreamPlace,
    state: StreamState,
    /// The certificate ends then, and with it the stream.
    ends_at: Instant,
    stopping: watch::Receiver<bool>,
}

#[derive(Debug)]
enum StreamState {
    /// The first line is still to be sent.
    Begun(StreamMessage),
    Open,
    Ended,
}

/// Opens the stream of an agent.
pub async fn open_stream(
    server: &Control,
    caller: &AgentCaller,
    certificate: &PeerCertificate,
) -> Result<AgentStream, Refusal> {
    let agent = &caller.agent;
    // First the place in the hub, then the rows: what changes in between is told, not missed.
    let place = Arc::clone(server.hub()).open(agent);
    let mut reading = server.store().read().await?;
    let is_current = reading.agent(&agent.id).await?.is_some_and(|agent| agent.revoked_at.is_none());
    let assigned = reading.assignment(&agent.account_id, &agent.target).await?;
    drop(reading);
    if !is_current {
        return Err(Refusal::agent_revoked());
    }
    let generation = assigned.map_or(0, |assigned| assigned.generation.0);
    place.told(generation);
    let now = now();
    let hello = StreamMessage::Hello {
        generation,
        renew_after_seconds: renew_after_seconds(certificate.not_after, now),
        silence_seconds: SILENCE_SECONDS,
    };
    Ok(AgentStream {
        place,
        state: StreamState::Begun(hello),
        ends_at: Instant::now() + remaining(certificate, now),
        stopping: server.watch_stopping(),
    })
}

fn remaining(certificate: &PeerCertificate, now: Timestamp) -> Duration {
    certificate.not_after.elapsed_since(now)
}

impl AgentStream {
    /// The next line; none when the stream ends.
    pub async fn next(&mut self) -> Option<StreamMessage> {
        match std::mem::replace(&mut self.state, StreamState::Open) {
            StreamState::Begun(hello) => return Some(hello),
            StreamState::Open => {}
            StreamState::Ended => {
                self.state = StreamState::Ended;
                return None;
            }
        }
        let delivery = tokio::select! {
            biased;
            _ = self.stopping.wait_for(|stopping| *stopping) => Delivery::Close,
            delivery = self.place.mailbox.next() => delivery,
            () = tokio::time::sleep_until(self.ends_at) => Delivery::Close,
            () = tokio::time::sleep(PING_INTERVAL) => Delivery::Send(StreamMessage::Ping),
        };
        match delivery {
            Delivery::Send(message) => Some(message),
            Delivery::SendLast(message) => {
                self.state = StreamState::Ended;
                Some(message)
            }
            Delivery::Close => {
                self.state = StreamState::Ended;
                None
            }
        }
    }
}
