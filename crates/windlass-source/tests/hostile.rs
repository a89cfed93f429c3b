//! Repositories made by an attacker who can push: each is rejected with a reason, within the limits.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use support::{Remote, TestMirror};
use windlass_core::code::Code;
use windlass_core::content::ContentChange;
use windlass_core::manifest::{IncludePattern, ReadCache, ReadContext, Selection};
use windlass_core::shape::TextValue as _;
use windlass_source::{
    Branch, CommitAuthor, DiskTree, FetchLimits, FileTree, FleetFiles, GitTree, NewFile, PathContent,
    PathPrefix, Push, SentFiles, content_differences, read_fleet,
};
use windlass_testkit::servers::WorkTree;

/// The problems of a fleet: code and message.
fn problems(tree: &impl FileTree) -> Vec<(Code, String)> {
    let read = read_fleet(tree, "fleet.yaml", &mut ReadCache::default());
    read.problems.into_iter().map(|problem| (problem.code, problem.message)).collect()
}

fn refused_for(tree: &impl FileTree, reason: &str) {
    let problems = problems(tree);
    let [(Code::TreeTooLarge, message)] = problems.as_slice() else { panic!("{problems:?}") };
    assert!(message.contains(reason), "{message}");
}

/// Fetches the last commit, and reads it through the mirror and from the repository itself.
fn read_both_ways(work: &WorkTree, commit: &str) -> (GitTree, GitTree, TestMirror) {
    let root = tempfile::tempdir().unwrap();
    let scratch = TestMirror::new();
    let fetched = scratch.fetch(&Remote::file(&work.publish(root.path(), "fleet.git"))).unwrap();
    assert_eq!(fetched.commit.as_str(), commit);
    let mirror_tree = scratch.mirror.tree(&fetched.commit, &PathPrefix::parse("").unwrap()).unwrap();
    (mirror_tree, GitTree::open(work.path(), commit).unwrap(), scratch)
}

#[test]
fn a_kilobyte_with_ten_thousand_million_paths_is_rejected() {
    let work = WorkTree::new();
    let commit = work.commit_path_bomb(10, 10);
    let (mirror_tree, local, scratch) = read_both_ways(&work, &commit);
    for tree in [&mirror_tree, &local] {
        refused_for(tree, "more than 200000 names");
    }
    // Directories that no pattern matches are not examined.
    let one = Selection::of(&[IncludePattern::read("bomb/d1/d2/*.yaml").unwrap()]);
    assert_eq!(mirror_tree.list(&one).unwrap(), []);
    let used = scratch.packs().iter().map(|pack| pack.metadata().unwrap().len()).sum::<u64>();
    assert!(used < 4096);
}

#[test]
fn twenty_thousand_nested_directories_are_rejected() {
    let root = tempfile::tempdir().unwrap();
    let remote = Remote::file(&WorkTree::publish_nested_trees(root.path(), "fleet.git", 20_000));
    let scratch = TestMirror::new();
    let fetched = scratch.fetch(&remote).unwrap();
    let tree = scratch.mirror.tree(&fetched.commit, &PathPrefix::parse("").unwrap()).unwrap();
    refused_for(&tree, "nested more than 64 deep");
    // A path through all of them is looked up like any other path.
    let deepest = format!("bomb/{}a.yaml", "d/".repeat(20_000));
    assert!(tree.read(&deepest).is_ok_and(|content| content.starts_with(b"version: 1")));
    // A second fetch walks no directory.
    assert_eq!(scratch.fetch(&remote).unwrap().commit, fetched.commit);
}

#[test]
fn a_name_of_megabytes_is_rejected_before_paths_are_built() {
    let work = WorkTree::new();
    let commit = work.commit_long_name(7 << 20, 5_000);
    let (mirror_tree, local, scratch) = read_both_ways(&work, &commit);
    let before = resident();
    for tree in [&mirror_tree, &local] {
        refused_for(tree, "a name in it has more than 255 bytes");
    }
    // The paths of all files would have 35 GB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 300 << 20, "{grown} bytes more");
    let used = scratch.packs().iter().map(|pack| pack.metadata().unwrap().len()).sum::<u64>();
    assert!(used < 300_000, "{used} bytes were sent");
    // Directories that are not searched cause no error.
    let one = Selection::of(&[IncludePattern::read("*.yaml").unwrap()]);
    assert_eq!(mirror_tree.list(&one).unwrap(), []);
}

#[test]
fn a_content_diff_is_computed_within_one_budget() {
    type Bomb = fn(&WorkTree) -> String;
    let bombs: [(Bomb, usize); 3] = [
        (|work| work.commit_long_name(7 << 20, 10), 0),
        (|work| work.commit_wide_to_long(10_000, 7 << 20), 0),
        (|work| work.commit_path_bomb(10, 10), 100),
    ];
    for (make, at_least) in bombs {
        let work = WorkTree::new();
        let commit = make(&work);
        let (mirror_tree, _, _scratch) = read_both_ways(&work, &commit);
        let PathContent::Known(after) = mirror_tree.content("bomb").unwrap() else { panic!("it is there") };
        let change = ContentChange { path: "bomb".to_owned(), before: None, after };
        let (before, begun) = (resident(), Instant::now());
        let [found] = content_differences(&mirror_tree, [change]).try_into().unwrap();
        let (grown, took) = (resident().saturating_sub(before), begun.elapsed());
        assert!(found.note.is_some_and(|note| note.contains("the list is incomplete")), "{took:?}");
        assert!(found.files.len() >= at_least);
        assert!(grown < 300 << 20, "{grown} bytes more");
        assert!(took < Duration::from_secs(60), "{took:?}");
    }
}

