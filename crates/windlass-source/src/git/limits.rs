//! Limits of time, size and memory for a fetch, enforced while it runs.
//!
//! A watchdog checks the clock, the caller's stop flag and the amount of unpacked data; readers count bytes; gix's
//! progress counts objects. Unpacked data must be counted because deltas multiply: while gix resolves a delta chain,
//! every object of the chain stays in memory, and a pack of a few kilobytes can make each of them large. The first
//! check that fails stores the reason, sets the flag that gix polls, and kills the child process.
//!
//! Each fetch is charged for its own data. The memory of the whole process is checked as a last resort: if it grows too
//! much through other work, the fetch stops as well, but the error does not blame the remote.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::error::RemoteProblem;

/// How often the watchdog checks: short compared with any time limit, long compared with the cost of a check.
const WATCHDOG_INTERVAL: Duration = Duration::from_millis(50);

/// The size limit for the list of references: several hundred thousand. Unlike a pack, the list is kept in memory.
const MAX_LIST_BYTES: u64 = 32 << 20;

/// The limits of one fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// The total time.
    pub time: Duration,
    /// How many bytes the remote may send.
    pub bytes: u64,
    /// How many objects the remote may send.
    pub objects: u64,
    /// How many bytes the objects may unpack to, all together.
    pub unpacked: u64,
    /// How much the memory of the process may grow during the fetch, whatever the cause.
    pub memory: u64,
}

impl Default for FetchLimits {
    /// Far more than a fleet needs, and small enough that a rejected fetch does not affect others.
    fn default() -> FetchLimits {
        FetchLimits {
            time: Duration::from_secs(60),
            bytes: 256 << 20,
            objects: 200_000,
            unpacked: 4 << 30,
            memory: 1 << 30,
        }
    }
}

/// The limits of a running fetch, and what it has used.
pub(super) struct FetchGuard {
    limits: FetchLimits,
    deadline: Instant,
    stop: AtomicBool,
    received: AtomicU64,
    /// Bytes inflated while the pack was received.
    inflated: AtomicU64,
    /// Bytes of resolved delta objects; counted by gix.
    resolved: Arc<AtomicUsize>,
    /// How many bytes may be received before the pack.
    before_pack: AtomicU64,
    /// The memory of the process at the start of the fetch, where the system reports it.
    resident: Option<u64>,
    stop_reason: Mutex<Option<RemoteProblem>>,
    child: Mutex<Option<Child>>,
}

impl FetchGuard {
    pub(super) fn start(limits: FetchLimits) -> Arc<FetchGuard> {
        Arc::new(FetchGuard {
            limits,
            deadline: Instant::now() + limits.time,
            stop: AtomicBool::new(false),
            received: AtomicU64::new(0),
            inflated: AtomicU64::new(0),
            resolved: Arc::default(),
            before_pack: AtomicU64::new(MAX_LIST_BYTES),
            resident: resident_bytes(),
            stop_reason: Mutex::new(None),
            child: Mutex::new(None),
        })
    }

    /// Stops the fetch. Only the first reason is kept.
    pub(super) fn fail(&self, problem: RemoteProblem) {
        lock(&self.stop_reason).get_or_insert(problem);
        self.stop.store(true, Ordering::SeqCst);
        if let Some(child) = lock(&self.child).as_mut() {
            // The process may have exited already.
            let _ = child.kill();
        }
    }

    /// Why the fetch was stopped, if it was.
    pub(super) fn stop_reason(&self) -> Option<RemoteProblem> {
        lock(&self.stop_reason).clone()
    }

    /// The flag that gix polls.
    pub(super) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Marks the start of the pack, which is not kept in memory.
    pub(super) fn expect_pack(&self) {
        self.before_pack.store(u64::MAX, Ordering::SeqCst);
    }

    /// The remaining time, for programs that need a number.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Counts received bytes.
    pub(super) fn count_bytes(&self, bytes: usize) {
        let bytes = bytes as u64;
        let total = self.received.fetch_add(bytes, Ordering::SeqCst) + bytes;
        if total > self.limits.bytes {
            let reason = format!("it sends more than {} MiB", self.limits.bytes >> 20);
            self.fail(RemoteProblem::TooLarge { reason });
        } else if total > self.before_pack.load(Ordering::SeqCst) {
            let reason = format!("its list of branches has more than {} MiB", MAX_LIST_BYTES >> 20);
            self.fail(RemoteProblem::TooLarge { reason });
        }
    }

    /// Records the number of objects that the pack announces.
    pub(super) fn expect_objects(&self, objects: u64) {
        if objects > self.limits.objects {
            let reason = format!("it sends {objects} objects, more than {}", self.limits.objects);
            self.fail(RemoteProblem::TooLarge { reason });
        }
    }

    /// Counts inflated bytes.
    pub(super) fn count_inflated(&self, bytes: usize) {
        self.inflated.fetch_add(bytes as u64, Ordering::SeqCst);
        self.check_unpacked();
    }

