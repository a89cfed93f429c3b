//! Connections: accepting them, how long they may take, how many there may be, and TLS.
//!
//! Which connection is served and which is closed for it is decided in the core ([`ConnectionTable`]). Here is what
//! happens to them: [`listen`] accepts, [`serve`] speaks HTTP on one, [`exchange`] follows each request on it, and
//! [`watched`] sees bytes come and go.

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

/// Connections that may be closing beside those that are open, before the next one is accepted.
const MAX_CLOSING: usize = 64;

/// Where a request arrived from: a client, or the nearest proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress {
    pub(crate) address: SocketAddr,
    /// How it came from there.
    pub(crate) scheme: HttpScheme,
}

/// How long clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From a connection's begin, or the first byte of a later request, until its head is there; TLS included.
    pub header: Duration,
    /// How much longer a body may take to come, or an answer to be taken, than at the slowest rate that is waited for.
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

/// How many connections this process may have, as far as the files allow that it may open.
pub(crate) fn limits_of_process() -> ConnectionLimits {
    use nix::sys::resource::Resource;
    use nix::sys::resource::getrlimit;
    // A system that does not say is taken for one with the usual limit.
    let files = getrlimit(Resource::RLIMIT_NOFILE).map_or(1024, |(soft, _)| soft);
    ConnectionLimits::for_open_files(files)
}

/// Every connection of a server.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ConnectionLimits,
    timeouts: Timeouts,
    began: Instant,
    state: Mutex<ConnectionsState>,
    /// Someone left.
    left: Notify,
}

#[derive(Debug)]
struct ConnectionsState {
    table: ConnectionTable,
    open: BTreeMap<ConnectionId, Arc<Connection>>,
    /// Those whose sockets are open, also if they are being closed.
    alive: usize,
}

/// Why a newcomer is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionLimit {
    Address,
    Server,
}

impl Connections {
    pub(crate) fn new(limits: ConnectionLimits, timeouts: Timeouts) -> Connections {
        let state = ConnectionsState { table: ConnectionTable::new(limits), open: BTreeMap::new(), alive: 0 };
        Connections { limits, timeouts, began: Instant::now(), state: Mutex::new(state), left: Notify::new() }
    }

    /// Decides about a newcomer, and has another one closed for it if need be.
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

    /// Has the least useful connection closed, because the system has no more files.
    fn make_room(&self) {
        let mut state = self.lock();
        if let Some(closed) = state.table.make_room().and_then(|closed| state.open.remove(&closed)) {
            closed.close.notify_one();
        }
    }

    /// Waits until few enough are being closed: closing takes no more than a turn of the scheduler.
    async fn until_room(&self) {
        loop {
            let left = self.left.notified();
            if self.lock().alive < self.limits.total + MAX_CLOSING {
                return;
            }
            left.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionsState> {
        // Every change is whole, whatever the thread that held it last did.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection whose socket is open. Dropped after the socket.
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
        connections.left.notify_one();
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    id: ConnectionId,
    connections: Arc<Connections>,
    /// It is to be closed for another one.
    close: Notify,
    /// When the client is too late has changed.
    changed: Notify,
    progress: Mutex<ConnectionProgress>,
}

/// How far a connection is.
#[derive(Debug)]
struct ConnectionProgress {
    began: Instant,
    in_flight: usize,
    /// How many requests there were.
    requests: u64,
    /// Answers that are being sent, by the number of their request.
    answers: BTreeMap<u64, ResponsePace>,
    answered: bool,
    requests_come: RequestsCome,
    quiet_since: Instant,
    /// When the first byte of the next request came.
    head_since: Option<Instant>,
}

/// How the requests of a connection come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestsCome {
    /// Each after the answer to the one before.
    InTurn,
    /// They can overlap, so that single bytes say nothing about the next one.
    Together,
}

impl RequestsCome {
    fn over(version: Version) -> RequestsCome {
        match version {
            Version::HTTP_2 => RequestsCome::Together,
            _ => RequestsCome::InTurn,
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
            requests_come: RequestsCome::InTurn,
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

    /// Notes a request, and says which one it is.
    fn request_began(&self, come: RequestsCome) -> u64 {
        self.step(RequestStep::Began);
        let mut progress = self.progress();
        progress.in_flight += 1;
        progress.requests += 1;
        progress.requests_come = come;
        progress.head_since = None;
        progress.requests
    }

    /// The head of an answer goes out.
    fn answer_began(&self, number: u64) {
        let allowance = self.connections.timeouts.body;
        let mut progress = self.progress();
        let pace = ResponsePace::begin(allowance, progress.began.elapsed());
        progress.answers.insert(number, pace);
        drop(progress);
        self.changed.notify_one();
    }

    /// The client can take more of an answer.
    fn answer_asked(&self, number: u64) {
        let mut progress = self.progress();
        let now = progress.began.elapsed();
        if let Some(pace) = progress.answers.get_mut(&number) {
            pace.client_ready(now);
        }
    }

    /// More of an answer is on its way to the client.
    fn answer_handed_over(&self, number: u64, bytes: u64) {
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

    /// Bytes came.
    fn bytes_came(&self) {
        let mut progress = self.progress();
        if progress.in_flight == 0 && progress.head_since.is_none() {
            progress.head_since = Some(Instant::now());
            drop(progress);
            self.changed.notify_one();
        }
    }

    /// When the client is too late. While requests are under way, only for what it does not take of the answers.
    fn deadline(&self) -> Option<Instant> {
        let Timeouts { header, idle, .. } = self.connections.timeouts;
        let progress = self.progress();
        if progress.in_flight > 0 {
            let first = progress.answers.values().filter_map(ResponsePace::deadline).min();
            return first.map(|since_began| progress.began + since_began);
        }
        Some(match progress.head_since {
            _ if !progress.answered => progress.began + header,
            Some(since) if progress.requests_come == RequestsCome::InTurn => since + header,
            _ => progress.quiet_since + idle,
        })
    }

    fn is_quiet(&self) -> bool {
        self.progress().in_flight == 0
    }

    /// Waits until the connection is to be closed from here.
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
            // What is under way is brought to an end by whoever speaks on the connection.
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
