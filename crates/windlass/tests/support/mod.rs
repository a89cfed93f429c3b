//! Running the real program and comparing with golden files.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Nothing that `windlass validate` is asked to do may take longer, on the slowest machine that runs tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// How a run of the program ended.
pub(crate) struct Run {
    /// The exit code; none if it was killed by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// Runs `windlass` in a directory, and kills it when it takes unreasonably long.
pub(crate) fn windlass(directory: &Path, arguments: &[&str]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(arguments)
        .current_dir(directory)
        .env("COLUMNS", "100")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program under test starts");
    let stdout = read_all(child.stdout.take().expect("standard output is piped"));
    let stderr = read_all(child.stderr.take().expect("standard error is piped"));
    let both = stdout.recv_timeout(PATIENCE).and_then(|out| Ok((out, stderr.recv_timeout(PATIENCE)?)));
    let Ok((stdout, stderr)) = both else {
        child.kill().expect("the program under test can be killed");
        panic!("windlass {arguments:?} takes longer than {PATIENCE:?}");
    };
    let status = child.wait().expect("the program under test ends");
    Run { code: status.code(), stdout, stderr }
}

fn read_all(mut stream: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("the program's output can be read");
        // Nobody listens any more when the program took too long.
        let _ = sender.send(bytes);
    });
    receiver
}

/// A directory or file below `tests/`.
pub(crate) fn tests_path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(relative)
}

/// Whether golden files are being rewritten.
pub(crate) fn updates_golden() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

/// Compares with a golden file below `tests/`, or rewrites it when `UPDATE_GOLDEN` is set.
pub(crate) fn assert_golden(relative: &str, actual: &str) {
    let path = tests_path(relative);
    if updates_golden() {
        let directory = path.parent().expect("a golden file is in a directory");
        fs::create_dir_all(directory).expect("the golden directory can be made");
        return fs::write(&path, actual).expect("the golden file can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    let difference = first_difference(&expected, actual);
    assert!(
        difference.is_none(),
        "{relative} differs (UPDATE_GOLDEN=1 rewrites it)\n{}",
        difference.unwrap_or_default()
    );
}

fn first_difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (mut old, mut new) = (expected.lines(), actual.lines());
    let mut number = 0;
    loop {
        number += 1;
        match (old.next(), new.next()) {
            (None, None) => return Some("only the line ends differ".to_owned()),
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
}