#[test]
fn what_unpacks_to_more_than_it_may_is_not_received() {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\n");
    work.commit_zeros("zeros.bin", 8 << 20);
    let root = tempfile::tempdir().unwrap();
    let limits = FetchLimits { unpacked: 4 << 20, ..FetchLimits::default() };
    let remote = Remote { limits, ..Remote::file(&work.publish(root.path(), "fleet.git")) };
    let error = TestMirror::new().fetch(&remote).unwrap_err();
    assert_eq!(error.code(), "too-large", "{error}");
    assert!(error.to_string().contains("unpacks to more than 4 MiB"), "{error}");
}

#[test]
fn a_directory_on_disk_has_the_same_budget() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("fleet.yaml"), "version: 1\ninclude: ['d/**']\n").unwrap();
    std::fs::create_dir_all(root.path().join("d/".repeat(100))).unwrap();
    refused_for(&DiskTree::new(root.path()), "nested more than 64 deep");
}

#[test]
fn a_file_that_decompresses_beyond_the_limit_is_rejected() {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\n");
    work.commit_zeros("zeros.bin", 80 << 20);
    let root = tempfile::tempdir().unwrap();
    let error = TestMirror::new().fetch(&Remote::file(&work.publish(root.path(), "fleet.git"))).unwrap_err();
    assert_eq!(error.code(), "too-large", "{error}");
    assert!(error.to_string().contains("more than 64 MiB"), "{error}");
}

#[test]
fn a_file_larger_than_a_fleets_is_not_read_into_memory() {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\ninclude: ['*.yaml']\n");
    let commit = work.commit_zeros("zeros.yaml", 8 << 20);
    let (mirror_tree, local, _scratch) = read_both_ways(&work, &commit);
    for tree in [&mirror_tree, &local] {
        assert_eq!(problems(tree).first().map(|problem| problem.0), Some(Code::FileTooLarge));
        assert!(tree.read("zeros.yaml").is_err());
    }
}

#[test]
fn a_commit_and_a_tag_with_a_message_of_megabytes_are_refused() {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\naccount: acme\n");
    let message = work.path().join(".git/message");
    std::fs::write(&message, "x".repeat(2 << 20)).unwrap();
    let message = message.to_str().unwrap();
    work.git(&["tag", "-a", "huge", "-F", message]);
    assert!(GitTree::open(work.path(), "huge").is_err());
    work.git(&["commit", "--quiet", "--allow-empty", "--file", message]);
    assert!(GitTree::open(work.path(), "HEAD").is_err());
    let root = tempfile::tempdir().unwrap();
    let scratch = TestMirror::new();
    let fetched = scratch.fetch(&Remote::file(&work.publish(root.path(), "fleet.git"))).unwrap();
    assert!(scratch.mirror.commit(&fetched.commit).is_err());
    assert!(scratch.mirror.tree(&fetched.commit, &PathPrefix::parse("").unwrap()).is_err());
}

#[test]
fn a_file_is_pushed_beside_a_bomb_without_walking_it() {
    let work = WorkTree::new();
    let commit = work.commit_path_bomb(10, 10);
    let root = tempfile::tempdir().unwrap();
    let bare = work.publish(root.path(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::file(&bare));
    let fetched = scratch.fetch(&remote).unwrap();
    assert_eq!(fetched.commit.as_str(), commit);
    let author = CommitAuthor {
        name: "Ana".to_owned(),
        email: "ana@example.com".to_owned(),
        at: windlass_core::time::Timestamp::from_millis(0),
    };
    let files = [NewFile { path: "bomb/d1/new.yaml".to_owned(), content: b"nodes: {}\n".to_vec() }];
    let push = Push {
        base: &fetched.commit,
        branch: &Branch::parse("adopt").unwrap(),
        files: &files,
        message: "adopt",
        author: &author,
    };
    scratch.mirror.push_branch(&remote.options(), &push).unwrap();
}

#[test]
fn paths_that_were_sent_cost_no_more_than_their_length() {
    let deep = |nth: usize| format!("{}{nth}", "d/".repeat(500));
    let sent: Vec<String> = (0..20_000).map(deep).collect();
    let bytes: usize = sent.iter().map(String::len).sum();
    let before = resident();
    let files = SentFiles::new([("fleet.yaml".to_owned(), b"version: 1\n".to_vec())], sent).unwrap();
    let grown = resident().saturating_sub(before);
    // Other tests of this process use memory too; storing every directory of every path took 250 times as much.
    assert!(grown < bytes * 10, "{grown} bytes more for {bytes}");
    assert!(matches!(files.entry("d/d/d"), Ok(Some(windlass_source::EntryKind::Directory))));
    assert!(matches!(files.entry("d/x"), Ok(None)));
}

/// The memory of this process; 0 where the system does not report it.
fn resident() -> usize {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or_default() * 1024
}

#[test]
fn a_path_of_a_fleet_through_a_bomb_is_looked_up_and_not_walked() {
    let work = WorkTree::new();
    work.commit_path_bomb(10, 10);
    let tree = GitTree::open(work.path(), "main").unwrap();
    let text = "version: 1\naccount: acme\nmodules:\n  m: {version: 1.0.0, files: [{source: bomb/d1/d2/a.txt, path: /x}]}\n";
    let files = [windlass_core::manifest::SourceFile::new("fleet.yaml", text.as_bytes().to_vec())];
    let mut fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
    FleetFiles::check_paths(&tree, &mut fleet);
}
