//! Fetching over the three transports with the real programs, and what the mirror keeps.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;

use support::{Remote, TestMirror};
use windlass_source::{CommitId, Credential, FetchLimits, FileTree as _, Movement, PathPrefix, Revision};
use windlass_testkit::servers::{GitHttps, GitSsh, WorkTree};

fn id(text: &str) -> CommitId {
    CommitId::parse(text).unwrap()
}

/// The history of a repository as a mirror sees it: `published` is the bare repository behind `remote`, `other`
/// another.
fn fetch_history(remote: &Remote, published: &Path, other: &Remote, work: &WorkTree) {
    let scratch = TestMirror::new();
    let first = scratch.fetch(remote).unwrap();
    assert_eq!((first.movement, &first.commit), (Movement::First, &id(&work.head())));

    let packs = scratch.packs();
    let same = scratch.fetch_since(remote, &first.commit).unwrap();
    assert_eq!((same.movement, &same.commit), (Movement::Unchanged, &first.commit));
    assert_eq!(scratch.packs(), packs, "an unchanged remote sends no pack");
    assert!(same.received_bytes < first.received_bytes, "only the list of references comes");

    work.commit("between.yaml", "a: 1\n");
    let next = work.commit("fleet.yaml", "version: 2\n");
    work.push(published, "main");
    let moved = scratch.fetch_since(remote, &first.commit).unwrap();
    assert_eq!((moved.movement, &moved.commit), (Movement::FastForward, &id(&next)));
    let tree = scratch.mirror.tree(&moved.commit, &PathPrefix::default()).unwrap();
    assert_eq!(tree.read("fleet.yaml").unwrap(), b"version: 2\n");
    assert_eq!(tree.read("between.yaml").unwrap(), b"a: 1\n");

    work.git(&["commit", "--quiet", "--amend", "--message", "said otherwise"]);
    work.push(published, "main");
    let rewritten = scratch.fetch_since(remote, &moved.commit).unwrap();
    assert_eq!((rewritten.movement, &rewritten.commit), (Movement::Rewritten, &id(&work.head())));
    let told_again = scratch.fetch_since(remote, &moved.commit).unwrap();
    assert_eq!(told_again.movement, Movement::Rewritten, "as long as no use was made of it");
    assert_eq!(scratch.fetch_since(remote, &first.commit).unwrap().movement, Movement::FastForward);
    assert_eq!(scratch.mirror.commit(&rewritten.commit).unwrap().subject, "said otherwise");

    let elsewhere = scratch.fetch(other).unwrap();
    assert_eq!(elsewhere.movement, Movement::First);
    let back = scratch.fetch(remote).unwrap();
    assert_eq!((back.movement, back.commit), (Movement::First, rewritten.commit));
}

/// A repository with two commits on `main` and another branch.
fn repository() -> WorkTree {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 0\n");
    work.git(&["branch", "other"]);
    work.commit("fleet.yaml", "version: 1\n");
    work
}

#[test]
fn a_local_repository_is_followed_through_its_life() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let second = repository().publish(root.path(), "second.git");
    fetch_history(&Remote::file(&bare), &bare, &Remote::file(&second).on("other"), &work);
}

#[test]
fn a_repository_behind_ssh_is_followed_through_its_life() {
    let Some(server) = GitSsh::start() else { return };
    let work = repository();
    let bare = work.publish(&server.root(), "fleet.git");
    let learned = TestMirror::new().fetch(&Remote::ssh(&server, "fleet.git")).unwrap().new_host_keys.unwrap();
    assert!(server.host_key().contains(learned.to_string().trim()));
    let remote = Remote { host_keys: Some(learned.clone()), ..Remote::ssh(&server, "fleet.git") };
    assert_eq!(
        TestMirror::new().fetch(&remote).unwrap().new_host_keys,
        None,
        "pinned keys are not learned again"
    );
    let other = Remote { host_keys: Some(learned), ..Remote::ssh(&server, "fleet.git").on("other") };
    fetch_history(&remote, &bare, &other, &work);
}

#[test]
fn a_repository_behind_https_is_followed_through_its_life() {
    let Some(server) = GitHttps::start() else { return };
    let work = repository();
    let bare = work.publish(&server.root(), "fleet.git");
    repository().publish(&server.root(), "second.git");
    let other = Remote::https(&server, "second.git");
    fetch_history(&Remote::https(&server, "fleet.git"), &bare, &other, &work);
}

#[test]
fn an_unchanged_remote_is_asked_for_references_and_nothing_else() {
    let Some(server) = GitHttps::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::https(&server, "fleet.git"));
    scratch.fetch(&remote).unwrap();
    let before = server.requests().lines().count();
    scratch.fetch(&remote).unwrap();
    let requests = server.requests();
    let polled: Vec<&str> = requests.lines().skip(before).collect();
    assert_eq!(polled.len(), 2, "capabilities and references: {polled:?}");
    assert!(polled[0].contains("GET /fleet.git/info/refs"), "{polled:?}");
    assert!(polled[1].contains("POST /fleet.git/git-upload-pack"), "{polled:?}");
    let answered: u64 = polled[1].rsplit(' ').next().unwrap().parse().unwrap();
    assert!(answered < 200, "one reference, no pack: {polled:?}");
}

