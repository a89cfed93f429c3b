//! The thread that watches services: it starts those again that ended, each time a little later.
//!
//! It knows nothing but the records on the disk, and the times of its own attempts. One thread watches, however many agents
//! there are.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use super::definition::{ServiceSource, find};
use super::process::{ProcessId, RunningProcess};
use super::record::{Running, Wanted};
use super::services::Services;
use crate::target::host::error::HostError;

/// How often the thread looks without a reason: another agent may have started a service, and logs grow.
const INTERVAL: Duration = Duration::from_secs(5);

/// The pause before the first new start; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// A service that ran this long is well: its next new start is quick again.
const WELL_AFTER: Duration = Duration::from_secs(60);

/// The thread.
#[derive(Debug)]
pub(super) struct Watcher {
    signals: Arc<Signals>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Signals {
    /// Written to wake the thread.
    wake: OwnedFd,
    stop: AtomicBool,
}

impl Watcher {
    pub(super) fn start(services: Arc<Services>) -> Result<Watcher, HostError> {
        let failed =
            |error: std::io::Error| HostError::ServiceManager(format!("cannot watch services: {error}"));
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| failed(error.into()))?;
        let signals = Arc::new(Signals { wake, stop: AtomicBool::new(false) });
        let seen = signals.clone();
        let thread = thread::Builder::new().name("services".to_owned());
        let thread = thread.spawn(move || watch(&services, &seen)).map_err(failed)?;
        Ok(Watcher { signals, thread: Some(thread) })
    }

    /// Lets the thread look at once.
    pub(super) fn wake(&self) {
        let _ = rustix::io::write(&self.signals.wake, &1_u64.to_ne_bytes());
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.signals.stop.store(true, Ordering::SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(services: &Services, signals: &Signals) {
    let mut right = None;
    let mut attempts = BTreeMap::new();
    while !signals.stop.load(Ordering::SeqCst) {
        right = right.or_else(|| services.records.try_watch());
        let mut processes = Vec::new();
        let mut pause = INTERVAL;
        if right.is_some() {
            for name in services.records.names() {
                match look_at(services, &name, attempts.entry(name.clone()).or_default()) {
                    Ok(Seen::Running(process)) => processes.push(process),
                    Ok(Seen::Waiting(left)) => pause = pause.min(left),
                    Ok(Seen::Resting) => {}
                    Err(error) => {
                        tracing::warn!(
                            service = name,
                            error = error.with_causes(),
                            "cannot watch the service"
                        );
                    }
                }
            }
        }
        wait(signals, &processes, pause);
    }
}

/// Waits until a process ends, someone wakes the thread, or the time is over.
fn wait(signals: &Signals, processes: &[RunningProcess], pause: Duration) {
    let mut handles: Vec<PollFd<'_>> =
        processes.iter().map(|process| PollFd::new(process.handle(), PollFlags::IN)).collect();
    handles.push(PollFd::new(&signals.wake, PollFlags::IN));
    let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
    let _ = poll(&mut handles, Some(&pause));
    let _ = rustix::io::read(&signals.wake, &mut [0; 8]);
}

/// What the thread saw of a service.
enum Seen {
    Running(RunningProcess),
    /// It is started again after this time.
    Waiting(Duration),
    /// There is nothing to do.
    Resting,
}

/// The attempts to keep a service running.
#[derive(Debug, Default)]
struct Attempts {
    /// The process that was seen last, and since when.
    seen: Option<(ProcessId, Instant)>,
    pause: Duration,
    due: Option<Instant>,
}

impl Attempts {
    /// When the service is started again.
    fn due(&mut self, now: Instant) -> Instant {
        let was_well = self.seen.is_some_and(|(_, since)| now.duration_since(since) >= WELL_AFTER);
        *self.due.get_or_insert_with(|| {
            self.pause =
                if was_well || self.pause.is_zero() { FIRST_PAUSE } else { (self.pause * 2).min(MAX_PAUSE) };
            self.seen = None;
            now + self.pause
        })
    }
}

fn look_at(services: &Services, name: &str, attempts: &mut Attempts) -> Result<Seen, HostError> {
    let record = services.record(name)?;
    if record.wanted == Wanted::Stopped {
        *attempts = Attempts::default();
        return Ok(Seen::Resting);
    }
    services.records.limit_log(name);
    let is_first = services.records.read(name)?.boot != services.boot;
    match record.running {
        Running::Done | Running::Script => return Ok(Seen::Resting),
        Running::Process(id) => match id.running() {
            Some(process) => {
                if attempts.seen.is_none_or(|(seen, _)| seen != id) {
                    attempts.seen = Some((id, Instant::now()));
                }
                attempts.due = None;
                return Ok(Seen::Running(process));
            }
            None if attempts.due.is_none() => {
                // Not inside of the macro: without a subscriber it evaluates nothing.
                let end = id.reap();
                tracing::warn!(service = name, "the service ended: {end}");
            }
            None => {}
        },
        Running::Nothing => {}
    }
    let now = Instant::now();
    let due = if is_first { now } else { attempts.due(now) };
    if due > now {
        return Ok(Seen::Waiting(due - now));
    }
    attempts.due = None;
    start_again(services, name)?;
    // The next look finds the process, or waits again.
    Ok(Seen::Waiting(Duration::ZERO))
}

fn start_again(services: &Services, name: &str) -> Result<(), HostError> {
    let _lock = services.records.lock()?;
    // It may have been stopped or started meanwhile.
    let record = services.record(name)?;
    let runs = matches!(record.running, Running::Process(id) if id.running().is_some());
    if record.wanted == Wanted::Stopped || runs {
        return Ok(());
    }
    if matches!(find(&services.tree, name)?, ServiceSource::Missing | ServiceSource::Masked) {
        // Its unit file is gone: nothing can start it.
        return services.change(name, |record| record.wanted = Wanted::Stopped).map(drop);
    }
    tracing::info!(service = name, "starting the service again");
    services.start(name)
}
