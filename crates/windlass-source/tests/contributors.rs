//! Who contributed to the commits between two commits, and whether the list may be incomplete.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::path::{Path, PathBuf};

use support::{Remote, TestMirror};
use tempfile::TempDir;
use windlass_core::gate::{ContributorRole, Contributors, ContributorsGap, MAX_NAMED};
use windlass_source::{CommitId, FetchLimits};
use windlass_testkit::servers::WorkTree;

fn id(text: &str) -> CommitId {
    CommitId::parse(text).unwrap()
}

/// A repository whose first commit was fetched and synced.
struct SyncedRepository {
    work: WorkTree,
    bare: PathBuf,
    scratch: TestMirror,
    used: CommitId,
    _root: TempDir,
}

impl SyncedRepository {
    fn new() -> SyncedRepository {
        let (work, root) = (WorkTree::new(), tempfile::tempdir().unwrap());
        work.commit("fleet.yaml", "version: 0\n");
        work.commit("fleet.yaml", "version: 1\n");
        let bare = work.publish(root.path(), "fleet.git");
        let scratch = TestMirror::new();
        let used = scratch.fetch(&Remote::file(&bare)).unwrap().commit;
        SyncedRepository { work, bare, scratch, used, _root: root }
    }

    fn commit_by(&self, author: &str) {
        self.commit_saying(author, "by someone");
    }

    fn commit_saying(&self, author: &str, message: &str) {
        let author = format!("--author=X <{author}>");
        self.work.git(&["commit", "--quiet", "--allow-empty", &author, "--message", message]);
    }

    /// Pushes, fetches, and returns the contributors of the new commits.
    fn contributors(&self, limits: FetchLimits) -> Contributors {
        self.work.push(&self.bare, "main");
        let remote = Remote { limits, ..Remote::file(&self.bare) };
        let fetched = self.scratch.fetch_since(&remote, &self.used).unwrap();
        assert_eq!(fetched.commit, id(&self.work.head()));
        self.scratch.mirror.contributors(&fetched.commit, Some(&self.used)).unwrap()
    }
}

fn has(contributors: &Contributors, person: &str) -> bool {
    contributors.people().iter().any(|one| one.person == person)
}

#[test]
fn everyone_back_to_the_commit_that_was_used_is_told_and_nobody_before() {
    let followed = SyncedRepository::new();
    followed.commit_by("bea@example.com");
    followed.commit_by("cy@example.com");
    let found = followed.contributors(FetchLimits::default());
    assert_eq!(found.gap(), None);
    assert!(has(&found, "bea@example.com") && has(&found, "cy@example.com"), "{found:?}");
}

#[test]
fn a_branch_that_left_before_the_commit_that_was_used_brings_its_own_people_alone() {
    let SyncedRepository { work, bare, scratch, _root, .. } = SyncedRepository::new();
    let followed = {
        work.git(&["checkout", "--quiet", "-b", "side", "HEAD~1"]);
        work.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--author=S <side@example.com>",
            "--message",
            "side",
        ]);
        work.git(&["checkout", "--quiet", "main"]);
        work.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--author=U <used@example.com>",
            "--message",
            "used",
        ]);
        work.push(&bare, "main");
        let used = scratch.fetch(&Remote::file(&bare)).unwrap().commit;
        SyncedRepository { work, bare, scratch, used, _root }
    };
    followed.work.git(&["merge", "--quiet", "--no-ff", "--message", "merged", "side"]);
    let found = followed.contributors(FetchLimits::default());
    assert_eq!(found.gap(), None);
    assert!(has(&found, "side@example.com") && !has(&found, "used@example.com"), "{found:?}");
}

#[test]
fn a_rewritten_history_is_marked_as_incomplete() {
    let followed = SyncedRepository::new();
    followed.work.git(&["commit", "--quiet", "--amend", "--message", "said otherwise"]);
    assert_eq!(
        followed.contributors(FetchLimits::default()).gap(),
        Some(ContributorsGap::HistoryNotFollowed)
    );
    followed.work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let found = followed.contributors(FetchLimits::default());
    assert_eq!(found.gap(), Some(ContributorsGap::HistoryNotFollowed));
    assert!(!found.people().is_empty(), "the tip has people");
}

#[test]
fn a_history_too_large_to_fetch_is_marked_as_incomplete() {
    let followed = SyncedRepository::new();
    write_noise(&followed.work.path().join("large"));
    followed.work.git(&["add", "large"]);
    followed.commit_by("eve@example.com");
    followed.work.git(&["rm", "--quiet", "large"]);
    followed.commit_by("made-up@example.com");
    let found = followed.contributors(FetchLimits { bytes: 1 << 20, ..FetchLimits::default() });
    assert_eq!(found.gap(), Some(ContributorsGap::HistoryNotFollowed));
    assert!(has(&found, "made-up@example.com") && !has(&found, "eve@example.com"));
}

/// Two megabytes that do not compress.
fn write_noise(path: &Path) {
    let mut state = 1_u64;
    let bytes: Vec<u8> = (0..2 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_history_with_too_many_commits_is_marked_as_incomplete() {
    let followed = SyncedRepository::new();
    followed.commit_by("eve@example.com");
    let mut stream = String::new();
    let head = followed.work.head();
    for number in 0..510 {
        let from = if number == 0 { format!("from {head}\n") } else { String::new() };
        stream.push_str(&format!(
            "commit refs/heads/main\nauthor M <m@example.com> {number} +0000\ncommitter M <m@example.com> {number} +0000\ndata 1\nx\n{from}\n"
        ));
    }
    std::fs::write(followed.work.path().join(".git/many"), stream).unwrap();
    followed.work.git(&["-c", "alias.many=!git fast-import --quiet --force < .git/many", "many"]);
    let found = followed.contributors(FetchLimits::default());
    assert_eq!(found.gap(), Some(ContributorsGap::HistoryNotFollowed));
}

#[test]
fn two_hundred_co_authors_are_a_list_that_says_it_is_cut_off() {
    let followed = SyncedRepository::new();
    let trailers: String =
        (0..=MAX_NAMED).map(|number| format!("Co-authored-by: N <{number}@example.com>\n")).collect();
    followed.commit_saying("made-up@example.com", &format!("one\n\n{trailers}"));
    let found = followed.contributors(FetchLimits::default());
    assert_eq!(found.gap(), Some(ContributorsGap::TooManyPeople));
    assert!(found.people().iter().all(|one| one.role != ContributorRole::Signer));
    assert_eq!(found.people().len(), MAX_NAMED);
}
