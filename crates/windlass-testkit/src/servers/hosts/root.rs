//! The root that hosts start from: made once, and kept in the user's cache directory.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::fcntl::{Flock, FlockArg};

const ROOT_SCRIPT: &str = include_str!("root.sh");

/// Packages that hosts install in tests. Hosts have no way to the network.
const PACKAGES: &[&str] = &["chrony", "curl", "nginx", "openssh-server", "tzdata"];

/// The root, made now if it is not there.
pub(super) fn cached() -> Result<PathBuf, String> {
    let directory = cache_directory().ok_or("there is no home directory to keep the root of hosts in")?;
    // The root is made again when the way to make it changes.
    let key = fingerprint(&[ROOT_SCRIPT.as_bytes(), PACKAGES.join(" ").as_bytes()]);
    let root = directory.join(format!("root-{key:016x}"));
    if root.is_dir() {
        return Ok(root);
    }
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(directory.join("lock"));
    let lock = lock.map_err(|error| error.to_string())?;
    let _lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, error)| error.to_string())?;
    // Another process may have made it meanwhile.
    if root.is_dir() {
        return Ok(root);
    }
    make(&directory, &root)?;
    Ok(root)
}

/// Outside of the checkout, so that a new checkout needs no new root.
fn cache_directory() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("windlass-tests/hosts"))
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests wonders why they take so long")]
fn make(directory: &Path, root: &Path) -> Result<(), String> {
    eprintln!("making the root of test hosts; this takes minutes, once");
    // What an interrupted attempt or an older version left behind.
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())?.flatten() {
        if entry.file_name() != "lock" {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let (new, log) = (directory.join("new"), directory.join("new.log"));
    let output = File::create(&log).map_err(|error| error.to_string())?;
    let errors = output.try_clone().map_err(|error| error.to_string())?;
    let mut script = Command::new("sh");
    script.args(["-c", ROOT_SCRIPT, "sh"]).arg(&new).args(PACKAGES);
    script.env("DEBIAN_FRONTEND", "noninteractive").env("LC_ALL", "C");
    let status = script.stdin(Stdio::null()).stdout(output).stderr(errors).status();
    if !status.map_err(|error| error.to_string())?.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let last: Vec<&str> = said.lines().rev().take(20).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(format!("the root of hosts cannot be made: {}", last.join("\n")));
    }
    fs::rename(&new, root).map_err(|error| error.to_string())
}

/// FNV-1a: names a version of the root, nothing more.
fn fingerprint(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
