//! About the agent and its host, for people to read.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use windlass_api::agent::HostFacts;
use windlass_core::observed::AgentMessage;
use windlass_core::time::Timestamp;

/// The most bytes that are read of a file of the system.
const MAX_BYTES: u64 = 64 * 1024;

/// What is known of the host whose root is this directory. What cannot be read is left out.
pub(crate) fn host_facts(root: &Path) -> HostFacts {
    HostFacts {
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: read_line(Path::new("/proc/sys/kernel/hostname")),
        os: operating_system(root),
        kernel: read_line(Path::new("/proc/sys/kernel/osrelease")),
        architecture: Some(std::env::consts::ARCH.to_owned()),
        booted_at: booted_at(),
    }
}

fn operating_system(root: &Path) -> Option<String> {
    let text = read(&root.join("etc/os-release")).or_else(|| read(&root.join("usr/lib/os-release")))?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(AgentMessage::new(value.trim_matches('"')).as_str().to_owned())
}

fn booted_at() -> Option<Timestamp> {
    let text = read(Path::new("/proc/stat"))?;
    let seconds: i64 = text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(Timestamp::from_millis(seconds.saturating_mul(1000)))
}

fn read_line(path: &Path) -> Option<String> {
    let text = read(path)?;
    Some(text.lines().next()?.trim().to_owned()).filter(|line| !line.is_empty())
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
