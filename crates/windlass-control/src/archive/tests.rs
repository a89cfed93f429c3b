//! Archiving, also after an interruption, and archives that someone changed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use windlass_core::id::{AccountId, AuditKeyId};
use windlass_store::{Address, AuditEntry, Outcome};

use super::*;

struct World {
    store: Store,
    directory: TempDir,
}

const ACCOUNT: &str = "account";

fn account_id() -> AccountId {
    AccountId::new(ACCOUNT)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000)
}

impl World {
    /// An account with six entries. The second and the fifth are signed.
    async fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Address::Sqlite(directory.path().join("windlass.db"))).await.unwrap();
        let mut writing = store.write().await.unwrap();
        writing.account_add(&account_id(), "acme", at(0)).await.unwrap();
        writing.commit().await.unwrap();
        let world = World { store, directory };
        for seq in 1..=6 {
            world.act(seq).await;
            if seq == 2 || seq == 5 {
                world.sign(seq).await;
            }
        }
        world
    }

    async fn act(&self, seconds: i64) {
        let mut writing = self.store.write_account(&account_id()).await.unwrap();
        writing.audit(AuditEntry {
            actor: Actor::windlass(),
            action: "proposal.approve",
            target_kind: "node".to_owned(),
            target: "edge \"ü\"".to_owned(),
            outcome: Outcome::Done,
            before: None,
            after: None,
            detail: json!({ "why": "because" }),
            at: at(seconds),
        });
        writing.commit().await.unwrap();
    }

    async fn sign(&self, seq: i64) {
        let entry =
            self.store.read().await.unwrap().audit(&account_id(), None, seq + 1, 1).await.unwrap().remove(0);
        let checkpoint = Checkpoint {
            account_id: account_id(),
            seq,
            hash: entry.hash,
            at: at(seq),
            key_id: AuditKeyId::new("key"),
            signature: "signature".to_owned(),
        };
        let mut writing = self.store.write().await.unwrap();
        writing.checkpoint_add(&checkpoint, None).await.unwrap();
        writing.commit().await.unwrap();
    }

    fn request(&self, limit: ArchiveLimit, file: &str) -> ArchiveRequest {
        ArchiveRequest { chain: ArchiveChain::OnlyAccount, limit, file: self.directory.path().join(file) }
    }

    async fn archive(&self, request: &ArchiveRequest) -> Result<ArchiveReport, ArchiveError> {
        let place = ServerPlace { key: &KeySource::DataDirectory, data_dir: self.directory.path() };
        archive_audit(&self.store, place, request, at(99)).await
    }

    /// The numbers of the entries in the database, which follow one another from the anchor on.
    async fn kept(&self) -> Vec<i64> {
        let mut reading = self.store.read().await.unwrap();
        let verified = reading.audit_verify(&account_id()).await.unwrap();
        assert!(matches!(verified, LogVerification::Intact { .. }), "{verified:?}");
        reading
            .audit_between(&account_id(), 0, i64::MAX)
            .await
            .unwrap()
            .iter()
            .map(|entry| entry.seq)
            .collect()
    }
}

#[tokio::test]
async fn entries_up_to_a_checkpoint_move_to_the_file_and_the_log_continues_after_them() {
    let world = World::new().await;
    let first = world.request(ArchiveLimit::UpTo(4), "one.jsonl");
    assert_eq!(world.archive(&first).await.unwrap(), ArchiveReport::Archived { first: 1, last: 2 });
    assert_eq!(world.kept().await, [3, 4, 5, 6, 7], "the last tells of the archive");
    let second = world.request(ArchiveLimit::Before(at(6)), "two.jsonl");
    assert_eq!(world.archive(&second).await.unwrap(), ArchiveReport::Archived { first: 3, last: 5 });
    assert_eq!(world.kept().await, [6, 7, 8]);

    let (mut seen, mut end) = (Vec::new(), ArchivePlace::from(&AuditHead::default()));
    for request in [&first, &second] {
        let archive = read_archive(&request.file, |entry| seen.push(entry.seq)).unwrap();
        assert_eq!(archive.header.after, end);
        assert_eq!((archive.header.account.as_str(), archive.header.account_id.as_str()), ("acme", ACCOUNT));
        end = archive.header.up_to;
    }
    assert_eq!(seen, [1, 2, 3, 4, 5]);
    let anchor = world.store.read().await.unwrap().audit_anchor(&account_id()).await.unwrap().unwrap();
    assert_eq!(AuditHead::from(&end), anchor);
}

