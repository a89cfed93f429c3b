//! Running the real program and comparing with golden files.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the project, where documented commands are run.
pub(crate) fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The program with these arguments, at the root of the project, in an environment without surprises.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
    command.args(arguments).current_dir(project_root()).env("COLUMNS", "100");
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "POWERNODE_GITOPS_MAX_PROPOSALS_PER_TICK"] {
        command.env_remove(variable);
    }
    command
}

/// Runs the program with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// What the program printed.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What the program complained.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Compares with a golden file, or rewrites it when `UPDATE_GOLDEN` is set.
pub(crate) fn check_golden(name: &str, actual: &str) {
    check_file(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), actual);
}

/// Compares with a file anywhere, or rewrites it when `UPDATE_GOLDEN` is set.
pub(crate) fn check_file(path: &Path, actual: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, actual).unwrap();
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not what the program prints; look at the difference and run with UPDATE_GOLDEN=1 if it is right\n{actual}",
        path.display()
    );
}
