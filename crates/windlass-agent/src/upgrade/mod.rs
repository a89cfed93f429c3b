//! Upgrades of the agent itself: a module file at the path of the agent's own binary.
//!
//! The host target puts the new binary in place like any other file of an approved assignment. Before that, the agent keeps
//! the old one as `<path>.previous`; afterwards it checks that the new one runs, and starts it. A new binary that does not
//! reach the server within three starts is replaced by the one before, which then takes the assignment back.

mod check;

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::state::{StateError, StateFiles, Stored};

/// The file in the state directory.
const UPGRADE: &str = "upgrade.json";
/// How many starts a new binary has to reach its server.
const MAX_STARTS: u32 = 3;

/// An upgrade that the server has yet to confirm by being reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Upgrade {
    /// The generation that brought the new binary.
    generation: u64,
    /// How many times the new binary started.
    starts: u32,
    step: UpgradeStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum UpgradeStep {
    /// The new binary is in place, or about to be.
    Trying,
    /// The old binary is in place again. It takes the assignment back.
    FellBack,
}

/// What a start has to do about an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartDecision {
    /// Nothing.
    Continue,
    /// The binary before is in place again: start it.
    Restart,
    /// This is the binary before: take this generation back.
    TakeBack(u64),
}

/// What to do after a run, for the agent's own binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterUpgrade {
    /// The run did not replace it.
    NotReplaced,
    /// Start the new binary.
    Restart,
    /// The new binary does not run; the old one is in place again and the assignment is taken back.
    TakenBack,
}

/// Keeps the binary before a run replaces it.
pub(crate) fn prepare(files: &StateFiles, executable: &Path, generation: u64) -> Result<(), StateError> {
    copy(executable, &previous_path(executable))?;
    write(files, &Upgrade { generation, starts: 0, step: UpgradeStep::Trying })
}

/// Counts a start, and falls back to the binary before if there were too many.
pub(crate) fn on_start(files: &StateFiles, executable: Option<&Path>) -> Result<StartDecision, StateError> {
    let Some(mut upgrade) = read(files)? else { return Ok(StartDecision::Continue) };
    if upgrade.step == UpgradeStep::FellBack {
        return Ok(StartDecision::TakeBack(upgrade.generation));
    }
    if upgrade.starts < MAX_STARTS {
        upgrade.starts += 1;
        write(files, &upgrade)?;
        return Ok(StartDecision::Continue);
    }
    let Some(executable) = executable else { return Ok(StartDecision::Continue) };
    tracing::error!(
        generation = upgrade.generation,
        "the new agent did not reach its server; the one before starts"
    );
    upgrade.step = UpgradeStep::FellBack;
    // First the note: after a crash in between, the new binary takes its own assignment back.
    write(files, &upgrade)?;
    copy(&previous_path(executable), executable)?;
    Ok(StartDecision::Restart)
}

/// The server was reached, or the assignment was taken back: the upgrade is over.
pub(crate) fn finish(files: &StateFiles) -> Result<(), StateError> {
    match read(files)? {
        Some(_) => files.delete(UPGRADE),
        None => Ok(()),
    }
}

/// Checks that the new binary runs. If not, puts the old one back and returns the reason.
pub(crate) fn check_replacement(
    files: &StateFiles,
    executable: &Path,
    state_dir: &Path,
) -> Result<(), String> {
    let Err(problem) = check::runs(executable, state_dir) else { return Ok(()) };
    tracing::error!(problem, "the new agent does not run; the one before stays");
    let restored = copy(&previous_path(executable), executable).and_then(|()| finish(files));
    let restored = restored.err().map_or(String::new(), |error| format!("; {}", error.with_cause()));
    Err(format!("the new agent does not run: {problem}{restored}"))
}

/// `<path>.previous`
fn previous_path(executable: &Path) -> PathBuf {
    let mut name = executable.as_os_str().to_owned();
    name.push(".previous");
    PathBuf::from(name)
}

fn read(files: &StateFiles) -> Result<Option<Upgrade>, StateError> {
    Ok(match files.read(UPGRADE)? {
        Stored::Newest(upgrade) | Stored::VersionBefore(upgrade) => Some(upgrade),
        // Without the note the upgrade counts as done; the change still has to be confirmed like any other.
        Stored::Nothing | Stored::Damaged(_) => None,
    })
}

fn write(files: &StateFiles, upgrade: &Upgrade) -> Result<(), StateError> {
    files.write(UPGRADE, upgrade)
}

/// Replaces a file by a copy of another in one step. A running binary is never written to.
fn copy(from: &Path, to: &Path) -> Result<(), StateError> {
    let mut new = to.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let copied = || -> io::Result<()> {
        let mut source = fs::File::open(from)?;
        let mode = source.metadata()?.permissions().mode();
        let mut target = OpenOptions::new().write(true).create(true).truncate(true).mode(0o700).open(&new)?;
        io::copy(&mut source, &mut target)?;
        target.set_permissions(Permissions::from_mode(mode))?;
        target.sync_all()?;
        fs::rename(&new, to)
    };
    copied().map_err(|error| StateError::io("copy the agent's binary to", to, error))
}

#[cfg(test)]
mod tests;
