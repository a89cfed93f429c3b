//! Accepting connections, whatever happens: too many, too few files, a client that is gone again.

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
use crate::connections::refuse::Refusals;
use crate::connections::serve::{ConnectionService, serve};
use crate::connections::tls::TlsKeys;

/// How long to wait when the system cannot give a connection: it has no files or no memory.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// How often it is said that connections cannot be accepted.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Who is let in, and until when.
pub(crate) struct ListenOptions {
    /// Every open connection.
    pub(crate) connections: Arc<Connections>,
    /// The proxies that speak for many.
    pub(crate) trusted_proxies: TrustedProxies,
    /// Becomes true when the server is to stop.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Accepts connections until the server stops, then waits for those under way.
pub(crate) async fn listen(
    listener: TcpListener,
    options: ListenOptions,
    router: Router,
    tls: Option<Arc<TlsKeys>>,
) {
    let ListenOptions { connections, trusted_proxies, mut stopping } = options;
    let (mut tasks, mut refusals, mut said_at) = (JoinSet::new(), Refusals::default(), None);
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
                recover(&connections, &error, &mut said_at).await;
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
                    // A handshake would cost more than the answer is worth.
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

/// A client that is gone again is no trouble. Anything else is: something is closed, and it is tried again a little later.
async fn recover(connections: &Connections, error: &std::io::Error, said_at: &mut Option<Instant>) {
    let is_gone = matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    );
    if is_gone {
        return;
    }
    if said_at.is_none_or(|at: Instant| at.elapsed() >= WARNING_INTERVAL) {
        tracing::error!(%error, "cannot accept connections; raise the limit of open files (ulimit -n)");
        *said_at = Some(Instant::now());
    }
    connections.make_room();
    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
}
