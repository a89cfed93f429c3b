//! Keeps the connection open: dials, follows the stream of news, and dials again when it breaks or falls silent.
//!
//! [`LinkState`] says where things stand; the agent reads it and asks over [`Requests`]. Nothing here decides what the news
//! mean.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::rustls::ClientConfig;
use windlass_api::agent::{AGENT_REVOKED, StreamMessage};

use super::backoff::Backoff;
use super::dial::{ConnectionWork, Dial, open};
use super::requests::{RequestError, Requests};
use super::server_address::ServerAddress;
use super::stream::{Line, News};

/// How long the agent waits for the first line.
const HELLO_WITHIN: Duration = Duration::from_secs(30);
/// A connection that lasted so long counts as a success.
const STABLE_AFTER: Duration = Duration::from_secs(10);
/// The bounds of the silence that the server may ask for.
const SILENCE: std::ops::RangeInclusive<u64> = 5..=3600;

/// A number from 0 up to 1, for jitter.
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// Where the connection stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkState {
    /// Asks over the open connection.
    pub(crate) requests: Option<Requests>,
    /// How many connections were opened so far.
    pub(crate) connections: u64,
    /// The first line of the open connection.
    pub(crate) hello: Option<Hello>,
    /// The generation that the server named last.
    pub(crate) generation: u64,
    /// How many times the server asked for a complete report.
    pub(crate) observe_requests: u64,
    /// Why the server does not open the stream for this certificate.
    pub(crate) refusal: Option<RequestError>,
    /// Whether the agent was revoked.
    pub(crate) revoked: bool,
}

/// What the server said first on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// When the agent shall renew its certificate.
    pub(crate) renew_at: Instant,
}

/// With which certificate the agent wants to be connected. A change of it opens a new connection.
#[derive(Clone, Debug)]
pub(crate) struct LinkWish {
    pub(crate) config: Arc<ClientConfig>,
    /// Raised to get a new connection.
    pub(crate) reconnects: u64,
}

/// Keeps a connection open.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) address: ServerAddress,
    pub(crate) wishes: watch::Receiver<LinkWish>,
    pub(crate) state: watch::Sender<LinkState>,
}

/// Why a connection ended.
enum ConnectionEnd {
    Broken(RequestError),
    NewWish,
    Revoked,
}

impl Link {
    /// Runs until it is dropped. After a revocation it does not connect again.
    pub(crate) async fn run(mut self, dial: Dial, random: Random) {
        let mut backoff = Backoff::default();
        loop {
            let wish = self.wishes.borrow_and_update().clone();
            let began = Instant::now();
            let end = tokio::select! {
                end = connect_and_follow(&dial, &self.address, wish.config, &self.state) => end,
                _ = self.wishes.changed() => ConnectionEnd::NewWish,
            };
            let said_hello = self.state.borrow().hello.is_some();
            self.state.send_modify(|state| {
                (state.requests, state.hello, state.refusal) = (None, None, None);
                state.revoked |= matches!(end, ConnectionEnd::Revoked);
            });
            if said_hello && began.elapsed() >= STABLE_AFTER {
                backoff.reset();
            }
            match end {
                ConnectionEnd::Revoked => return std::future::pending().await,
                ConnectionEnd::NewWish => backoff.reset(),
                ConnectionEnd::Broken(error) => {
                    let delay = backoff.next_delay(random());
                    tracing::warn!(server = %self.address, %error, retry_in = ?delay, "not connected");
                    tokio::select! {
                        () = sleep(delay) => {}
                        _ = self.wishes.changed() => {}
                    }
                }
            }
        }
    }
}

async fn connect_and_follow(
    dial: &Dial,
    address: &ServerAddress,
    config: Arc<ClientConfig>,
    state: &watch::Sender<LinkState>,
) -> ConnectionEnd {
    let (requests, work): (Requests, ConnectionWork) = match open(dial, address, config).await {
        Ok(opened) => opened,
        Err(error) => return ConnectionEnd::Broken(error),
    };
    state.send_modify(|state| {
        state.requests = Some(requests.clone());
        state.connections += 1;
    });
    tokio::select! {
        () = work => ConnectionEnd::Broken(RequestError::Unreachable("the connection was closed".to_owned())),
        end = follow(&requests, state) => end,
    }
}

async fn follow(requests: &Requests, state: &watch::Sender<LinkState>) -> ConnectionEnd {
    let body = match requests.stream().await {
        Ok(body) => body,
        Err(error) if error.has_code(AGENT_REVOKED) => return ConnectionEnd::Revoked,
        Err(error) if error.is_unauthorized() => {
            // The agent may renew an expired certificate over this connection, and then wishes for another one.
            state.send_modify(|state| state.refusal = Some(error.clone()));
            sleep(HELLO_WITHIN).await;
            return ConnectionEnd::Broken(error);
        }
        Err(error) => return ConnectionEnd::Broken(error),
    };
    let mut news = News::new(body);
    let mut silence = HELLO_WITHIN;
    loop {
        let line = match timeout(silence, news.next()).await {
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => {
                return ConnectionEnd::Broken(RequestError::Unreachable("the stream was closed".to_owned()));
            }
            Ok(Err(error)) => return ConnectionEnd::Broken(error),
            Err(_) => {
                let problem = format!("the server was silent for {} s", silence.as_secs());
                return ConnectionEnd::Broken(RequestError::Unreachable(problem));
            }
        };
        match line {
            Line::Message(StreamMessage::Hello { generation, renew_after_seconds, silence_seconds }) => {
                silence = Duration::from_secs(silence_seconds.clamp(*SILENCE.start(), *SILENCE.end()));
                let renew_at = Instant::now() + Duration::from_secs(renew_after_seconds.min(365 * 86_400));
                state.send_modify(|state| {
                    state.hello = Some(Hello { renew_at });
                    state.generation = generation;
                });
            }
            Line::Message(StreamMessage::Assignment { generation }) => {
                state.send_modify(|state| state.generation = generation);
            }
            Line::Message(StreamMessage::Observe) => {
                state.send_modify(|state| state.observe_requests += 1);
            }
            Line::Message(StreamMessage::Revoked) => return ConnectionEnd::Revoked,
            Line::Message(StreamMessage::Ping) | Line::Unknown => {}
        }
    }
}