#[test]
fn a_password_is_sent_only_to_its_host() {
    let Some(server) = GitHttps::start() else { return };
    let head = repository().publish(&server.root(), "fleet.git");
    assert!(head.exists());
    let moved = TestMirror::new().fetch(&Remote::https(&server, "moved/fleet.git")).unwrap();
    assert_eq!(moved.movement, Movement::First, "a redirect to the same host is followed");
    let error = TestMirror::new().fetch(&Remote::https(&server, "elsewhere/fleet.git")).unwrap_err();
    assert_eq!(error.code(), "protocol", "{error}");
    assert!(error.to_string().contains("https://localhost"), "{error}");
    assert!(!server.requests().contains("localhost"), "the other host was never asked");
}

#[test]
fn a_public_repository_needs_no_credential() {
    let Some(server) = GitHttps::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let remote = Remote { credential: Credential::None, ..Remote::https(&server, "open/fleet.git") };
    assert_eq!(TestMirror::new().fetch(&remote).unwrap().movement, Movement::First);
}

#[test]
fn a_long_history_is_not_downloaded_for_the_first_fetch() {
    let (work, root) = (WorkTree::new(), tempfile::tempdir().unwrap());
    for version in 0..20 {
        work.commit("fleet.yaml", &format!("version: {version}\n"));
    }
    let bare = work.publish(root.path(), "fleet.git");
    let scratch = TestMirror::new();
    scratch.fetch(&Remote::file(&bare)).unwrap();
    let earlier = id(&work.git(&["rev-parse", "HEAD~1"]));
    assert!(scratch.mirror.commit(&earlier).is_err(), "only the tip is there");
}

#[test]
fn a_damaged_mirror_is_made_anew() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let remote = Remote::file(&work.publish(root.path(), "fleet.git"));
    let scratch = TestMirror::new();
    scratch.fetch(&remote).unwrap();
    for pack in scratch.packs() {
        fs::remove_file(pack).unwrap();
    }
    let healed = scratch.fetch(&remote).unwrap();
    assert_eq!(healed.commit, id(&work.head()));
    fs::write(scratch.path().join("config"), "[core\nnonsense").unwrap();
    fs::remove_file(scratch.path().join("HEAD")).unwrap();
    let again = scratch.fetch(&remote).unwrap();
    assert_eq!((again.commit, again.movement), (id(&work.head()), Movement::First));
}

#[test]
fn files_of_a_killed_fetch_are_deleted() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let remote = Remote::file(&work.publish(root.path(), "fleet.git"));
    let scratch = TestMirror::new();
    for leftover in
        ["refs/heads/tip.lock", "shallow.lock", "objects/pack/.tmpA1b2C3", "objects/pack/pack-1.pack"]
    {
        fs::create_dir_all(scratch.path().join(leftover).parent().unwrap()).unwrap();
        fs::write(scratch.path().join(leftover), "half").unwrap();
    }
    assert_eq!(scratch.fetch(&remote).unwrap().commit, id(&work.head()));
    assert_eq!(scratch.packs().len(), 2, "a pack and its index");
}

#[test]
fn the_users_git_configuration_is_not_used() {
    let home = tempfile::tempdir().unwrap();
    let trap = "[url \"file:///nonexistent\"]\n insteadOf = file:///\n[core]\n sshCommand = false\n";
    fs::write(home.path().join(".gitconfig"), trap).unwrap();
    // The variables must be set before the process starts, so these tests run again in a child process.
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "a_local_repository_is_followed_through_its_life"])
        .args(["a_repository_behind_ssh_is_followed_through_its_life"])
        .env("HOME", home.path())
        .envs([
            ("GIT_DIR", "/nonexistent"),
            ("GIT_OBJECT_DIRECTORY", "/nonexistent"),
            ("GIT_SSH_COMMAND", "false"),
        ])
        .envs([
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "protocol.allow"),
            ("GIT_CONFIG_VALUE_0", "never"),
        ])
        .envs([("GIT_PROTOCOL", "version=0"), ("GIT_TRACE", "1"), ("SSH_AUTH_SOCK", "/nonexistent")]);
    let output = again.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("2 passed"), "{printed}");
}

#[test]
fn a_mirror_that_is_fetched_into_often_stays_small() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::file(&bare));
    let mut used = scratch.fetch(&remote).unwrap().commit;
    for version in 0..80 {
        work.commit("fleet.yaml", &format!("version: {version}\n"));
        work.push(&bare, "main");
        let fetched = scratch.fetch_since(&remote, &used).unwrap();
        assert_eq!(fetched.movement, Movement::FastForward, "also right after pruning");
        // Later versions are fetched and never synced.
        if version < 40 {
            used = fetched.commit.clone();
        }
        let tree = scratch.mirror.tree(&fetched.commit, &PathPrefix::default()).unwrap();
        assert_eq!(tree.read("fleet.yaml").unwrap(), format!("version: {version}\n").into_bytes());
    }
    assert!(scratch.packs().len() < 80, "{} files", scratch.packs().len());
    work.git(&["-C", scratch.path().to_str().unwrap(), "fsck", "--strict"]);
}

