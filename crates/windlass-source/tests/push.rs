//! Pushing a branch over the three transports.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::path::Path;

use support::{Remote, TestMirror, password};
use windlass_core::time::Timestamp;
use windlass_source::{Branch, CommitAuthor, CommitId, NewFile, Push, PushError};
use windlass_testkit::servers::{GitHttps, GitSsh, WorkTree};

fn repository() -> WorkTree {
    let work = WorkTree::new();
    work.commit("kept.txt", "kept\n");
    work.commit("fleets/edge/fleet.yaml", "version: 1\n");
    work
}

fn push(
    scratch: &TestMirror,
    remote: &Remote,
    base: &CommitId,
    files: &[(&str, &str)],
) -> Result<CommitId, PushError> {
    let files: Vec<NewFile> = files
        .iter()
        .map(|(path, content)| NewFile { path: (*path).to_owned(), content: content.as_bytes().to_vec() })
        .collect();
    let author = CommitAuthor {
        name: "Windlass <bot>\n".to_owned(),
        email: "windlass@example.com".to_owned(),
        at: Timestamp::from_millis(1_763_251_200_000),
    };
    let branch = Branch::parse("windlass/adopt").unwrap();
    let request =
        Push { base, branch: &branch, files: &files, message: "adopt what is there", author: &author };
    scratch.mirror.push_branch(&remote.options(), &request)
}

/// The content of a file in the pushed branch.
fn content(work: &WorkTree, bare: &Path, path: &str) -> String {
    work.git(&["--git-dir", bare.to_str().unwrap(), "show", &format!("windlass/adopt:{path}")])
}

fn a_branch_is_pushed_and_moved(remote: &Remote, bare: &Path, work: &WorkTree) {
    let scratch = TestMirror::new();
    let base = scratch.fetch(remote).unwrap().commit;
    let new = [("fleets/edge/fleet.yaml", "version: 2\n"), ("new/deep/file.txt", "new\n")];
    let commit = push(&scratch, remote, &base, &new).unwrap();
    let git_dir = bare.to_str().unwrap();
    assert_eq!(work.git(&["--git-dir", git_dir, "rev-parse", "windlass/adopt"]), commit.as_str());
    assert_eq!(work.git(&["--git-dir", git_dir, "rev-parse", "windlass/adopt~1"]), base.as_str());
    for (path, expected) in
        [("fleets/edge/fleet.yaml", "version: 2"), ("new/deep/file.txt", "new"), ("kept.txt", "kept")]
    {
        assert_eq!(content(work, bare, path), expected);
    }
    let author = work.git(&["--git-dir", git_dir, "log", "-1", "--format=%an|%ae|%ct", "windlass/adopt"]);
    assert_eq!(author, "Windlass bot|windlass@example.com|1763251200");
    work.git(&["--git-dir", git_dir, "fsck", "--strict"]);

    push(&scratch, remote, &base, &[("fleets/edge/fleet.yaml", "version: 3\n")]).unwrap();
    assert_eq!(content(work, bare, "fleets/edge/fleet.yaml"), "version: 3", "what is ours may move");
    work.git(&["--git-dir", git_dir, "branch", "-D", "windlass/adopt"]);
    push(&scratch, remote, &base, &[("fleets/edge/fleet.yaml", "version: 4\n")]).unwrap();
    work.push(bare, "windlass/adopt");
    let refused = push(&scratch, remote, &base, &[("fleets/edge/fleet.yaml", "version: 5\n")]).unwrap_err();
    assert!(matches!(refused, PushError::Taken { .. }), "{refused:?}");
    assert_eq!(content(work, bare, "fleets/edge/fleet.yaml"), "version: 1", "what others pushed stays");
}

#[test]
fn a_branch_is_pushed_to_a_local_repository() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    a_branch_is_pushed_and_moved(&Remote::file(&bare), &bare, &work);
}

#[test]
fn a_branch_is_pushed_over_ssh() {
    let Some(server) = GitSsh::start() else { return };
    let work = repository();
    let bare = work.publish(&server.root(), "fleet.git");
    a_branch_is_pushed_and_moved(&Remote::ssh(&server, "fleet.git"), &bare, &work);
}

#[test]
fn a_branch_is_pushed_over_https() {
    let Some(server) = GitHttps::start() else { return };
    let work = repository();
    let bare = work.publish(&server.root(), "fleet.git");
    let remote = Remote::https(&server, "fleet.git");
    a_branch_is_pushed_and_moved(&remote, &bare, &work);
    let scratch = TestMirror::new();
    let base = scratch.fetch(&remote).unwrap().commit;
    let wrong = Remote { credential: password("planted-wrong"), ..Remote::https(&server, "fleet.git") };
    let error = push(&scratch, &wrong, &base, &[("a", "b")]).unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(matches!(&error, PushError::Remote { problem, .. } if problem.code() == "auth"), "{told}");
    assert!(!told.contains("planted-wrong") && !told.contains("Basic"), "{told}");
}

#[test]
fn a_mirror_that_was_pruned_still_knows_which_branch_is_ours() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::file(&bare));
    let base = scratch.fetch(&remote).unwrap().commit;
    push(&scratch, &remote, &base, &[("a", "1\n")]).unwrap();
    let before = scratch.packs().len();
    let mut latest = base;
    for version in 0..40 {
        work.commit("kept.txt", &format!("{version}\n"));
        work.push(&bare, "main");
        latest = scratch.fetch(&remote).unwrap().commit;
    }
    assert!(scratch.packs().len() < before + 80, "it was pruned");
    push(&scratch, &remote, &latest, &[("a", "2\n")]).unwrap();
    assert_eq!((content(&work, &bare, "a"), content(&work, &bare, "kept.txt")), ("2".into(), "39".into()));
}

#[test]
fn paths_that_lead_elsewhere_are_not_pushed() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let remote = Remote::file(&work.publish(root.path(), "fleet.git"));
    let scratch = TestMirror::new();
    let base = scratch.fetch(&remote).unwrap().commit;
    for path in ["", "/etc/passwd", "../a", "a/../b", ".git/config", "kept.txt/inside", "fleets"] {
        let error = push(&scratch, &remote, &base, &[(path, "x")]).unwrap_err();
        assert!(matches!(error, PushError::Path { .. }), "{path:?}: {error:?}");
    }
}
