//! The program under test.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, say};

/// The program that `WINDLASS_BINARY` names, to compare builds; otherwise the release build of `windlass`.
pub(crate) fn windlass() -> Outcome<PathBuf> {
    named("WINDLASS_BINARY", "windlass")
}

/// The program that `WINDLASS_AGENT_BINARY` names; otherwise the release build of `windlass-agent`.
pub(crate) fn windlass_agent() -> Outcome<PathBuf> {
    named("WINDLASS_AGENT_BINARY", "windlass-agent")
}

/// The program that a variable names, or the release build of a package beside this executable, rebuilt first if cargo is
/// available.
fn named(variable: &str, package: &str) -> Outcome<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Ok(named.into());
    }
    let bench = std::env::current_exe()?;
    let directory = bench.parent().ok_or("the bench is not in a directory")?;
    let target = directory.parent().ok_or("the bench is not in a target directory")?;
    let binary = target.join("release").join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
    let is_there = binary.exists();
    say(&format!("{} {package}", if is_there { "checking for changes of" } else { "building" }));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", package, "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    match (built, binary.exists()) {
        (Ok(status), true) if status.success() => Ok(binary),
        (_, true) => {
            say(&format!("{package} could not be built; using the one that is there"));
            Ok(binary)
        }
        (Ok(status), false) => Err(format!("building {package} failed: {status}").into()),
        (Err(error), false) => Err(format!("building {package} failed: {error}").into()),
    }
}
