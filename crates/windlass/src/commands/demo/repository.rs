//! The git repository of the demo, with the tutorial's fleet in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::{Cause, CommandError};

/// The tutorial's fleet.
const FLEET: &str = include_str!("../demo.yaml");

/// The repository below the demo's directory. It is made beside its place and then moved there, so that an interrupted
/// demo leaves no half of one.
pub(super) fn make_repository(root: &Path) -> Result<PathBuf, CommandError> {
    let directory = root.join("fleet-config");
    if directory.join("fleet.yaml").exists() {
        return Ok(directory);
    }
    let unfinished = tempfile::Builder::new()
        .prefix(".fleet-config-")
        .tempdir_in(root)
        .map_err(|error| needs_git("cannot create a repository", error))?;
    let place = unfinished.path().join("fleet-config");
    std::fs::create_dir(&place).map_err(|error| needs_git("cannot create a repository", error))?;
    std::fs::write(place.join("fleet.yaml"), FLEET)
        .map_err(|error| needs_git("cannot write fleet.yaml", error))?;
    git(&place, &["init", "--quiet", "--initial-branch=main"])?;
    git(&place, &["add", "fleet.yaml"])?;
    git(&place, &["commit", "--quiet", "--message=The edge fleet"])?;
    std::fs::rename(&place, &directory).map_err(|error| needs_git("cannot create a repository", error))?;
    Ok(directory)
}

fn git(directory: &Path, arguments: &[&str]) -> Result<(), CommandError> {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@acme.test", "-c", "commit.gpgsign=false"])
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|error| needs_git("cannot run git", error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(needs_git("git failed", String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

fn needs_git(what: &str, why: impl Into<Cause>) -> CommandError {
    CommandError::failed(what, "the demo needs git").because(why)
}
