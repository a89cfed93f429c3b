//! Connections: how the server accepts them, how long clients may take, how many may be open, and TLS.
//!
//! The core decides which connection is served and which is closed for it ([`ConnectionTable`]). Here, [`listen`] accepts
//! connections, [`serve`] handles HTTP on one, [`exchange`] tracks each request on it, and [`watched`] detects received
//! bytes and clients that read nothing.

pub(crate) mod exchange;
pub(crate) mod listen;
pub(crate) mod refuse;
pub(crate) mod serve;
pub(crate) mod tls;
pub(crate) mod watched;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Version;
use tokio::sync::{Notify, watch};
use windlass_control::metrics::{self, ConnectionEnd};
use windlass_core::inbound::connections::{
    ConnectionAdmission, ConnectionId, ConnectionLimits, ConnectionTable, NewConnection, RequestStep,
};
use windlass_core::inbound::forwarded::HttpScheme;
use windlass_core::inbound::transfer_time::ResponsePace;

/// How many connections may be closing, in addition to those that are open, before the server stops accepting more.
const MAX_CLOSING: usize = 64;

/// The peer of a connection: a client, or the nearest proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress {
    pub(crate) address: SocketAddr,
    /// The scheme of the connection.
    pub(crate) scheme: HttpScheme,
}

/// How long clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of a connection, including TLS, or from the first byte of a later request, until the head is received.
    pub header: Duration,
    /// How much longer than at the lowest allowed rate a client may take to send a body or to read a response.
    pub body: Duration,
    /// Between two requests.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            header: Duration::from_secs(15),
            body: Duration::from_secs(20),
            idle: Duration::from_secs(75),
        }
    }
}

/// How many connections this process may have, from its limit of open files.
pub(crate) fn limits_of_process() -> ConnectionLimits {
    use nix::sys::resource::Resource;
    use nix::sys::resource::getrlimit;
    // 1024 is the usual limit, for a system that does not report one.
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    ConnectionLimits::for_open_files(files)
}

/// All connections of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    timeouts: Timeouts,
    began: Instant,
    state: Mutex<ConnectionsState>,
    /// Notified when a socket is closed.
    socket_closed: Notify,
}

#[derive(Debug)]
struct ConnectionsState {
    table: ConnectionTable,
    open: BTreeMap<ConnectionId, Arc<Connection>>,
    /// The number of open sockets, including those that are being closed.
    alive: usize,
}

