//! `windlass fmt`: in place, check, diff, and never a partial write.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use support::{command, run, stderr, stdout};

const MESSY: &str = "version: 1\naccount:   acme # ours\ninclude: [  \"fleet.d/*.yaml\"]\n";
const NEAT: &str = "version: 1\naccount: acme # ours\ninclude: [\"fleet.d/*.yaml\"]\n";

fn messy_fleet() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("fleet.d")).unwrap();
    fs::write(directory.path().join("fleet.yaml"), MESSY).unwrap();
    fs::write(directory.path().join("fleet.d/a.yaml"), "clusters:\n- name: one\n  # why\n").unwrap();
    directory
}

#[test]
fn a_fleet_and_what_it_includes_are_formatted_once() {
    let fleet = messy_fleet();
    let path = fleet.path().to_str().unwrap();
    let output = run(&["fmt", path]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 2, "{}", stdout(&output));
    assert_eq!(fs::read_to_string(fleet.path().join("fleet.yaml")).unwrap(), NEAT);
    let included = fs::read_to_string(fleet.path().join("fleet.d/a.yaml")).unwrap();
    assert_eq!(included, "clusters:\n  - name: one\n    # why\n");
    let again = run(&["fmt", path]);
    assert_eq!((again.status.code(), stdout(&again).as_str()), (Some(0), ""));
}

#[test]
fn check_and_diff_change_nothing_and_fail() {
    let fleet = messy_fleet();
    let path = fleet.path().to_str().unwrap();
    let checked = run(&["fmt", "--check", path]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(stdout(&checked).contains("would format"));
    let shown = run(&["fmt", "--diff", path]);
    assert_eq!(shown.status.code(), Some(1));
    let lines = ["-account:   acme # ours\n", "+account: acme # ours\n"];
    assert!(lines.iter().all(|line| stdout(&shown).contains(line)), "{}", stdout(&shown));
    assert_eq!(fs::read_to_string(fleet.path().join("fleet.yaml")).unwrap(), MESSY);
}

#[test]
fn a_file_that_is_not_yaml_is_told_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("fleet.yaml");
    fs::write(&path, "version: 1\naccount: [acme\n").unwrap();
    let output = run(&["fmt", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("error[yaml-syntax]"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&path).unwrap(), "version: 1\naccount: [acme\n");
}

#[test]
fn a_missing_file_is_told_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(&["fmt", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("fleet.yaml does not exist"), "{}", stderr(&output));
}

#[test]
fn standard_input_is_formatted_to_standard_output() {
    let mut child = command(&["fmt", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(MESSY.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), NEAT));
}

#[cfg(unix)]
#[test]
fn permissions_survive_formatting() {
    use std::os::unix::fs::PermissionsExt as _;
    let fleet = messy_fleet();
    let path = fleet.path().join("fleet.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(run(&["fmt", fleet.path().to_str().unwrap()]).status.success());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn our_own_fleets_are_formatted() {
    let output = run(&[
        "fmt",
        "--check",
        "examples/edge",
        "examples/edge-before",
        "crates/windlass-core/src/catalogue.yaml",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}
