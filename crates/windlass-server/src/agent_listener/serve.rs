//! HTTP/2 on one connection of an agent, with a limit on everything whose size a client determines.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::{ServiceExt as _, service_fn};
use windlass_control::agents::certificate::PeerCertificate;
use windlass_control::ask::enrolment::record::{CertificateRefusal, record_refused_certificate};
use windlass_control::metrics::{self, MetricOutcome};
use windlass_core::inbound::forwarded::HttpScheme;

use crate::agent_listener::limits::{AgentConnections, HandshakePlace};
use crate::agent_listener::tls::RefusedClaim;
use crate::http::origin::ClientOrigin;
use crate::state::Server;

/// How long a handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection without a certificate may last: it only enrols.
const STRANGER_TIME: Duration = Duration::from_secs(30);

/// How many requests one connection may have in progress: the stream, a report, and a few blobs.
const MAX_STREAMS: u32 = 16;

/// The longest list of headers. Agents send few.
const MAX_HEAD: u32 = 8 * 1024;

/// The longest frame that the server accepts.
const MAX_FRAME: u32 = 16 * 1024;

/// How many bytes of bodies a client may send before the server reads them: on one stream, and in total.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 128 * 1024;

/// How many unsent bytes of a response one stream buffers before it stops polling the body.
const MAX_UNSENT: usize = 64 * 1024;

/// How many requests a client may reset before the server accepts them, and how many invalid ones it may send.
const MAX_RESETS: usize = 20;
const MAX_WRONG: usize = 64;

/// The interval of pings, and how long a client may take to respond. A connection that is alive counts as a contact.
const PING: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// What every connection of agents shares.
#[derive(Clone)]
pub(crate) struct AgentListener {
    pub(crate) server: Server,
    pub(crate) router: Router,
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) connections: Arc<AgentConnections>,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// A connection that was accepted.
pub(super) struct AgentConnection {
    pub(super) stream: TcpStream,
    pub(super) address: SocketAddr,
    pub(super) handshake: HandshakePlace,
}

/// Serves one connection to its end.
pub(super) async fn serve(connection: AgentConnection, shared: &AgentListener) {
    let AgentConnection { stream, address, handshake } = connection;
    // Small messages are sent without delay.
    let _ = stream.set_nodelay(true);
    let claim = RefusedClaim::default();
    let accepting = claim.during(shared.acceptor.accept(stream));
    let accepted = tokio::time::timeout(HANDSHAKE_TIMEOUT, accepting).await;
    drop(handshake);
    let Ok(Ok(stream)) = accepted else {
        metrics::agent_handshake(MetricOutcome::Failed);
        record_forged(shared, &claim, address).await;
        return;
    };
    let certificate = certificate_of(&stream);
    let router = routed(shared.router.clone(), certificate.clone(), address);
    let stopping = shared.stopping.clone();
    match certificate {
        Some(certificate) => {
            let Some(_place) = shared.connections.admit_agent(&certificate.agent_id) else {
                metrics::agent_handshake(MetricOutcome::Refused);
                return;
            };
            metrics::agent_handshake(MetricOutcome::Done);
            serve_http(stream, router, stopping).await;
        }
        None => {
            let Some(_place) = shared.connections.admit_stranger() else {
                metrics::agent_handshake(MetricOutcome::Refused);
                return;
            };
            metrics::agent_handshake(MetricOutcome::Done);
            let _ = tokio::time::timeout(STRANGER_TIME, serve_http(stream, router, stopping)).await;
        }
    }
}

/// Records that someone showed a certificate for an agent that our authority did not issue.
async fn record_forged(shared: &AgentListener, claim: &RefusedClaim, address: SocketAddr) {
    let Some(agent_id) = claim.take() else { return };
    let (why, address) = (CertificateRefusal::ForeignAuthority, address.ip().to_string());
    if record_refused_certificate(&shared.server, &agent_id, why, &address).await.is_err() {
        tracing::warn!("the event of a refused certificate was not stored");
    }
}

/// The certificate that the handshake verified.
fn certificate_of(stream: &TlsStream<TcpStream>) -> Option<PeerCertificate> {
    let certificates = stream.get_ref().1.peer_certificates()?;
    PeerCertificate::read(certificates.first()?)
}

/// The certificate of a connection; none if the client has none.
#[derive(Clone, Debug)]
pub(super) struct ConnectionCertificate(pub(super) Option<PeerCertificate>);

/// The router for the requests of one connection.
#[derive(Clone)]
struct RoutedConnection {
    router: Router,
    certificate: ConnectionCertificate,
    origin: ClientOrigin,
}

fn routed(router: Router, certificate: Option<PeerCertificate>, address: SocketAddr) -> RoutedConnection {
    let origin = ClientOrigin { address: address.ip().to_string(), scheme: HttpScheme::Https };
    RoutedConnection { router, certificate: ConnectionCertificate(certificate), origin }
}

async fn serve_http(
    stream: TlsStream<TcpStream>,
    routed: RoutedConnection,
    mut stopping: watch::Receiver<bool>,
) {
    let mut builder = Builder::new(TokioExecutor::new()).http2_only();
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_pending_accept_reset_streams(MAX_RESETS)
        .max_local_error_reset_streams(MAX_WRONG)
        .max_header_list_size(MAX_HEAD)
        .max_frame_size(MAX_FRAME)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(MAX_UNSENT)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING_TIMEOUT);
    let service = service_fn(move |mut request: Request<_>| {
        let RoutedConnection { router, certificate, origin } = routed.clone();
        request.extensions_mut().insert(certificate);
        request.extensions_mut().insert(origin);
        router.oneshot(request.map(Body::new))
    });
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
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
        tracing::debug!(error, "a connection of an agent ended early");
    }
}
