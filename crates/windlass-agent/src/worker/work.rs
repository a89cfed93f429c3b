//! The single kinds of work: following the connection, fetching, applying, looking.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::{AwaitedConfirmation, Worker};
use crate::connection::{RequestError, Requests};
use crate::cycle::{ApplyStart, Candidate, Offer, WantedBlob};
use crate::end::{AgentEnd, OnceResult};
use crate::error::AgentError;
use crate::fetch::{self, FetchError};
use crate::options::RunLength;
use crate::upgrade::{self, AfterUpgrade};
use crate::watch::watched_paths;

/// How long the agent waits for the server to take the report that a change begins. Then it begins anyway.
const ANNOUNCE_WITHIN: Duration = Duration::from_secs(10);
/// Packages, then the files that they name; once more if a blob turned out to be damaged.
const FETCH_ROUNDS: usize = 4;

impl Worker {
    /// Reacts to what the server said.
    pub(super) async fn follow_link(&mut self) -> Result<Option<AgentEnd>, AgentError> {
        let link = self.link.borrow_and_update().clone();
        if link.revoked {
            tracing::error!("the server revoked this agent; it stops, and the host stays as it is");
            return Ok(Some(AgentEnd::Revoked));
        }
        if let Some(hello) = link.hello
            && self.seen.hello != link.connections
        {
            self.seen.hello = link.connections;
            self.schedule.renew_at = Some(hello.renew_at);
            let now = Instant::now();
            (self.schedule.fetch_at, self.schedule.report_at) = (now, now);
            let problem = self
                .on_engine(move |engine| {
                    engine.note_announced(link.generation);
                    upgrade::finish(engine.files()).err()
                })
                .await;
            if let Some(error) = problem {
                tracing::warn!(problem = error.with_cause(), "cannot note that the upgrade is done");
            }
        }
        if link.refusal.is_some() && self.seen.refusal != link.connections {
            self.seen.refusal = link.connections;
            tracing::warn!("the server does not accept the certificate; the agent renews it");
            self.renew().await?;
        }
        if link.observe_requests != self.seen.observe_requests {
            self.seen.observe_requests = link.observe_requests;
            self.schedule.look_at = Instant::now();
            self.on_engine(|engine| engine.request_complete_report()).await;
        }
        Ok(None)
    }

    /// The server was reached in time, or the change is taken back.
    pub(super) async fn check_confirmation(&mut self) {
        let Some(awaited) = self.confirmation else { return };
        if self.announced().is_some() && self.seen.hello > awaited.after_connection {
            self.confirmation = None;
            self.on_engine(|engine| engine.confirm()).await;
        } else if Instant::now() >= awaited.deadline {
            self.confirmation = None;
            let seconds = self.options.confirm_within.as_secs();
            let reason = format!("the agent did not reach its server within {seconds} s after this change");
            self.on_engine(move |engine| engine.withdraw(&reason)).await;
            self.schedule.apply_now(Instant::now());
        }
    }

    /// From now on the server must be reached on a connection after this one, in time.
    pub(super) fn await_confirmation(&mut self, after_connection: u64) {
        let deadline = Instant::now() + self.options.confirm_within;
        self.confirmation.get_or_insert(AwaitedConfirmation { deadline, after_connection });
    }

    pub(super) async fn is_fetch_due(&self) -> bool {
        let Some(generation) = self.announced() else { return false };
        Instant::now() >= self.schedule.fetch_at
            && self.on_engine(move |engine| generation > engine.held().accepted_generation()).await
    }

    /// Fetches the assignment and everything that it needs. Nothing changes on the host before all of it is there.
    pub(super) async fn fetch(&mut self) {
        let Some(requests) = self.requests() else { return };
        let announced = self.link.borrow().generation;
        match self.fetch_with(&requests, announced).await {
            Ok(true) => {
                self.schedule.fetch_backoff.reset();
                self.schedule.apply_now(Instant::now());
            }
            // Refused, or nothing there: the server gets time to mend that.
            Ok(false) => self.schedule.fetch_at = Instant::now() + self.options.interval,
            Err(error) => {
                tracing::warn!(%error, "the assignment is not complete yet");
                self.fetch_later();
            }
        }
    }

    fn fetch_later(&mut self) {
        let delay = self.schedule.fetch_backoff.next_delay((self.surroundings.random)());
        self.schedule.fetch_at = Instant::now() + delay.max(Duration::from_millis(100));
    }

