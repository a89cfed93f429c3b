//! Waits for the exit of programs that tests start.

use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// Whether a program has exited, for any number of waiters. The program is not reaped: until its owner does that, its
/// process id is not reused, so that a signal cannot reach another process.
#[derive(Clone, Debug)]
pub struct ProcessExit(Arc<(Mutex<bool>, Condvar)>);

impl ProcessExit {
    /// Starts to watch a program.
    pub fn watch(child: &Child) -> ProcessExit {
        let number = i32::try_from(child.id()).expect("the system counts processes in 32 bits");
        let end = ProcessExit(Arc::default());
        let seen = end.clone();
        thread::spawn(move || {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while waitid(Id::Pid(Pid::from_raw(number)), flags) == Err(Errno::EINTR) {}
            let (has_ended, condvar) = &*seen.0;
            *has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
            condvar.notify_all();
        });
        end
    }

    /// Waits for the exit, at most this long. Returns whether the program has exited.
    pub fn wait_at_most(&self, timeout: Duration) -> bool {
        let (has_ended, condvar) = &*self.0;
        let held = has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = condvar.wait_timeout_while(held, timeout, |has_ended| !*has_ended);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn all_waiters_see_the_exit_and_the_program_is_not_reaped() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let end = ProcessExit::watch(&child);
        assert!(!end.wait_at_most(Duration::ZERO), "it waits for its input");
        drop(child.stdin.take());
        for _ in 0..2 {
            assert!(end.wait_at_most(Duration::from_secs(60)));
        }
        assert!(child.wait().unwrap().success());
    }
}
