//! A program on the other end of a pipe that speaks git: `ssh`, or `git upload-pack` for local directories.
//!
//! Programs start without our environment and are ended when the conversation is.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::limits::Bounds;

/// As much as programs say when they fail.
const MAX_SAID_BYTES: u64 = 8 * 1024;
/// A program that has closed its output is about to end; it is not waited for longer than this.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often an ending program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A program with nothing of our environment but where programs are found, and English messages.
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

/// A `git` program that reads no configuration but that of the repository it works on.
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
pub(super) struct Talk {
    bounds: Arc<Bounds>,
    said: Receiver<String>,
}

/// What a program left behind.
pub(super) struct Ended {
    /// Its standard error, cut short.
    pub(super) said: String,
    /// Whether it ended by itself and was content.
    pub(super) outcome: Outcome,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// With exit status 0.
    Content,
    /// In any other way.
    Failed,
}

impl Talk {
    /// Starts a program in both directions.
    pub(super) fn start(
        mut command: Command,
        bounds: &Arc<Bounds>,
    ) -> io::Result<(Talk, ChildStdin, Counted<ChildStdout>)> {
        command.stdin(Stdio::piped());
        let (talk, mut child, output) = Talk::spawn(command, bounds)?;
        let input =
            child.stdin.take().ok_or_else(|| io::Error::other("the program has no standard input"))?;
        bounds.adopt(child);
        Ok((talk, input, output))
    }

    /// Runs a program to its end and returns what it printed.
    pub(super) fn run(mut command: Command, bounds: &Arc<Bounds>) -> io::Result<(String, Ended)> {
        command.stdin(Stdio::null());
        let (talk, child, mut output) = Talk::spawn(command, bounds)?;
        bounds.adopt(child);
        let mut printed = Vec::new();
        let _ = output.read_to_end(&mut printed);
        let ended = talk.end();
        Ok((String::from_utf8_lossy(&printed).into_owned(), ended))
    }

    fn spawn(mut command: Command, bounds: &Arc<Bounds>) -> io::Result<(Talk, Child, Counted<ChildStdout>)> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let missing = || io::Error::other("the program has no standard output");
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().ok_or_else(missing)?;
        let (tell, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = Vec::new();
            let mut errors = errors;
            let _ = errors.by_ref().take(MAX_SAID_BYTES).read_to_end(&mut text);
            let _ = tell.send(String::from_utf8_lossy(&text).into_owned());
            // What comes after is read and forgotten, so that the program does not wait for a reader.
            let _ = io::copy(&mut errors, &mut io::sink());
        });
        let output = Counted { inner: output, bounds: Arc::clone(bounds) };
        Ok((Talk { bounds: Arc::clone(bounds), said }, child, output))
    }

    /// Waits until the program is gone, and ends it if it does not go.
    pub(super) fn end(self) -> Ended {
        let outcome = self.bounds.release().map_or(Outcome::Failed, wait);
        let said = self.said.recv_timeout(PATIENCE).unwrap_or_default();
        Ended { said, outcome }
    }
}

fn wait(mut child: Child) -> Outcome {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Outcome::Content,
            Ok(Some(_)) | Err(_) => return Outcome::Failed,
            Ok(None) => thread::sleep(LOOK_EVERY),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Outcome::Failed
}

/// A reader that counts against the bounds.
pub(super) struct Counted<R> {
    inner: R,
    bounds: Arc<Bounds>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bounds.count_bytes(read);
        if self.bounds.is_stopped() {
            return Err(io::Error::other("stopped"));
        }
        Ok(read)
    }
}