    async fn fetch_with(&self, requests: &Requests, announced: u64) -> Result<bool, RequestError> {
        let Some(response) = self.online(fetch::assignment(requests)).await? else { return Ok(false) };
        let offer = self.on_engine(move |engine| engine.offer(&response, announced)).await;
        let Offer::New(candidate) = offer else { return Ok(false) };
        for _ in 0..FETCH_ROUNDS {
            let asked: Candidate = (*candidate).clone();
            let Some(missing) = self.on_engine(move |engine| engine.missing_of(&asked)).await else {
                return Ok(false);
            };
            if missing.is_empty() {
                let accepted = candidate.clone();
                return Ok(self.on_engine(move |engine| engine.accept(&accepted)).await);
            }
            if !self.download(requests, missing, candidate.generation).await? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Fetches blobs. Returns whether all are there; what was tampered with is refused.
    async fn download(
        &self,
        requests: &Requests,
        blobs: Vec<WantedBlob>,
        generation: u64,
    ) -> Result<bool, RequestError> {
        for blob in blobs {
            let partial = self.on_engine(move |engine| engine.download(blob)).await;
            let fetched = tokio::select! {
                fetched = fetch::blob(requests, partial) => fetched,
                () = self.stop.requested() => Err(RequestError::Stopping.into()),
            };
            match fetched {
                Ok(()) => {}
                Err(FetchError::Request(error)) => return Err(error),
                Err(FetchError::State(error)) => {
                    self.on_engine(move |engine| engine.note_trouble(&error.with_cause())).await;
                    return Ok(false);
                }
                Err(FetchError::Tampered(digest)) => {
                    let message = format!("the content of {digest} is not what was approved");
                    self.on_engine(move |engine| engine.refuse("tampered_blob", generation, &message)).await;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Fetches blobs of the current document again that are missing or damaged.
    pub(super) async fn fetch_missing(&mut self) {
        let is_open = self.announced().is_some();
        let Some(requests) = self.requests().filter(|_| is_open && Instant::now() >= self.schedule.fetch_at)
        else {
            return;
        };
        let (missing, generation) =
            self.on_engine(|engine| (engine.take_missing(), engine.held().accepted_generation())).await;
        if missing.is_empty() {
            return;
        }
        match self.download(&requests, missing, generation).await {
            Ok(true) => {
                self.schedule.look_at = Instant::now();
                self.schedule.apply_now(Instant::now());
            }
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(%error, "blobs of the assignment are missing");
                self.fetch_later();
            }
        }
    }

    pub(super) async fn is_apply_due(&self) -> bool {
        Instant::now() >= self.schedule.apply_at && self.on_engine(|engine| engine.has_to_apply()).await
    }

    /// Applies what the agent holds.
    pub(super) async fn apply(&mut self) -> AfterUpgrade {
        let mut after = AfterUpgrade::NotReplaced;
        match self.on_engine(|engine| engine.start_apply()).await {
            ApplyStart::Ready => {
                let _ = timeout(ANNOUNCE_WITHIN, self.send_reports()).await;
                let state_dir: PathBuf = self.options.state_dir.clone();
                after = self
                    .on_engine(move |engine| match engine.finish_apply() {
                        true => engine.after_upgrade(&state_dir),
                        false => AfterUpgrade::NotReplaced,
                    })
                    .await;
            }
            ApplyStart::Prevented => {}
        }
        let now = Instant::now();
        let (is_done, is_awaited) =
            self.on_engine(|engine| (!engine.has_to_apply(), engine.awaits_confirmation())).await;
        self.schedule.applied(now, is_done);
        if after == AfterUpgrade::TakenBack {
            self.schedule.apply_now(now);
        }
        self.schedule.looked(now, self.options.interval, (self.surroundings.random)());
        if is_awaited && self.confirmation.is_none() {
            let connection = self.link.borrow().connections;
            self.await_confirmation(connection);
            self.reconnect();
        }
        self.watch_files().await;
        after
    }

    pub(super) async fn look(&mut self) {
        if self.on_engine(|engine| engine.look()).await {
            // A directory that was made again has lost its watch.
            self.watch_files().await;
        }
        self.schedule.looked(Instant::now(), self.options.interval, (self.surroundings.random)());
    }

    /// Watches the files of the current state.
    pub(super) async fn watch_files(&mut self) {
        let paths =
            self.on_engine(|engine| engine.state().map(|state| watched_paths(engine.root(), &state))).await;
        self.watcher.watch(paths.unwrap_or_default());
    }

    /// When something is due next.
    pub(super) async fn wake_at(&self) -> Instant {
        let (generation, is_open) = (self.announced().unwrap_or(0), self.announced().is_some());
        let (has_to_apply, accepted, has_news) = self
            .on_engine(|engine| {
                (engine.has_to_apply(), engine.held().accepted_generation(), engine.has_news())
            })
            .await;
        let schedule = &self.schedule;
        let times = [
            Some(schedule.look_at),
            has_to_apply.then_some(schedule.apply_at),
            (is_open && generation > accepted).then_some(schedule.fetch_at),
            (is_open && has_news).then_some(schedule.report_at),
            is_open.then_some((schedule.reported_at + self.options.report_every).max(schedule.report_at)),
            schedule.renew_at,
            self.confirmation.map(|awaited| awaited.deadline),
            match self.options.length {
                RunLength::Once { within } => Some(self.began + within),
                RunLength::UntilStopped => None,
            },
        ];
        times.into_iter().flatten().min().unwrap_or(schedule.look_at)
    }

    /// The end of an agent that runs once: everything is applied and reported, or the server stays away.
    pub(super) async fn end_of_once(&self) -> Option<AgentEnd> {
        let RunLength::Once { within } = self.options.length else { return None };
        let is_late = Instant::now() >= self.began + within;
        let Some(generation) = self.announced() else {
            return is_late.then_some(AgentEnd::Once(OnceResult::ServerAway));
        };
        let result = self
            .on_engine(move |engine| {
                let is_waiting = engine.awaits_confirmation() || engine.has_news();
                // An assignment that was refused is not going to be accepted later in this run.
                let is_current = generation <= engine.considered_generation();
                match (is_waiting || !is_current, engine.held().current.is_some()) {
                    (true, _) => None,
                    (false, false) => Some(OnceResult::NothingAssigned),
                    (false, true) if engine.is_in_sync() => Some(OnceResult::InSync),
                    (false, true) => Some(OnceResult::NotInSync),
                }
            })
            .await;
        let late = is_late.then_some(OnceResult::NotInSync);
        result.or(late).map(AgentEnd::Once)
    }
}
