//! Whether a binary runs: it says its version, and it can read the state directory.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(30);

/// Runs `--version` and `self-check`.
pub(super) fn runs(executable: &Path, state_dir: &Path) -> Result<(), String> {
    finishes(Command::new(executable).arg("--version"))?;
    finishes(Command::new(executable).arg("self-check").arg("--state").arg(state_dir))
}

fn finishes(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {shown}: {error}"))?;
    let end = Instant::now() + CHECK_WITHIN;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{shown} ended with {status}")),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{shown} did not end within {} s", CHECK_WITHIN.as_secs()));
            }
            Err(error) => return Err(format!("cannot wait for {shown}: {error}")),
        }
    }
}
