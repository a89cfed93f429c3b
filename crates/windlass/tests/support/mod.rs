//! Runs the real program and compares with golden files.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The time limit of `windlass validate`, on the slowest machine that runs tests.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The root of the project, where documented commands are run.
pub(crate) fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A directory or file below `tests/`.
pub(crate) fn tests_path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(relative)
}

/// The program with these arguments, at the root of the project, in a clean environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).current_dir(project_root()).env("COLUMNS", "100").env("RUST_BACKTRACE", "0");
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "POWERNODE_GITOPS_MAX_PROPOSALS_PER_TICK"] {
        command.env_remove(variable);
    }
    command
}

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// The standard output of the program.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The standard error of the program.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The result of a run of the program.
pub(crate) struct Run {
    /// The exit code; `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Runs the program in a directory, and kills it if it takes too long.
pub(crate) fn windlass(directory: &Path, arguments: &[&str]) -> Run {
    let mut child = command(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program under test starts");
    let stdout = read_all(child.stdout.take().expect("standard output is piped"));
    let stderr = read_all(child.stderr.take().expect("standard error is piped"));
    let both = stdout.recv_timeout(TIMEOUT).and_then(|out| Ok((out, stderr.recv_timeout(TIMEOUT)?)));
    let Ok((stdout, stderr)) = both else {
        child.kill().expect("the program under test can be killed");
        panic!("windlass {arguments:?} takes longer than {TIMEOUT:?}");
    };
    let status = child.wait().expect("the program under test ends");
    Run { code: status.code(), stdout, stderr }
}

fn read_all(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the program's output can be read");
        // The receiver is gone if the program took too long.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Whether golden files are being rewritten.
pub(crate) fn updates_golden() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// Compares with a file below `tests/golden`, or rewrites it when `UPDATE_GOLDEN` is set.
pub(crate) fn check_golden(name: &str, actual: &str) {
    check_file(&tests_path("golden").join(name), actual);
}

/// Compares with a file anywhere, or rewrites it when `UPDATE_GOLDEN` is set.
pub(crate) fn check_file(path: &Path, actual: &str) {
    if updates_golden() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, actual).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    if let Some(difference) = first_difference(&expected, actual) {
        panic!("{} differs; UPDATE_GOLDEN=1 rewrites it if that is right\n{difference}", path.display());
    }
}

fn first_difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (mut old, mut new) = (expected.lines(), actual.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (before, after) if before == after => {}
            (before, after) => {
                let show = |line: Option<&str>| line.unwrap_or("(nothing)").to_owned();
                return Some(format!(
                    "line {number}\n  expected: {}\n  actual:   {}",
                    show(before),
                    show(after)
                ));
            }
        }
    }
    Some("only the line ends differ".to_owned())
}
