//! Child processes that speak the git protocol: `ssh`, or `git upload-pack` for local directories.
//!
//! They start with an empty environment and are killed when the fetch is stopped.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::limits::FetchGuard;

/// Enough for the error messages of a program.
const MAX_STDERR_BYTES: u64 = 8 * 1024;
/// A program that has closed its output should exit soon; after this time it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// A command with an environment of `PATH` and English messages only.
pub(super) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("LC_ALL", "C").env("LANG", "C");
    for kept in ["PATH", "SYSTEMROOT"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    command
}

/// A `git` command that reads only the configuration of the repository it works on.
pub(super) fn git() -> Command {
    let mut command = program("git");
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ASKPASS", "true")
        .env("HOME", "/nonexistent");
    command
}

/// A running program whose standard error is collected.
pub(super) struct GitProcess {
    fetch_guard: Arc<FetchGuard>,
    stderr: Receiver<String>,
}

/// The result of a program.
pub(super) struct ProcessResult {
    /// Its standard error, shortened.
    pub(super) stderr: String,
    /// Whether it succeeded.
    pub(super) outcome: ProcessOutcome,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessOutcome {
    /// With exit status 0.
    Success,
    /// Any other end.
    Failed,
}

impl GitProcess {
    /// Starts a program with pipes to its input and output.
    pub(super) fn start(
        mut command: Command,
        fetch_guard: &Arc<FetchGuard>,
    ) -> io::Result<(GitProcess, ChildStdin, CountingReader<ChildStdout>)> {
        command.stdin(Stdio::piped());
        let (process, mut child, output) = GitProcess::spawn(command, fetch_guard)?;
        let input =
            child.stdin.take().ok_or_else(|| io::Error::other("the program has no standard input"))?;
        fetch_guard.register_child(child);
        Ok((process, input, output))
    }

    /// Runs a program to its end and returns its output.
    pub(super) fn run(
        mut command: Command,
        fetch_guard: &Arc<FetchGuard>,
    ) -> io::Result<(String, ProcessResult)> {
        command.stdin(Stdio::null());
        let (process, child, mut output) = GitProcess::spawn(command, fetch_guard)?;
        fetch_guard.register_child(child);
        let mut printed = Vec::new();
        let _ = output.read_to_end(&mut printed);
        let ended = process.end();
        Ok((String::from_utf8_lossy(&printed).into_owned(), ended))
    }

    fn spawn(
        mut command: Command,
        fetch_guard: &Arc<FetchGuard>,
    ) -> io::Result<(GitProcess, Child, CountingReader<ChildStdout>)> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let missing = || io::Error::other("the program has no standard output");
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let (tell, stderr) = mpsc::channel();
        thread::spawn(move || {
            let mut text = Vec::new();
            let mut errors = errors;
            let _ = errors.by_ref().take(MAX_STDERR_BYTES).read_to_end(&mut text);
            let _ = tell.send(String::from_utf8_lossy(&text).into_owned());
            // The rest is read and discarded, so that the program does not block.
            let _ = io::copy(&mut errors, &mut io::sink());
        });
        let output = CountingReader { inner: output, fetch_guard: Arc::clone(fetch_guard) };
        Ok((GitProcess { fetch_guard: Arc::clone(fetch_guard), stderr }, child, output))
    }

    /// Waits for the program to exit, and kills it if it does not.
    pub(super) fn end(self) -> ProcessResult {
        let outcome = wait_for_exit(&self.fetch_guard, EXIT_TIMEOUT);
        let stderr = self.stderr.recv_timeout(EXIT_TIMEOUT).unwrap_or_default();
        ProcessResult { stderr, outcome }
    }
}

/// Waits for the registered program to exit. It stays registered with the guard, so that stopping the fetch kills it at
/// once.
fn wait_for_exit(fetch_guard: &FetchGuard, timeout: Duration) -> ProcessOutcome {
    let Some(number) = fetch_guard.child_id() else { return ProcessOutcome::Failed };
    let (tell, has_ended) = mpsc::channel();
    thread::spawn(move || {
        wait_without_reaping(number);
        let _ = tell.send(());
    });
    let is_gone = has_ended.recv_timeout(timeout).is_ok();
    let Some(mut child) = fetch_guard.unregister_child() else { return ProcessOutcome::Failed };
    if !is_gone {
        // The program may have exited at this very moment.
        let _ = child.kill();
    }
    match child.wait() {
        Ok(status) if status.success() => ProcessOutcome::Success,
        Ok(_) | Err(_) => ProcessOutcome::Failed,
    }
}

/// Returns when a child process has exited, without reaping it: until it is reaped its process id is not reused, so
/// that a kill cannot hit another process.
fn wait_without_reaping(number: u32) {
    let Ok(number) = i32::try_from(number) else { return };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(Pid::from_raw(number)), flags) == Err(Errno::EINTR) {}
}

/// A reader that counts bytes against the limits.
pub(super) struct CountingReader<R> {
    inner: R,
    fetch_guard: Arc<FetchGuard>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.fetch_guard.count_bytes(read);
        if self.fetch_guard.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::error::RemoteProblem;
    use super::super::limits::FetchLimits;
    use super::*;

    /// A shell with this script; its output is discarded.
    fn shell(script: &str) -> Command {
        let mut command = program("sh");
        command.args(["-c", script]);
        command
    }

    /// A script that closes its output and does not exit.
    const SILENT: &str = "exec >&- 2>&-; exec sleep 600";

    #[test]
    fn a_program_is_waited_for_and_tells_how_it_ended() {
        for (script, printed, outcome) in [
            ("echo said; echo why >&2", "said\n", ProcessOutcome::Success),
            ("echo said; echo why >&2; exit 3", "said\n", ProcessOutcome::Failed),
        ] {
            let (output, ended) =
                GitProcess::run(shell(script), &FetchGuard::start(FetchLimits::default())).unwrap();
            assert_eq!((output.as_str(), ended.stderr.as_str(), ended.outcome), (printed, "why\n", outcome));
        }
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_at_once_when_the_conversation_is() {
        let fetch_guard = FetchGuard::start(FetchLimits::default());
        let begun = Instant::now();
        let (process, _input, _output) = GitProcess::start(shell(SILENT), &fetch_guard).unwrap();
        let failing = Arc::clone(&fetch_guard);
        let ended = thread::scope(|scope| {
            scope.spawn(move || failing.fail(RemoteProblem::Interrupted));
            process.end()
        });
        assert_eq!(ended.outcome, ProcessOutcome::Failed);
        assert!(begun.elapsed() < EXIT_TIMEOUT, "it took {:?}", begun.elapsed());
    }

    #[test]
    fn a_program_that_does_not_end_is_not_waited_for_longer_than_that() {
        let fetch_guard = FetchGuard::start(FetchLimits::default());
        let (_talk, _input, _output) = GitProcess::start(shell(SILENT), &fetch_guard).unwrap();
        assert_eq!(wait_for_exit(&fetch_guard, Duration::ZERO), ProcessOutcome::Failed);
        assert_eq!(
            wait_for_exit(&fetch_guard, Duration::ZERO),
            ProcessOutcome::Failed,
            "it is gone, and nobody waits for it twice"
        );
    }
}