#[test]
fn a_rewrite_that_is_too_large_to_follow_is_still_called_one() {
    let (work, root) = (WorkTree::new(), tempfile::tempdir().unwrap());
    for version in 0..30 {
        work.commit("fleet.yaml", &format!("version: {version}\n"));
    }
    let bare = work.publish(root.path(), "fleet.git");
    let limits = FetchLimits { objects: 20, ..FetchLimits::default() };
    let (scratch, remote) = (TestMirror::new(), Remote { limits, ..Remote::file(&bare) });
    let used = scratch.fetch(&remote).unwrap().commit;
    work.git(&["commit", "--quiet", "--amend", "--message", "said otherwise"]);
    work.push(&bare, "main");
    let fetched = scratch.fetch_since(&remote, &used).unwrap();
    assert_eq!((fetched.movement, fetched.commit), (Movement::Rewritten, id(&work.head())));
}

#[test]
fn a_mirror_that_was_lost_still_tells_how_the_tip_moved() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let remote = Remote::file(&bare);
    let used = TestMirror::new().fetch(&remote).unwrap().commit;
    assert_eq!(TestMirror::new().fetch_since(&remote, &used).unwrap().movement, Movement::Unchanged);
    work.commit("fleet.yaml", "version: 2\n");
    work.push(&bare, "main");
    assert_eq!(TestMirror::new().fetch_since(&remote, &used).unwrap().movement, Movement::FastForward);
    work.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    work.commit("fleet.yaml", "version: 3\n");
    work.push(&bare, "main");
    assert_eq!(TestMirror::new().fetch_since(&remote, &used).unwrap().movement, Movement::Rewritten);
}

#[test]
fn a_commit_is_told_in_bounded_plain_text() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let long = "x".repeat(10_000);
    work.git(&["commit", "--quiet", "--allow-empty", "--message", &format!("a subject\n\n{long}")]);
    let scratch = TestMirror::new();
    let fetched = scratch.fetch(&Remote::file(&work.publish(root.path(), "fleet.git"))).unwrap();
    let info = scratch.mirror.commit(&fetched.commit).unwrap();
    assert_eq!((info.subject.as_str(), info.author_name.as_str()), ("a subject", "Ana"));
    assert_eq!(info.author_email, "ana@example.com");
    assert_eq!(info.message.chars().count(), 4096);
    let seconds: i64 = work.git(&["log", "-1", "--format=%ct"]).parse().unwrap();
    assert_eq!(info.committed_at.as_millis(), seconds * 1000);
}

#[test]
fn other_references_and_commits_are_fetched_and_one_after_the_other_leaves_a_small_mirror() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let main = work.head();
    work.git(&["checkout", "--quiet", "-b", "change"]);
    let change = work.commit("fleet.yaml", "version: 2\n");
    work.git(&["push", "--quiet", bare.to_str().unwrap(), "HEAD:refs/pull/1/head"]);
    let scratch = TestMirror::new();
    let remote = Remote::file(&bare);
    let at = |revision: Revision| Remote { revision, ..Remote::file(&bare) };
    let pull = at(Revision::parse("refs/pull/1/head").unwrap());
    for _ in 0..20 {
        assert_eq!(scratch.fetch(&remote).unwrap().commit, id(&main));
        let fetched = scratch.fetch(&pull).unwrap();
        assert_eq!((fetched.movement, &fetched.commit), (Movement::First, &id(&change)));
        work.commit("fleet.yaml", "version: 3\n");
        work.git(&["reset", "--quiet", "--hard", &change]);
    }
    let tree = scratch.mirror.tree(&id(&change), &PathPrefix::default()).unwrap();
    assert_eq!(tree.read("fleet.yaml").unwrap(), b"version: 2\n");
    let by_id = scratch.fetch(&at(Revision::Commit(id(&main)))).unwrap();
    assert_eq!(by_id.commit, id(&main));
    let fresh = TestMirror::new();
    let first = id(work.git(&["rev-parse", "main~1"]).trim());
    assert_eq!(fresh.fetch(&at(Revision::Commit(first.clone()))).unwrap().commit, first);
    let nowhere = at(Revision::Commit(id(&"1".repeat(40))));
    let missing = scratch.fetch(&nowhere).unwrap_err();
    assert_eq!(missing.code(), "commit-missing", "{missing}");
    let gone = at(Revision::parse("refs/pull/2/head").unwrap());
    assert_eq!(scratch.fetch(&gone).unwrap_err().code(), "branch-missing");
}
