//! How long a conversation with a remote may take and how much it may bring, enforced while it goes on.
//!
//! A watchdog looks at the clock, at the caller's wish to stop and at what was unpacked; readers count bytes; gix's
//! progress counts objects. What is unpacked has to be counted because deltas multiply: while a pack is taken apart, every
//! object on the way to the one at hand stays in memory, and a pack of some kilobytes can make each of them large. Whoever
//! notices first writes down why, raises the flag that gix looks at, and ends the program that is being listened to.
//!
//! Each conversation is charged for its own work. The memory of the whole process is looked at as a last resort: where it
//! grows too far and this conversation did not do it, the conversation ends too, but nothing is wrong with its remote.

use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::error::RemoteProblem;

/// How often the watchdog looks. Well below what anybody waits for, well above what costs anything.
const WATCHDOG_INTERVAL: Duration = Duration::from_millis(50);

/// What a list of references may have: some hundred thousand of them. It is kept in memory, unlike a pack.
const MAX_LIST_BYTES: u64 = 32 << 20;

/// What one conversation with a remote may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// How long it may take, altogether.
    pub time: Duration,
    /// How many bytes the remote may send.
    pub bytes: u64,
    /// How many objects the remote may send.
    pub objects: u64,
    /// How many bytes the objects may unpack to, all together.
    pub unpacked: u64,
    /// By how many bytes the memory of the process may grow meanwhile, whatever else it does.
    pub memory: u64,
}

impl Default for FetchLimits {
    /// Far more than a fleet needs, and little enough that nobody notices one that is refused.
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

/// The limits of a conversation that is going on.
pub(super) struct FetchGuard {
    limits: FetchLimits,
    deadline: Instant,
    stop: AtomicBool,
    received: AtomicU64,
    /// Bytes that were inflated while the pack came.
    inflated: AtomicU64,
    /// Bytes of objects that were made of others; counted by gix.
    resolved: Arc<AtomicUsize>,
    /// How many bytes may come until the pack does.
    before_pack: AtomicU64,
    /// The memory of the process when the conversation began, where that can be told.
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

    /// Ends the conversation. The first reason is the one that is told.
    pub(super) fn fail(&self, problem: RemoteProblem) {
        lock(&self.stop_reason).get_or_insert(problem);
        self.stop.store(true, Ordering::SeqCst);
        if let Some(child) = lock(&self.child).as_mut() {
            // It may have ended by itself already.
            let _ = child.kill();
        }
    }

    /// Why the conversation was ended, if it was.
    pub(super) fn stop_reason(&self) -> Option<RemoteProblem> {
        lock(&self.stop_reason).clone()
    }

    /// The flag that gix looks at.
    pub(super) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// From here on the pack comes, which is not kept in memory.
    pub(super) fn expect_pack(&self) {
        self.before_pack.store(u64::MAX, Ordering::SeqCst);
    }

    /// What is left of the time, for programs that want a number.
    pub(super) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Takes note of bytes that came.
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

    /// Takes note of how many objects are announced.
    pub(super) fn expect_objects(&self, objects: u64) {
        if objects > self.limits.objects {
            let reason = format!("it sends {objects} objects, more than {}", self.limits.objects);
            self.fail(RemoteProblem::TooLarge { reason });
        }
    }

    /// Takes note of bytes that were inflated.
    pub(super) fn count_inflated(&self, bytes: usize) {
        self.inflated.fetch_add(bytes as u64, Ordering::SeqCst);
        self.check_unpacked();
    }

    /// Where gix counts the bytes of objects that it makes of others.
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

    /// Ends the conversation where the process needs too much memory. Whose fault that is decides what is told.
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

    /// Hands over a program to be ended when the conversation is.
    pub(super) fn adopt(&self, mut child: Child) {
        let mut held = lock(&self.child);
        // Asked while the lock is held: who ends the conversation from here on finds the program.
        if self.is_stopped() {
            let _ = child.kill();
        }
        *held = Some(child);
    }

    /// The number of the program that is held.
    pub(super) fn program(&self) -> Option<u32> {
        lock(&self.child).as_ref().map(Child::id)
    }

    /// Takes the program back.
    pub(super) fn release(&self) -> Option<Child> {
        lock(&self.child).take()
    }

    fn look(&self, interrupt: &AtomicBool) {
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

/// What the process holds in memory, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Does something while a watchdog looks after its bounds.
pub(super) fn run_with_watchdog<T>(
    bounds: &FetchGuard,
    interrupt: &AtomicBool,
    work: impl FnOnce() -> T,
) -> T {
    bounds.look(interrupt);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(WATCHDOG_INTERVAL) == Err(mpsc::RecvTimeoutError::Timeout) {
                bounds.look(interrupt);
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// A panic while holding one of these locks leaves nothing half done.
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
        let bounds = FetchGuard::start(limits());
        bounds.count_bytes(10);
        bounds.expect_objects(10);
        assert_eq!((bounds.stop_reason(), bounds.is_stopped()), (None, false));
        bounds.count_bytes(1);
        bounds.fail(RemoteProblem::Interrupted);
        assert_eq!(bounds.stop_reason().map(|problem| problem.code()), Some("too-large"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_watchdog_sees_memory_that_grows() {
        let bounds = FetchGuard::start(FetchLimits { memory: 8 << 20, ..FetchLimits::default() });
        run_with_watchdog(&bounds, &AtomicBool::new(false), || {
            let grown = vec![1_u8; 64 << 20];
            while !bounds.is_stopped() {
                thread::yield_now();
            }
            assert_eq!(grown.last(), Some(&1));
        });
        assert_eq!(bounds.stop_reason(), Some(RemoteProblem::ServerMemory), "nothing was unpacked for it");
    }

    #[test]
    fn a_conversation_is_charged_for_what_it_unpacks_and_not_for_what_others_do() {
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
        let bounds = FetchGuard::start(FetchLimits::default());
        bounds.count_bytes(usize::try_from(MAX_LIST_BYTES).unwrap_or_default());
        assert_eq!(bounds.stop_reason(), None);
        bounds.expect_pack();
        bounds.count_bytes(1);
        assert_eq!(bounds.stop_reason(), None);
        let bounds = FetchGuard::start(FetchLimits::default());
        bounds.count_bytes(usize::try_from(MAX_LIST_BYTES + 1).unwrap_or_default());
        assert_eq!(bounds.stop_reason().map(|problem| problem.code()), Some("too-large"));
    }

    #[test]
    fn the_watchdog_sees_the_callers_wish_and_the_clock() {
        for (time, wish, code) in [(60, true, "interrupted"), (0, false, "timeout")] {
            let bounds = FetchGuard::start(FetchLimits { time: Duration::from_secs(time), ..limits() });
            run_with_watchdog(&bounds, &AtomicBool::new(wish), || {});
            assert_eq!(bounds.stop_reason().map(|problem| problem.code()), Some(code));
        }
    }
}