    /// The counter in which gix adds up the bytes of resolved delta objects.
    pub(super) fn resolved_counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.resolved)
    }

    fn unpacked(&self) -> u64 {
        self.inflated.load(Ordering::SeqCst) + self.resolved.load(Ordering::SeqCst) as u64
    }

    fn check_unpacked(&self) {
        if self.unpacked() > self.limits.unpacked {
            let reason = format!("it unpacks to more than {} MiB", self.limits.unpacked >> 20);
            self.fail(RemoteProblem::TooLarge { reason });
        }
    }

    /// Stops the fetch if the process uses too much memory. The error depends on whether this fetch is the cause.
    fn check_memory(&self, grown: u64) {
        if grown <= self.limits.memory {
            return;
        }
        self.fail(match self.unpacked() > self.limits.memory / 2 {
            true => {
                let limit = self.limits.memory >> 20;
                RemoteProblem::TooLarge {
                    reason: format!("unpacking it takes more than {limit} MiB of memory"),
                }
            }
            false => RemoteProblem::ServerMemory,
        });
    }

    /// Bytes received so far.
    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::SeqCst)
    }

    /// Registers a child process that is killed when the fetch is stopped.
    pub(super) fn register_child(&self, mut child: Child) {
        let mut registered = lock(&self.child);
        // Checked while the lock is held: whoever stops the fetch after this point finds the process.
        if self.is_stopped() {
            let _ = child.kill();
        }
        *registered = Some(child);
    }

    /// The process id of the registered child.
    pub(super) fn child_id(&self) -> Option<u32> {
        lock(&self.child).as_ref().map(Child::id)
    }

    /// Unregisters the child process.
    pub(super) fn unregister_child(&self) -> Option<Child> {
        lock(&self.child).take()
    }

    fn check_limits(&self, interrupt: &AtomicBool) {
        if interrupt.load(Ordering::SeqCst) {
            self.fail(RemoteProblem::Interrupted);
        } else if Instant::now() >= self.deadline {
            self.fail(RemoteProblem::Timeout { after: self.limits.time });
        } else {
            self.check_unpacked();
            if let (Some(before), Some(now)) = (self.resident, resident_bytes()) {
                self.check_memory(now.saturating_sub(before));
            }
        }
    }
}

/// The resident memory of the process, where the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Runs a function while a watchdog enforces the limits.
pub(super) fn run_with_watchdog<T>(
    fetch_guard: &FetchGuard,
    interrupt: &AtomicBool,
    work: impl FnOnce() -> T,
) -> T {
    fetch_guard.check_limits(interrupt);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(WATCHDOG_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                fetch_guard.check_limits(interrupt);
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// No operation under these locks leaves inconsistent state when it panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> FetchLimits {
        FetchLimits { bytes: 10, objects: 10, ..FetchLimits::default() }
    }

    #[test]
    fn the_first_limit_that_is_crossed_is_the_one_told() {
        let fetch_guard = FetchGuard::start(limits());
        fetch_guard.count_bytes(10);
        fetch_guard.expect_objects(10);
        assert_eq!((fetch_guard.stop_reason(), fetch_guard.is_stopped()), (None, false));
        fetch_guard.count_bytes(1);
        fetch_guard.fail(RemoteProblem::Interrupted);
        assert_eq!(fetch_guard.stop_reason().map(|problem| problem.code()), Some("too-large"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_watchdog_sees_memory_that_grows() {
        let fetch_guard = FetchGuard::start(FetchLimits { memory: 8 << 20, ..FetchLimits::default() });
        run_with_watchdog(&fetch_guard, &AtomicBool::new(false), || {
            let grown = vec![1_u8; 64 << 20];
            while !fetch_guard.is_stopped() {
                thread::yield_now();
            }
            assert_eq!(grown.last(), Some(&1));
        });
        assert_eq!(
            fetch_guard.stop_reason(),
            Some(RemoteProblem::ServerMemory),
            "nothing was unpacked for it"
        );
    }

    #[test]
    fn a_fetch_is_charged_only_for_what_it_unpacks_itself() {
        let limits = FetchLimits { memory: 1 << 20, unpacked: 4 << 20, ..FetchLimits::default() };
        let others = FetchGuard::start(limits);
        others.count_inflated(1000);
        others.check_memory(2 << 20);
        assert_eq!(others.stop_reason().map(|problem| problem.code()), Some("server-memory"));
        let own = FetchGuard::start(limits);
        own.resolved_counter().fetch_add(1 << 20, Ordering::SeqCst);
        own.check_memory(1 << 20);
        assert_eq!(own.stop_reason(), None, "within its bounds");
        own.check_memory(2 << 20);
        assert_eq!(own.stop_reason().map(|problem| problem.code()), Some("too-large"));
        let much = FetchGuard::start(limits);
        much.count_inflated(3 << 20);
        assert_eq!(much.stop_reason(), None);
        much.resolved_counter().fetch_add(2 << 20, Ordering::SeqCst);
        run_with_watchdog(&much, &AtomicBool::new(false), || {});
        assert_eq!(much.stop_reason().map(|problem| problem.code()), Some("too-large"));
    }

    #[test]
    fn a_list_of_branches_may_have_less_than_a_pack() {
        let fetch_guard = FetchGuard::start(FetchLimits::default());
        fetch_guard.count_bytes(usize::try_from(MAX_LIST_BYTES).unwrap_or_default());
        assert_eq!(fetch_guard.stop_reason(), None);
        fetch_guard.expect_pack();
        fetch_guard.count_bytes(1);
        assert_eq!(fetch_guard.stop_reason(), None);
        let fetch_guard = FetchGuard::start(FetchLimits::default());
        fetch_guard.count_bytes(usize::try_from(MAX_LIST_BYTES + 1).unwrap_or_default());
        assert_eq!(fetch_guard.stop_reason().map(|problem| problem.code()), Some("too-large"));
    }

    #[test]
    fn the_watchdog_sees_the_callers_wish_and_the_clock() {
        for (time, wish, code) in [(60, true, "interrupted"), (0, false, "timeout")] {
            let fetch_guard = FetchGuard::start(FetchLimits { time: Duration::from_secs(time), ..limits() });
            run_with_watchdog(&fetch_guard, &AtomicBool::new(wish), || {});
            assert_eq!(fetch_guard.stop_reason().map(|problem| problem.code()), Some(code));
        }
    }
}
