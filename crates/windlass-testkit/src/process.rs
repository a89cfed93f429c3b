//! The end of programs that tests start.

use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Whether a program has ended, for whoever waits for that. The program is left to be waited for: until then its number is
/// its own, and a signal to it reaches no other.
#[derive(Clone, Debug)]
pub struct End(Arc<(Mutex<bool>, Condvar)>);

impl End {
    /// Begins to watch.
    pub fn of(child: &Child) -> End {
        let number = i32::try_from(child.id()).expect("the system counts processes in 32 bits");
        let end = End(Arc::default());
        let seen = end.clone();
        thread::spawn(move || {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(Pid::from_raw(number)), flags) == Err(Errno::EINTR) {}
            let (has_ended, tell) = &*seen.0;
            *has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
            tell.notify_all();
        });
        end
    }

    /// Waits for the end, but not longer than this. Says whether it came.
    pub fn comes_within(&self, patience: Duration) -> bool {
        let (has_ended, tell) = &*self.0;
        let held = has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = tell.wait_timeout_while(held, patience, |has_ended| !*has_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_end_is_seen_by_everyone_and_the_program_is_left_to_be_waited_for() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let end = End::of(&child);
        assert!(!end.comes_within(Duration::ZERO), "it waits for its input");
        drop(child.stdin.take());
        for _ in 0..2 {
            assert!(end.comes_within(Duration::from_secs(60)));
        }
        assert!(child.wait().unwrap().success());
    }
}
