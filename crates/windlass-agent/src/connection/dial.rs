//! Opening a connection: TCP, TLS, HTTP/2.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use super::requests::{RequestError, Requests};
use super::server_address::ServerAddress;

/// How long a connection may take to open, with TLS and HTTP/2.
const OPEN_WITHIN: Duration = Duration::from_secs(20);
/// How much the server may send of one response before the agent has read it. Small, because an agent at rest is small.
const STREAM_WINDOW: u32 = 256 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;

/// Bytes to and from a server.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

type Dialled = BoxFuture<'static, io::Result<Box<dyn Transport>>>;

/// How the agent reaches an address.
#[derive(Clone)]
pub(crate) struct Dial(Arc<dyn Fn(ServerAddress) -> Dialled + Send + Sync>);

impl Dial {
    /// Over TCP.
    pub(crate) fn tcp() -> Dial {
        Dial::new(|address: ServerAddress| async move {
            let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }

    /// By this function.
    pub(crate) fn new<F>(dial: impl Fn(ServerAddress) -> F + Send + Sync + 'static) -> Dial
    where
        F: Future<Output = io::Result<Box<dyn Transport>>> + Send + 'static,
    {
        Dial(Arc::new(move |address| Box::pin(dial(address))))
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

/// The work of an open connection. It ends when the connection does.
pub(crate) type ConnectionWork = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens a connection. The caller polls the work for as long as it uses the requests.
pub(crate) async fn open(
    dial: &Dial,
    address: &ServerAddress,
    config: Arc<ClientConfig>,
) -> Result<(Requests, ConnectionWork), RequestError> {
    match timeout(OPEN_WITHIN, open_now(dial, address, config)).await {
        Ok(opened) => opened,
        Err(_) => Err(RequestError::Unreachable(format!("no answer within {} s", OPEN_WITHIN.as_secs()))),
    }
}

async fn open_now(
    dial: &Dial,
    address: &ServerAddress,
    config: Arc<ClientConfig>,
) -> Result<(Requests, ConnectionWork), RequestError> {
    let unreachable = |error: &dyn fmt::Display| RequestError::Unreachable(error.to_string());
    let transport = (dial.0)(address.clone()).await.map_err(|error| unreachable(&error))?;
    let name = ServerName::try_from(address.host.clone()).map_err(|error| unreachable(&error))?;
    let tls = TlsConnector::from(config).connect(name, transport).await;
    let tls = tls.map_err(|error| match error.get_ref() {
        Some(cause) if cause.is::<tokio_rustls::rustls::Error>() => {
            RequestError::NotTrusted(cause.to_string())
        }
        _ => unreachable(&error),
    })?;
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(16 * 1024);
    let (sender, connection) =
        builder.handshake::<_, Full<Bytes>>(TokioIo::new(tls)).await.map_err(|error| unreachable(&error))?;
    let work = Box::pin(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "the connection ended");
        }
    });
    Ok((Requests::new(sender, address), work))
}
