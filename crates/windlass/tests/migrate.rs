//! `windlass migrate`: shows pending migrations without changing anything, applies them on request, never beside a
//! server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use support::{run, stderr, stdout};
use windlass_store::{Address, Store};

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

/// A data directory with an unmigrated database.
fn unmigrated() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let address = Address::Sqlite(directory.path().join("windlass.db"));
    wait(async { Store::open_unmigrated(&address).await.unwrap().close().await });
    directory
}

/// The files of a directory with their content.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

#[test]
fn check_lists_pending_migrations_and_changes_nothing() {
    let directory = unmigrated();
    let path = directory.path().to_str().unwrap();
    let before = files(directory.path());
    let checked = run(&["migrate", "--check", "--data-dir", path]);
    assert_eq!(checked.status.code(), Some(2), "{}", stderr(&checked));
    assert!(stdout(&checked).contains("pending  0001 first"), "{}", stdout(&checked));
    assert_eq!(files(directory.path()), before);

    let migrated = run(&["migrate", "--data-dir", path]);
    assert_eq!(migrated.status.code(), Some(0), "{}", stderr(&migrated));
    assert!(stdout(&migrated).contains("applied  0013 previous_files"), "{}", stdout(&migrated));
    let after = files(directory.path());
    for arguments in [&["migrate", "--check", "--data-dir", path][..], &["migrate", "--data-dir", path]] {
        let again = run(arguments);
        assert_eq!(again.status.code(), Some(0), "{}", stderr(&again));
        assert!(stdout(&again).contains("up to date"), "{}", stdout(&again));
        assert_eq!(files(directory.path()), after);
    }
}

#[test]
fn a_database_that_is_not_there_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["migrate", "--check"][..], &["migrate"]] {
        let options = ["--data-dir", directory.path().to_str().unwrap()];
        let refused = run(&[arguments, &options].concat());
        assert_eq!(refused.status.code(), Some(1));
        assert!(stderr(&refused).contains("there is no database at"), "{}", stderr(&refused));
    }
    assert!(files(directory.path()).is_empty());
}

#[test]
fn a_database_that_a_server_uses_is_not_migrated() {
    let directory = unmigrated();
    let path = directory.path().to_str().unwrap();
    let lock = windlass_server::open_lock(directory.path()).unwrap();
    lock.lock().unwrap();
    let before = files(directory.path());
    let refused = run(&["migrate", "--data-dir", path]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("a running server uses this data"), "{}", stderr(&refused));
    assert_eq!(files(directory.path()), before);
    // Checking is allowed meanwhile.
    assert_eq!(run(&["migrate", "--check", "--data-dir", path]).status.code(), Some(2));
}

#[test]
fn a_checksum_that_does_not_agree_is_an_error_with_a_remedy() {
    let directory = unmigrated();
    let path = directory.path().to_str().unwrap();
    assert_eq!(run(&["migrate", "--data-dir", path]).status.code(), Some(0));
    // In the record of a migration, its checksum follows its name and time.
    let file = directory.path().join("windlass.db");
    let mut bytes = fs::read(&file).unwrap();
    let (name, moment) = (b"previous_files", "2026-11-17 20:00:00".len());
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at + name.len() + moment + 8] ^= 1;
    fs::write(&file, bytes).unwrap();
    for arguments in [&["migrate", "--check", "--data-dir", path][..], &["migrate", "--data-dir", path]] {
        let refused = run(arguments);
        assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("migration 13"), "{}", stderr(&refused));
        assert!(stderr(&refused).contains("checksums differ"), "{}", stderr(&refused));
        assert!(stderr(&refused).contains("restore a backup"), "{}", stderr(&refused));
    }
}
