//! The hosts of the demo: directory trees that stand for machines.

use std::path::{Path, PathBuf};

/// The nodes of the tutorial's fleet that have an agent.
pub(super) const HOSTS: [&str; 3] = ["edge-tokyo-01", "edge-tokyo-02", "edge-london-01"];

/// The trees of the hosts, below the demo's directory, each with the name of its node.
pub(super) fn hosts_directory(root: &Path) -> PathBuf {
    root.join("hosts")
}
