//! When the agent does what: reacts to news, to changes of files and to the time, one thing after the other.
//!
//! Steps that wait for the disk, for commands or for the server run elsewhere and are awaited here. Decisions about what is
//! accepted and applied are in `cycle`.

mod clock;
mod renew;
mod send;
mod stop;
mod work;

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

pub(crate) use stop::Stop;

use crate::connection::{LinkState, LinkWish, RequestError, Requests};
use crate::cycle::Engine;
use crate::end::AgentEnd;
use crate::error::AgentError;
use crate::fetch::on_disk;
use crate::options::AgentOptions;
use crate::surroundings::Surroundings;
use crate::upgrade;
use crate::watch::Watcher;
use clock::Schedule;

/// Decides what is due.
pub(crate) struct Worker {
    engine: Arc<Mutex<Engine>>,
    options: AgentOptions,
    surroundings: Surroundings,
    link: watch::Receiver<LinkState>,
    wishes: watch::Sender<LinkWish>,
    stop: Stop,
    watcher: Watcher,
    schedule: Schedule,
    seen: SeenLink,
    /// The server has yet to be reached after a change that could have cut the agent off.
    confirmation: Option<AwaitedConfirmation>,
    began: Instant,
}

/// What of the connection the worker has reacted to.
#[derive(Clone, Copy, Debug, Default)]
struct SeenLink {
    /// The connection whose first line it has seen.
    hello: u64,
    /// The connection whose refusal it has seen.
    refusal: u64,
    observe_requests: u64,
}

/// How the server confirms a change: by being reached on a newer connection, in time.
#[derive(Clone, Copy, Debug)]
struct AwaitedConfirmation {
    deadline: Instant,
    after_connection: u64,
}

impl Worker {
    pub(crate) fn new(
        engine: Arc<Mutex<Engine>>,
        options: AgentOptions,
        surroundings: Surroundings,
        (link, wishes): (watch::Receiver<LinkState>, watch::Sender<LinkWish>),
        stop: Stop,
    ) -> Worker {
        let now = Instant::now();
        Worker {
            engine,
            options,
            surroundings,
            link,
            wishes,
            stop,
            watcher: Watcher::default(),
            schedule: Schedule::starting(now),
            seen: SeenLink::default(),
            confirmation: None,
            began: now,
        }
    }

    /// Works until there is a reason to end.
    pub(crate) async fn run(mut self) -> Result<AgentEnd, AgentError> {
        if self.on_engine(|engine| engine.awaits_confirmation() && !engine.has_to_apply()).await {
            // A restart after the change: every connection is a new one.
            self.await_confirmation(0);
        }
        self.watch_files().await;
        loop {
            if let Some(end) = self.react().await? {
                return Ok(end);
            }
            let wake = self.wake_at().await;
            tokio::select! {
                biased;
                () = self.stop.requested() => return Ok(AgentEnd::Stopped),
                changed = self.link.changed() => {
                    if changed.is_err() {
                        return Ok(AgentEnd::Stopped);
                    }
                }
                () = self.watcher.changed() => self.schedule.look_soon(Instant::now()),
                () = sleep_until(wake) => {}
            }
        }
    }

    /// Does everything that is due.
    async fn react(&mut self) -> Result<Option<AgentEnd>, AgentError> {
        if let Some(end) = self.follow_link().await? {
            return Ok(Some(end));
        }
        self.check_confirmation().await;
        if self.schedule.is_renewal_due(Instant::now()) {
            self.renew().await?;
        }
        if self.is_fetch_due().await {
            self.fetch().await;
        }
        self.fetch_missing().await;
        if self.is_apply_due().await && self.apply().await == upgrade::AfterUpgrade::Restart {
            return Ok(Some(AgentEnd::Restart));
        }
        if self.schedule.is_look_due(Instant::now()) {
            self.look().await;
            self.fetch_missing().await;
        }
        self.send_reports().await;
        if self.stop.is_requested() {
            return Ok(Some(AgentEnd::Stopped));
        }
        Ok(self.end_of_once().await)
    }

    /// Runs a step of the engine on a thread that may wait.
    async fn on_engine<T: Send + 'static>(&self, step: impl FnOnce(&mut Engine) -> T + Send + 'static) -> T {
        let engine = Arc::clone(&self.engine);
        on_disk(move || step(&mut engine.lock().unwrap_or_else(PoisonError::into_inner))).await
    }

    /// The generation that the server named last, if it greeted the agent on the open connection and the worker knows it.
    fn announced(&self) -> Option<u64> {
        let link = self.link.borrow();
        (link.hello.is_some() && link.connections == self.seen.hello).then_some(link.generation)
    }

    /// The open connection.
    fn requests(&self) -> Option<Requests> {
        self.link.borrow().requests.clone()
    }

    /// Waits for the server, unless the agent is stopped.
    async fn online<T>(
        &self,
        request: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        tokio::select! {
            result = request => result,
            () = self.stop.requested() => Err(RequestError::Stopping),
        }
    }

    /// Asks for a new connection.
    fn reconnect(&self) {
        self.wishes.send_modify(|wish| wish.reconnects += 1);
    }
}
