//! Full and read-only disks. These tests mount a small file system, which needs root; without root they check nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::{Host, changed, failure};
use crate::target::host::Scope;

/// A small file system in the tree; unmounted at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(host: &Host, path: &str) -> Option<SmallDisk> {
        fs::create_dir_all(host.path(path)).unwrap();
        let disk = SmallDisk(host.path(path));
        let options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs"];
        disk.run(Command::new("mount").args(options)).then_some(disk)
    }

    fn run(&self, command: &mut Command) -> bool {
        command.arg(&self.0).output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.run(Command::new("umount").arg("-l"));
    }
}

#[test]
fn a_full_disk_is_reported_with_the_path_and_leaves_the_old_file() {
    let host = Host::new();
    let Some(_disk) = SmallDisk::mount(&host, "/small") else { return };
    let with = |text: &str| {
        let file = |path: &str, content: &str| json!({"host": {"files": {path: {"content": content}}}});
        host.desired(&[("full", &[], file("/small/a", text)), ("other", &[], file("/b", text))])
    };
    host.apply(&with("small"));
    let report = host.apply_with_failures(&with(&"x".repeat(200_000)));
    assert_eq!(failure(&report, "path /small/a"), "cannot write /small/a: the disk is full");
    assert_eq!(changed(&report), ["Update path /b"]);
    assert_eq!(host.read("/small/a"), "small");
    assert_eq!(fs::read_dir(host.path("/small")).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_read_only_disk_is_reported_with_the_path() {
    let host = Host::new();
    let Some(disk) = SmallDisk::mount(&host, "/small") else { return };
    assert!(disk.run(Command::new("mount").args(["-o", "remount,ro"])));
    let report = host.apply_with_failures(&host.one(json!({"files": {"/small/a": {"content": "x"}}})));
    assert_eq!(failure(&report, "path /small/a"), "cannot write /small/a: the file system is read-only");
    let report = host.apply_with_failures(&host.one(json!({"directories": {"/small/d": {}}})));
    assert_eq!(failure(&report, "path /small/d"), "cannot create /small/d: the file system is read-only");
}

#[test]
fn a_full_state_directory_stops_a_change_before_it_begins() {
    let mut host = Host::new();
    let Some(_disk) = SmallDisk::mount(&host, "/small") else { return };
    host.state_dir = host.path("/small/state");
    host.apply(&host.one(json!({"files": {"/a": {"content": "x"}}})));
    fs::write(host.path("/small/filler"), vec![0; 60_000]).unwrap();
    host.write("/b", &"original".repeat(1_000));
    let report = host
        .apply_with_failures(&host.one(json!({"files": {"/a": {"content": "x"}, "/b": {"content": "y"}}})));
    assert!(failure(&report, "path /b").ends_with("the disk is full"), "{report:?}");
    assert!(!host.state_dir.join("new.tmp").exists(), "a part of the file does not fill the disk for ever");
    assert_eq!(host.read("/b"), "original".repeat(1_000));
}

#[test]
fn an_inventory_that_cannot_be_understood_stops_the_run() {
    let host = Host::new();
    let desired = host.one(json!({"files": {"/a": {"content": "x"}}}));
    host.apply(&desired);
    for text in ["", "{", "{\"version\": 2, \"entries\": []}"] {
        fs::write(host.state_dir.join("inventory.json"), text).unwrap();
        let error = host
            .target()
            .apply(&host.one(json!({})).document, &host.one(json!({})).state, Scope::WholeState)
            .unwrap_err();
        assert!(error.to_string().contains("inventory.json cannot be read"), "{error}");
        assert_eq!(host.read("/a"), "x");
    }
}

#[test]
fn two_agents_do_not_work_at_the_same_time() {
    let host = Host::new();
    let desired = host.one(json!({}));
    let (one, other) = (host.target(), host.target());
    let held =
        crate::target::host::state_file::StateDirectory::open(&host.state_dir, Default::default()).unwrap();
    let lock = held.lock().unwrap();
    assert!(one.apply(&desired.document, &desired.state, Scope::WholeState).is_err());
    drop(lock);
    assert!(other.apply(&desired.document, &desired.state, Scope::WholeState).is_ok());
}
