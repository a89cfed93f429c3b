//! Accepts connections of agents.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use windlass_control::metrics::{self, MetricOutcome};
use windlass_core::inbound::address::AddressBlock;

use crate::agent_listener::limits::AgentConnections;
use crate::agent_listener::serve::{AgentConnection, AgentListener, serve};

/// The delay before the next attempt when the system cannot accept a connection: it has no files or no memory.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Accepts connections until the server stops, then waits until those that are open have ended.
pub(crate) async fn listen(listener: TcpListener, shared: AgentListener) {
    let mut stopping = shared.stopping.clone();
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => break,
            accepted = accept(&listener, &shared.connections) => accepted,
        };
        match accepted {
            Some((permit, stream, address)) => admit(&mut tasks, &shared, permit, (stream, address)),
            None => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

/// The next connection, when another handshake may begin.
async fn accept(
    listener: &TcpListener,
    connections: &AgentConnections,
) -> Option<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let permit = connections.handshake_permit().await?;
    match listener.accept().await {
        Ok((stream, address)) => Some((permit, stream, address)),
        Err(error) => {
            tracing::warn!(%error, "cannot accept a connection of an agent");
            None
        }
    }
}

fn admit(
    tasks: &mut JoinSet<()>,
    shared: &AgentListener,
    permit: OwnedSemaphorePermit,
    (stream, address): (TcpStream, SocketAddr),
) {
    match shared.connections.admit(permit, AddressBlock::of(address.ip())) {
        Some((place, handshake)) => {
            let connection = AgentConnection { stream, address, handshake };
            let shared = shared.clone();
            tasks.spawn(async move {
                serve(connection, &shared).await;
                drop(place);
            });
        }
        // The agent tries again later; a handshake only to say so would be too expensive.
        None => metrics::agent_handshake(MetricOutcome::Refused),
    }
}
