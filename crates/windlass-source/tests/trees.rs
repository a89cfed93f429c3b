//! Trees that git itself would not write, but that someone can push.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use support::{Remote, TestMirror};
use windlass_core::manifest::{IncludePattern, ReadCache, Selection};
use windlass_core::shape::TextValue as _;
use windlass_source::{EntryKind, FileTree as _, GitTree, PathPrefix, read_fleet};
use windlass_testkit::servers::WorkTree;

/// The tree of the checked-out commit, through a mirror.
fn mirror_tree(work: &WorkTree, prefix: &str) -> (GitTree, TestMirror) {
    let root = tempfile::tempdir().unwrap();
    let scratch = TestMirror::new();
    let fetched = scratch.fetch(&Remote::file(&work.publish(root.path(), "fleet.git"))).unwrap();
    let tree = scratch.mirror.tree(&fetched.commit, &PathPrefix::parse(prefix).unwrap()).unwrap();
    (tree, scratch)
}

#[test]
fn links_and_submodules_are_seen_and_refused() {
    let work = WorkTree::new();
    work.commit("real/fleet.yaml", "version: 1\n");
    std::os::unix::fs::symlink("/etc/passwd", work.path().join("fleet.yaml")).unwrap();
    std::os::unix::fs::symlink("/etc", work.path().join("outside")).unwrap();
    let head = work.head();
    work.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},module")]);
    work.git(&["add", "fleet.yaml", "outside"]);
    work.git(&["commit", "--quiet", "--message", "traps"]);
    let (tree, _scratch) = mirror_tree(&work, "");
    for path in ["fleet.yaml", "outside", "outside/passwd", "module", "module/inside"] {
        assert_eq!(tree.entry(path).unwrap(), Some(EntryKind::Other), "{path}");
        assert!(tree.read(path).is_err(), "{path}");
    }
    let fleet = read_fleet(&tree, "fleet.yaml", &mut ReadCache::default());
    assert!(fleet.files.is_empty());
    assert_eq!(fleet.problems.len(), 1);
    let (through_link, _scratch) = mirror_tree(&work, "outside");
    assert!(through_link.read("passwd").is_err());
}

#[test]
fn names_that_lead_elsewhere_are_passed_over() {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\n");
    let blob = work.git(&["rev-parse", "HEAD:fleet.yaml"]);
    let inner = work.git(&["rev-parse", "HEAD^{tree}"]);
    // A tree is a list of mode, name, zero byte and raw id; git does not check them if told not to.
    let mut raw = Vec::new();
    for (mode, name, id) in [
        ("40000", "..", &inner),
        ("40000", ".git", &inner),
        ("100644", "a/../../b", &blob),
        ("100644", "other.yaml", &blob),
    ] {
        raw.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        raw.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()));
    }
    let mut hash = Command::new("git")
        .args(["hash-object", "-t", "tree", "-w", "--stdin", "--literally"])
        .current_dir(work.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    hash.stdin.take().unwrap().write_all(&raw).unwrap();
    let tree = String::from_utf8(hash.wait_with_output().unwrap().stdout).unwrap();
    let commit = work.git(&["commit-tree", "-m", "traps", tree.trim()]);
    work.git(&["update-ref", "refs/heads/main", &commit]);
    let (tree, _scratch) = mirror_tree(&work, "");
    let all = Selection::of(&[IncludePattern::read("**").unwrap()]);
    assert_eq!(tree.list(&all).unwrap(), [("other.yaml".to_owned(), EntryKind::File(11))]);
    for path in ["../fleet.yaml", ".git/fleet.yaml", "a/../../b"] {
        assert_eq!(tree.entry(path).unwrap(), None, "{path}");
    }
}

#[test]
fn a_prefix_is_where_paths_begin() {
    let work = WorkTree::new();
    work.commit("fleets/edge/fleet.yaml", "version: 1\n");
    work.commit("fleet.yaml", "version: 2\n");
    let (tree, _scratch) = mirror_tree(&work, "fleets/edge");
    assert_eq!(tree.read("fleet.yaml").unwrap(), b"version: 1\n");
    let (tree, _scratch) = mirror_tree(&work, "fleets/none");
    assert_eq!(tree.entry("fleet.yaml").unwrap(), None);
    fs::remove_dir_all(work.path().join("fleets")).unwrap();
}
