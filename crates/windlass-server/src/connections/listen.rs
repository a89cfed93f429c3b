//! Accepts connections, and continues when there are too many, when the process has no more files, and when a client
//! disconnects early.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_control::metrics::{self, ConnectionEnd};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::connections::NewConnection;
use windlass_core::inbound::forwarded::TrustedProxies;

use crate::connections::Connections;
use crate::connections::refuse::RefusalSender;
use crate::connections::serve::{ConnectionService, serve};
use crate::connections::tls::TlsKeys;

/// The delay before the next attempt when the system cannot accept a connection: it has no files or no memory.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How often the server logs that it cannot accept connections.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// The context of [`listen`].
pub(crate) struct ListenOptions {
    /// The open connections.
    pub(crate) connections: Arc<Connections>,
    /// The trusted proxies. They are exempt from the limit per address block.
    pub(crate) trusted_proxies: TrustedProxies,
    /// Becomes true when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Accepts connections until the server stops, then waits until those that are open have ended.
pub(crate) async fn listen(
    listener: TcpListener,
    options: ListenOptions,
    router: Router,
    tls: Option<Arc<TlsKeys>>,
) {
    let ListenOptions { connections, trusted_proxies, mut stopping } = options;
    let (mut tasks, mut refusals, mut warned_at) = (JoinSet::new(), RefusalSender::default(), None);
    loop {
        while tasks.try_join_next().is_some() {}
        let accepted = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                recover(&connections, &error, &mut warned_at).await;
                continue;
            }
        };
        let block = AddressBlock::of(address.ip());
        let is_proxy = trusted_proxies.contains(address.ip());
        let newcomer = if is_proxy { NewConnection::Proxy(block) } else { NewConnection::From(block) };
        match connections.admit(newcomer) {
            Ok(alive) => {
                let service = ConnectionService { router: router.clone(), address, tls: tls.clone() };
                tasks.spawn(serve(alive, stream, service, stopping.clone()));
            }
            Err(full) => {
                metrics::connection_ended(ConnectionEnd::Refused);
                match tls {
                    None => refusals.refuse(stream, full),
                    // A TLS handshake only to send a refusal is too expensive.
                    Some(_) => drop(stream),
                }
            }
        }
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    connections: &Connections,
) -> std::io::Result<(TcpStream, SocketAddr)> {
    connections.until_room().await;
    listener.accept().await
}

/// Ignores a client that disconnected early. After any other error, logs it, closes the least useful connection, and waits
/// before the next attempt.
async fn recover(connections: &Connections, error: &std::io::Error, warned_at: &mut Option<Instant>) {
    let is_gone = matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    );
    if is_gone {
        return;
    }
    if warned_at.is_none_or(|at: Instant| at.elapsed() >= WARNING_INTERVAL) {
        tracing::error!(%error, "cannot accept connections; raise the limit of open files (ulimit -n)");
        *warned_at = Some(Instant::now());
    }
    connections.make_room();
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}
