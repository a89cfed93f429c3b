//! The commands that change users and groups: `useradd` and its relatives.

use super::command::{self, SHORT_LIMIT};
use super::error::HostError;
use super::machine::Machine;

/// Runs a command of the shadow tools on the host, or with `--prefix` on the files of a tree. In a tree, some versions of
/// `usermod` look up groups on the machine that the agent runs on, and fail if that has no such group.
pub(crate) fn run(machine: &Machine<'_>, arguments: &[&str]) -> Result<(), HostError> {
    let root = machine.tree.path().display().to_string();
    let mut all = arguments.to_vec();
    if !machine.tree.is_machine() {
        all.splice(1..1, ["--prefix", root.as_str()]);
    }
    machine.effect("changing an account", || command::run_checked(&all, SHORT_LIMIT).map(drop))
}
