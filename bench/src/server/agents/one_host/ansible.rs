//! `ansible-playbook`: the one that is installed, or one in a virtual environment beside the build.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Outcome, say};

/// The program, and the Python that it shall use on the host; none if it cannot be installed.
pub(super) struct Ansible {
    pub(super) playbook: PathBuf,
    pub(super) python: PathBuf,
    pub(super) version: String,
}

/// Finds Ansible, or installs it.
pub(super) fn find() -> Outcome<Option<Ansible>> {
    let bench = std::env::current_exe()?;
    let target = bench.parent().and_then(Path::parent).ok_or("the bench is not in a target directory")?;
    let own = target.join("ansible");
    let playbook = own.join("bin/ansible-playbook");
    if !playbook.exists() {
        say("  installing ansible-core");
        let made = run(Command::new("python3").args(["-m", "venv"]).arg(&own));
        let pip = own.join("bin/pip");
        if !(made && run(Command::new(pip).args(["install", "--quiet", "ansible-core"]))) {
            say("  ansible-core cannot be installed: skipped");
            return Ok(None);
        }
    }
    let output = Command::new(&playbook).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().next().unwrap_or_default().trim_start_matches("ansible-playbook ").to_owned();
    Ok(Some(Ansible { playbook, python: own.join("bin/python3"), version }))
}

fn run(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}
