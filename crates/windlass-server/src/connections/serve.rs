//! HTTP on one connection, with a limit on everything whose size a client determines.

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

/// The longest head of a request, including its address.
const MAX_HEAD: usize = 64 * 1024;

/// The longest list of headers over HTTP/2.
const MAX_HEAD_H2: u32 = 32 * 1024;

/// How many requests one HTTP/2 connection may have in progress.
const MAX_STREAMS: u32 = 64;

/// The longest frame that the server accepts over HTTP/2. Together with the longest list of headers, it also limits how many
/// frames one head may have.
const MAX_FRAME: u32 = 16 * 1024;

/// How many bytes of bodies an HTTP/2 client may send before the server reads them: on one stream, and in total.
const STREAM_WINDOW: u32 = 256 * 1024;

const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// How many unsent bytes of a response one HTTP/2 stream buffers before it stops polling the body.
const MAX_UNSENT: usize = 256 * 1024;

/// How many requests an HTTP/2 client may reset before the server accepts them, and how many invalid ones it may send.
const MAX_RESETS: usize = 20;

const MAX_WRONG: usize = 128;

/// The interval of pings to an HTTP/2 client, and how long it may take to respond.
const PING: Duration = Duration::from_secs(20);

/// The router, the peer address and the TLS keys of a connection.
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
    // Small responses are sent without delay.
    let _ = stream.set_nodelay(true);
    let stream = WatchedSocket::new(stream, Arc::clone(&connection));
    let ended = tokio::select! {
        biased;
        ended = connection.until_closed(stopping.clone()) => ended,
        () = handshake_and_serve(&alive, stream, service, stopping) => ConnectionEnd::Ended,
    };
    metrics::connection_ended(ended);
    drop(alive);
}

async fn handshake_and_serve(
    alive: &OpenSocket,
    stream: WatchedSocket,
    service: ConnectionService,
    stopping: watch::Receiver<bool>,
) {
    let ConnectionService { router, address, tls } = service;
    let scheme = if tls.is_some() { HttpScheme::Https } else { HttpScheme::Http };
    let exchanges = ConnectionRequests::new(router, PeerAddress { address, scheme }, Arc::clone(&alive.0));
    match tls {
        None => serve_http(stream, exchanges, stopping).await,
        Some(tls) => match tls.acceptor().accept(stream).await {
            Ok(stream) => serve_http(stream, exchanges, stopping).await,
            Err(error) => tracing::debug!(%error, %address, "a TLS handshake failed"),
        },
    }
}

/// Serves HTTP/1.1 or HTTP/2, whichever the client starts with.
async fn serve_http<S>(stream: S, exchanges: ConnectionRequests, mut stopping: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    // `Connection` checks deadlines: hyper has only one timeout for both heads and idle time.
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