#[tokio::test]
async fn an_interrupted_archive_is_completed_and_a_complete_one_is_unchanged() {
    let world = World::new().await;
    let request = world.request(ArchiveLimit::UpTo(5), "archive.jsonl");
    // The state after a crash between writing the file and deleting the entries.
    let mut reading = world.store.read().await.unwrap();
    let anchor = AuditHead::default();
    let checkpoint = choose_checkpoint(&mut reading, &account_id(), request.limit, &anchor).await.unwrap();
    let header = header_of(&checkpoint, Vec::new(), "acme", &anchor, at(90));
    write_archive(&mut reading, &header, &request.file).await.unwrap();
    drop(reading);
    assert_eq!(world.kept().await, [1, 2, 3, 4, 5, 6]);
    let before = fs::read(&request.file).unwrap();
    assert_eq!(world.archive(&request).await.unwrap(), ArchiveReport::Archived { first: 1, last: 5 });
    assert_eq!(world.kept().await, [6, 7]);
    assert_eq!(world.archive(&request).await.unwrap(), ArchiveReport::AlreadyArchived { last: 5 });
    assert_eq!(world.kept().await, [6, 7]);
    assert_eq!(fs::read(&request.file).unwrap(), before);
}

#[tokio::test]
async fn nothing_is_deleted_or_written_without_a_checkpoint_or_from_a_broken_log() {
    let world = World::new().await;
    let early = world.request(ArchiveLimit::UpTo(1), "early.jsonl");
    assert!(matches!(world.archive(&early).await, Err(ArchiveError::NoCheckpoint { after: 0 })));
    let stranger = ArchiveRequest { chain: ArchiveChain::Account("nobody".to_owned()), ..early.clone() };
    assert!(matches!(world.archive(&stranger).await, Err(ArchiveError::NoAccount { .. })));
    let nowhere = world.request(ArchiveLimit::UpTo(5), "no/such/directory.jsonl");
    assert!(matches!(world.archive(&nowhere).await, Err(ArchiveError::File { .. })));
    assert_eq!(world.kept().await.len(), 6);
    // A checkpoint that does not match the log.
    let mut writing = world.store.write().await.unwrap();
    let forged = Checkpoint {
        account_id: account_id(),
        seq: 6,
        hash: "another".to_owned(),
        at: at(6),
        key_id: AuditKeyId::new("key"),
        signature: "signature".to_owned(),
    };
    writing.checkpoint_add(&forged, None).await.unwrap();
    writing.commit().await.unwrap();
    let request = world.request(ArchiveLimit::UpTo(5), "archive.jsonl");
    let refused = world.archive(&request).await;
    assert!(matches!(refused, Err(ArchiveError::BrokenLog { .. })), "{refused:?}");
    assert!(!request.file.exists());
    let mut reading = world.store.read().await.unwrap();
    assert_eq!(reading.audit(&account_id(), None, i64::MAX, 9).await.unwrap().len(), 6);
}

#[tokio::test]
async fn a_changed_archive_is_detected_and_nothing_is_deleted() {
    let world = World::new().await;
    let other = World::new().await;
    let request = world.request(ArchiveLimit::UpTo(5), "archive.jsonl");
    let mut reading = world.store.read().await.unwrap();
    let anchor = AuditHead::default();
    let checkpoint = choose_checkpoint(&mut reading, &account_id(), request.limit, &anchor).await.unwrap();
    let header = header_of(&checkpoint, Vec::new(), "acme", &anchor, at(90));
    write_archive(&mut reading, &header, &request.file).await.unwrap();
    drop(reading);
    let good = fs::read_to_string(&request.file).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let changes: Vec<(&str, String)> = vec![
        ("empty", String::new()),
        ("cut short", lines[..5].join("\n")),
        ("cut in a line", good[..good.len() - 9].to_owned()),
        ("an entry left out", [&lines[..2], &lines[3..]].concat().join("\n")),
        ("two entries swapped", [&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat().join("\n")),
        ("an entry changed", good.replacen("because", "by mistake", 1)),
        ("another account", good.replacen("\"account_id\":\"account\"", "\"account_id\":\"other\"", 1)),
        ("another checkpoint", good.replacen("\"seq\":5", "\"seq\":4", 1)),
        ("another format", good.replacen("archive 1", "archive 9", 1)),
        ("more at the end", format!("{good}{}", lines[5])),
    ];
    for (what, text) in changes {
        fs::write(&request.file, text).unwrap();
        let read = read_archive(&request.file, |_| {});
        assert!(matches!(read, Err(ArchiveError::Damaged { .. })), "{what}: {read:?}");
        assert!(world.archive(&request).await.is_err(), "{what}");
        assert_eq!(world.kept().await.len(), 6, "{what}");
    }
    // An intact archive that does not begin where this log's last archive ended.
    let elsewhere = other.request(ArchiveLimit::UpTo(2), "elsewhere.jsonl");
    other.archive(&elsewhere).await.unwrap();
    world.archive(&world.request(ArchiveLimit::UpTo(2), "mine.jsonl")).await.unwrap();
    let taken = ArchiveRequest { file: request.file.clone(), ..world.request(ArchiveLimit::UpTo(5), "") };
    fs::write(&request.file, &good).unwrap();
    let refused = world.archive(&taken).await;
    assert!(matches!(refused, Err(ArchiveError::Exists { .. })), "{refused:?}");
}
