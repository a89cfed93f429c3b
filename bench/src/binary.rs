//! The program under test.

use std::path::PathBuf;
use std::process::Command;

use crate::{Outcome, say};

/// The program that `WINDLASS_BINARY` names, to compare builds; otherwise the release build of `windlass` beside this
/// executable, rebuilt first if cargo is available.
pub(crate) fn windlass() -> Outcome<PathBuf> {
    if let Some(named) = std::env::var_os("WINDLASS_BINARY") {
        return Ok(named.into());
    }
    let bench = std::env::current_exe()?;
    let directory = bench.parent().ok_or("the bench is not in a directory")?;
    let target = directory.parent().ok_or("the bench is not in a target directory")?;
    let binary = target.join("release").join(format!("windlass{}", std::env::consts::EXE_SUFFIX));
    say(if binary.exists() { "checking that windlass is up to date" } else { "building windlass first" });
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "windlass", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    match (built, binary.exists()) {
        (Ok(status), true) if status.success() => Ok(binary),
        (_, true) => {
            say("windlass could not be built; using the one that is there");
            Ok(binary)
        }
        (Ok(status), false) => Err(format!("building windlass failed: {status}").into()),
        (Err(error), false) => Err(format!("building windlass failed: {error}").into()),
    }
}