/// The limit that a refused connection exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionLimit {
    Address,
    Server,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits, timeouts: Timeouts) -> Connections {
        let state = ConnectionsState { table: ConnectionTable::new(limits), open: BTreeMap::new(), alive: 0 };
        Connections {
            limits,
            timeouts,
            began: Instant::now(),
            state: Mutex::new(state),
            socket_closed: Notify::new(),
        }
    }

    /// Accepts or refuses a new connection, and closes another one for it if necessary.
    fn admit(self: &Arc<Self>, newcomer: NewConnection) -> Result<OpenSocket, ConnectionLimit> {
        let mut state = self.lock();
        let (opened, closed) = match state.table.admit(newcomer, self.began.elapsed()) {
            ConnectionAdmission::Open(opened) => (opened, None),
            ConnectionAdmission::Replace { opened, closed } => (opened, Some(closed)),
            ConnectionAdmission::AddressFull => return Err(ConnectionLimit::Address),
            ConnectionAdmission::ServerFull => return Err(ConnectionLimit::Server),
        };
        if let Some(closed) = closed.and_then(|closed| state.open.remove(&closed)) {
            closed.close.notify_one();
        }
        let connection = Arc::new(Connection::new(opened, Arc::clone(self)));
        state.open.insert(opened, Arc::clone(&connection));
        state.alive += 1;
        metrics::connections(state.table.open());
        Ok(OpenSocket(connection))
    }

    /// Closes the least useful connection, because the system has no more files.
    fn make_room(&self) {
        let mut state = self.lock();
        if let Some(closed) = state.table.make_room().and_then(|closed| state.open.remove(&closed)) {
            closed.close.notify_one();
        }
    }

    /// Waits until few enough connections are closing. Each closes as soon as its task is scheduled.
    async fn until_room(&self) {
        loop {
            let socket_closed = self.socket_closed.notified();
            if self.lock().alive < self.limits.total + MAX_CLOSING {
                return;
            }
            socket_closed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionsState> {
        // Consistent even if a thread panicked while it held the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose socket is open. It must be dropped after the socket.
struct OpenSocket(Arc<Connection>);

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let connections = &self.0.connections;
        let mut state = connections.lock();
        state.table.leave(self.0.id);
        state.open.remove(&self.0.id);
        state.alive -= 1;
        metrics::connections(state.table.open());
        drop(state);
        connections.socket_closed.notify_one();
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    connections: Arc<Connections>,
    /// Notified when this connection must close for another one.
    close: Notify,
    /// Notified when the deadline of the client changed.
    changed: Notify,
    progress: Mutex<ConnectionProgress>,
}

/// The progress of a connection.
#[derive(Debug)]
struct ConnectionProgress {
    began: Instant,
    in_flight: usize,
    /// The number of requests so far.
    requests: u64,
    /// The responses that are being sent, by the number of their request.
    answers: BTreeMap<u64, ResponsePace>,
    answered: bool,
    request_overlap: RequestOverlap,
    quiet_since: Instant,
    /// When the first byte of the next request was received.
    head_since: Option<Instant>,
}

/// Whether the requests of a connection can overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestOverlap {
    /// Each follows the response to the previous one: HTTP/1.
    Never,
    /// They can overlap, so that a received byte does not mean that a new request begins: HTTP/2.
    Possible,
}

impl RequestOverlap {
    fn over(version: Version) -> RequestOverlap {
        match version {
            Version::HTTP_2 => RequestOverlap::Possible,
            _ => RequestOverlap::Never,
        }
    }
}

impl Connection {
    fn new(id: ConnectionId, connections: Arc<Connections>) -> Connection {
        let now = Instant::now();
        let progress = ConnectionProgress {
            began: now,
            in_flight: 0,
            requests: 0,
            answers: BTreeMap::new(),
            answered: false,
            request_overlap: RequestOverlap::Never,
            quiet_since: now,
            head_since: None,
        };
        Connection {
            id,
            connections,
            close: Notify::new(),
            changed: Notify::new(),
            progress: Mutex::new(progress),
        }
    }

    fn step(&self, step: RequestStep) {
        let now = self.connections.began.elapsed();
        self.connections.lock().table.step(self.id, step, now);
    }

    fn progress(&self) -> MutexGuard<'_, ConnectionProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the start of a request, and returns its number.
    fn request_began(&self, overlap: RequestOverlap) -> u64 {
        self.step(RequestStep::Began);
        let mut progress = self.progress();
        progress.in_flight += 1;
        progress.requests += 1;
        progress.request_overlap = overlap;
        progress.head_since = None;
        progress.requests
    }

    /// The head of a response is sent.
    fn response_began(&self, number: u64) {
        let allowance = self.connections.timeouts.body;
        let mut progress = self.progress();
        let pace = ResponsePace::begin(allowance, progress.began.elapsed());
        progress.answers.insert(number, pace);
        drop(progress);
        self.changed.notify_one();
    }

    /// The client is ready for more of a response.
    fn response_client_ready(&self, number: u64) {
        let mut progress = self.progress();
        let now = progress.began.elapsed();
        if let Some(pace) = progress.answers.get_mut(&number) {
            pace.client_ready(now);
        }
    }

    /// More bytes of a response are being sent to the client.
    fn response_bytes_sent(&self, number: u64, bytes: u64) {
        let mut progress = self.progress();
        let now = progress.began.elapsed();
        if let Some(pace) = progress.answers.get_mut(&number) {
            pace.bytes_sent(bytes, now);
        }
        drop(progress);
        self.changed.notify_one();
    }

    fn request_ended(&self, number: u64, how: windlass_core::inbound::connections::RequestProgress) {
        self.step(RequestStep::Ended(how));
        let mut progress = self.progress();
        progress.in_flight -= 1;
        progress.answers.remove(&number);
        progress.answered = true;
        progress.quiet_since = Instant::now();
        drop(progress);
        self.changed.notify_one();
    }

    /// Bytes were received.
    fn bytes_received(&self) {
        let mut progress = self.progress();
        if progress.in_flight == 0 && progress.head_since.is_none() {
            progress.head_since = Some(Instant::now());
            drop(progress);
            self.changed.notify_one();
        }
    }

    /// When the client is too late. While requests are in progress, only reading responses too slowly counts.
    fn deadline(&self) -> Option<Instant> {
        let Timeouts { header, idle, .. } = self.connections.timeouts;
        let progress = self.progress();
        if progress.in_flight > 0 {
            let first = progress.answers.values().filter_map(ResponsePace::deadline).min();
            return first.map(|since_began| progress.began + since_began);
        }
        Some(match progress.head_since {
            _ if !progress.answered => progress.began + header,
            Some(since) if progress.request_overlap == RequestOverlap::Never => since + header,
            _ => progress.quiet_since + idle,
        })
    }

    fn is_quiet(&self) -> bool {
        self.progress().in_flight == 0
    }

    /// Waits until the server must close the connection, and returns why.
    async fn until_closed(&self, mut stopping: watch::Receiver<bool>) -> ConnectionEnd {
        let late = async {
            loop {
                let changed = self.changed.notified();
                match self.deadline() {
                    Some(deadline) if deadline <= Instant::now() => return,
                    Some(deadline) => {
                        tokio::select! {
                            () = tokio::time::sleep_until(deadline.into()) => {}
                            () = changed => {}
                        }
                    }
                    None => changed.await,
                }
            }
        };
        let stopped = async {
            let _ = stopping.wait_for(|stopping| *stopping).await;
            // `serve` completes the requests in progress.
            if !self.is_quiet() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = self.close.notified() => ConnectionEnd::Replaced,
            () = late => ConnectionEnd::Late,
            () = stopped => ConnectionEnd::Ended,
        }
    }
}
