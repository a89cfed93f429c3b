//! HTTP on one connection, with limits on everything that a client can make grow.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use windlass_control::metrics::{self, ConnectionEnd};
use windlass_core::inbound::forwarded::HttpScheme;

use crate::connections::exchange::ConnectionRequests;
use crate::connections::tls::TlsKeys;
use crate::connections::watched::WatchedSocket;
use crate::connections::{OpenSocket, PeerAddress};

/// The longest head of a request, its address included.
const MAX_HEAD: usize = 64 * 1024;

/// The longest list of headers over HTTP/2.
const MAX_HEAD_H2: u32 = 32 * 1024;

/// Requests that one HTTP/2 connection may have under way at once.
const MAX_STREAMS: u32 = 64;

/// The longest frame that is taken over HTTP/2. With the longest list of headers it also bounds into how many pieces a head
/// may be cut.
const MAX_FRAME: u32 = 16 * 1024;

/// Bytes of bodies that an HTTP/2 client may send ahead of what is read: on one stream, and on all together.
const STREAM_WINDOW: u32 = 256 * 1024;

const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Bytes of an answer that wait for the client on one HTTP/2 stream before no more is asked of whoever makes it.
const MAX_UNSENT: usize = 256 * 1024;

/// Requests that an HTTP/2 client may take back before they were looked at, and those that it may get wrong.
const MAX_RESETS: usize = 20;

const MAX_WRONG: usize = 128;

/// How often an HTTP/2 client is asked whether it is still there, and how long it has to say so.
const PING: Duration = Duration::from_secs(20);

/// What is served on a connection, and to whom.
pub(super) struct ConnectionService {
    pub(super) router: Router,
    pub(super) address: SocketAddr,
    pub(super) tls: Option<Arc<TlsKeys>>,
}

/// Serves one connection to its end.
pub(super) async fn serve(
    alive: OpenSocket,
    stream: TcpStream,
    service: ConnectionService,
    stopping: watch::Receiver<bool>,
) {
    let connection = Arc::clone(&alive.0);
    // Small answers are not held back.
    let _ = stream.set_nodelay(true);
    let stream = WatchedSocket::new(stream, Arc::clone(&connection));
    let ended = tokio::select! {
        biased;
        ended = connection.until_closed(stopping.clone()) => ended,
        () = secure_and_speak(&alive, stream, service, stopping) => ConnectionEnd::Ended,
    };
    metrics::connection_ended(ended);
    drop(alive);
}

async fn secure_and_speak(
    alive: &OpenSocket,
    stream: WatchedSocket,
    service: ConnectionService,
    stopping: watch::Receiver<bool>,
) {
    let ConnectionService { router, address, tls } = service;
    let scheme = if tls.is_some() { HttpScheme::Https } else { HttpScheme::Http };
    let exchanges = ConnectionRequests::new(router, PeerAddress { address, scheme }, Arc::clone(&alive.0));
    match tls {
        None => speak(stream, exchanges, stopping).await,
        Some(tls) => match tls.acceptor().accept(stream).await {
            Ok(stream) => speak(stream, exchanges, stopping).await,
            Err(error) => tracing::debug!(%error, %address, "a TLS handshake failed"),
        },
    }
}

/// Speaks HTTP/1.1 or HTTP/2, whichever the client begins with.
async fn speak<S>(stream: S, exchanges: ConnectionRequests, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    // Being late is our own business: hyper knows one time for both heads and pauses.
    builder.http1().timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(MAX_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_local_error_reset_streams(MAX_WRONG)
        .max_header_list_size(MAX_HEAD_H2)
        .max_frame_size(MAX_FRAME)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_UNSENT)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(exchanges));
    let mut connection = std::pin::pin!(connection);
    let stopped = async {
        let _ = stopping.wait_for(|stopping| *stopping).await;
    };
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, "a connection ended early");
    }
}
