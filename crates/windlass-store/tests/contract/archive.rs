//! Archived audit logs: the remaining entries continue the archived ones, and a manipulated log is detected.

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, AuditKeyId};
use windlass_store::{
    Actor, ArchiveLimit, ArchivedEntries, AuditHead, ChainCheck, Checkpoint, ExpectedLog, LogVerification,
    Store,
};

use crate::checkpoints::sign;
use crate::world::{World, at, entry, on_both};

fn in_file(checkpoint: &Checkpoint) -> ArchivedEntries {
    ArchivedEntries {
        up_to: AuditHead { seq: checkpoint.seq, hash: checkpoint.hash.clone() },
        file: "audit.jsonl".to_owned(),
        digest: Digest::of(b"file"),
    }
}

async fn archive(store: &Store, account_id: &AccountId, archived: &ArchivedEntries) -> Option<u64> {
    let mut writing = store.write_account(account_id).await.unwrap();
    let deleted = writing.audit_archive(archived, Actor::windlass(), at(9)).await.unwrap();
    writing.commit().await.unwrap();
    deleted
}

async fn verified(world: &World, account_id: &AccountId, expected: &ExpectedLog) -> LogVerification {
    world.store.read().await.unwrap().audit_verify_expecting(account_id, expected).await.unwrap()
}

async fn fault(world: &World, account_id: &AccountId) -> Option<String> {
    match verified(world, account_id, &ExpectedLog::default()).await {
        LogVerification::Intact { .. } => None,
        LogVerification::Broken { reason, .. } => Some(reason),
    }
}

/// An account with five entries, the first three of which are archived, and the checkpoint of the third.
async fn archived_account(world: &World, name: &str) -> (AccountId, Checkpoint) {
    let account = world.account(name).await;
    world.audited(&account, &["a", "b", "c"]).await;
    let checkpoint = sign(world, &account, 3).await;
    world.audited(&account, &["d", "e"]).await;
    assert_eq!(archive(&world.store, &account, &in_file(&checkpoint)).await, Some(3));
    (account, checkpoint)
}

#[test]
fn the_remaining_log_continues_the_archived_entries_and_records_the_archiving() {
    on_both(|world| async move {
        let (acme, checkpoint) = archived_account(&world, "acme").await;
        let mut reading = world.store.read().await.unwrap();
        let anchor = reading.audit_anchor(&acme).await.unwrap().unwrap();
        assert_eq!(anchor, AuditHead { seq: 3, hash: checkpoint.hash.clone() });
        let entries = reading.audit(&acme, None, i64::MAX, 9).await.unwrap();
        assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [6, 5, 4]);
        assert_eq!((entries[0].action.as_str(), entries[0].target_kind.as_str()), ("audit.archive", "audit"));
        assert!(entries[0].detail.contains("audit.jsonl") && entries[0].detail.contains(&checkpoint.hash));
        assert_eq!(entries[2].previous_hash, checkpoint.hash);
        let intact = verified(&world, &acme, &ExpectedLog::default()).await;
        assert_eq!(intact, LogVerification::Intact { entries: 6, head: entries[0].hash.clone() });
        assert!(world.store.check().await.unwrap().iter().all(|checked| checked.fault.is_none()));

        // Once more: this time the archived entries include the one that records the first archiving.
        let second = sign(&world, &acme, 6).await;
        assert_eq!(archive(&world.store, &acme, &in_file(&second)).await, Some(3));
        assert_eq!(fault(&world, &acme).await, None);
        world.audited(&acme, &["f"]).await;
        let verified = verified(&world, &acme, &ExpectedLog::default()).await;
        assert!(matches!(verified, LogVerification::Intact { entries: 8, .. }), "{verified:?}");
    });
}

#[test]
fn entries_that_are_not_in_the_log_are_not_archived() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b"]).await;
        let checkpoint = sign(&world, &acme, 2).await;
        for other in
            [Checkpoint { seq: 1, ..checkpoint.clone() }, Checkpoint { seq: 3, ..checkpoint.clone() }]
        {
            assert_eq!(archive(&world.store, &acme, &in_file(&other)).await, None);
        }
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.audit(&acme, None, i64::MAX, 9).await.unwrap().len(), 2);
        assert_eq!(reading.audit_anchor(&acme).await.unwrap(), None);
    });
}

#[test]
fn the_newest_checkpoint_within_the_limit_is_found() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c", "d"]).await;
        // Signed at second 2 and 4.
        let (two, four) = (sign(&world, &acme, 2).await, sign(&world, &acme, 4).await);
        let mut reading = world.store.read().await.unwrap();
        for (limit, expected) in [
            (ArchiveLimit::UpTo(1), None),
            (ArchiveLimit::UpTo(3), Some(&two)),
            (ArchiveLimit::UpTo(i64::MAX), Some(&four)),
            (ArchiveLimit::Before(at(2)), None),
            (ArchiveLimit::Before(at(3)), Some(&two)),
            (ArchiveLimit::Before(at(5)), Some(&four)),
        ] {
            let found = reading.checkpoint_within(&acme, limit).await.unwrap();
            assert_eq!(found.as_ref(), expected, "{limit:?}");
        }
    });
}

#[test]
fn an_invalid_archive_does_not_verify() {
    let cases = [
        ("the anchor is deleted", "DELETE FROM audit_anchors WHERE account_id = '{}'", "entry 1 is missing"),
        (
            "the anchor is another entry's",
            "UPDATE audit_anchors SET hash = 'x' WHERE account_id = '{}'",
            "its checkpoint differs",
        ),
        (
            "the anchor's checkpoint is another",
            "UPDATE audit_checkpoints SET hash = 'x' WHERE account_id = '{}'",
            "its checkpoint differs",
        ),
        (
            "an entry after the anchor is deleted",
            "DELETE FROM audit WHERE seq = 4 AND account_id = '{}'",
            "entry 4 is missing",
        ),
        (
            "an archived entry is put back",
            "UPDATE audit SET seq = 2 WHERE seq = 4 AND account_id = '{}'",
            "inserted before the first",
        ),
    ];
    on_both(|world| async move {
        for (number, (what, statement, expected)) in cases.into_iter().enumerate() {
            let (account, _) = archived_account(&world, &format!("acme-{number}")).await;
            assert_eq!(fault(&world, &account).await, None, "{what}");
            assert!(world.tamper(&statement.replace("{}", account.as_str())).await > 0, "{what}");
            let found = fault(&world, &account).await.unwrap_or_else(|| panic!("{what} is not found"));
            assert!(found.contains(expected), "{what}: {found}");
        }
    });
}

#[test]
fn manually_deleted_entries_are_not_accepted_as_archived() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c", "d"]).await;
        let checkpoint = sign(&world, &acme, 3).await;
        world.tamper(&format!("DELETE FROM audit WHERE account_id = '{acme}' AND seq <= 3")).await;
        let anchor = format!("'{acme}', 3, '{}', 0", checkpoint.hash);
        world
            .tamper(&format!(
                "INSERT INTO audit_anchors (account_id, seq, hash, archived_at) VALUES ({anchor})"
            ))
            .await;
        let found = fault(&world, &acme).await.unwrap();
        assert!(found.contains("no entry records"), "{found}");
    });
}

#[test]
fn known_entries_are_checked_unless_they_are_archived() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c", "d"]).await;
        let mut heads = Vec::new();
        for entry in world.store.read().await.unwrap().audit(&acme, None, i64::MAX, 9).await.unwrap() {
            heads.insert(0, AuditHead { seq: entry.seq, hash: entry.hash });
        }
        let checkpoint = sign(&world, &acme, 3).await;
        archive(&world.store, &acme, &in_file(&checkpoint)).await;
        let other = |seq: i64| AuditHead { seq, hash: "another".to_owned() };
        let mut reading = world.store.read().await.unwrap();
        for (seen, is_intact) in [
            (heads[0].clone(), true),
            (heads[2].clone(), true),
            (heads[3].clone(), true),
            (other(3), false),
            (other(4), false),
        ] {
            let through = reading.audit_verify_through(&acme, [seen.clone()]).await.unwrap();
            assert_eq!(matches!(through, LogVerification::Intact { .. }), is_intact, "{seen:?}: {through:?}");
            let expected = ExpectedLog { hash: None, seen: Some(seen.clone()) };
            let expecting = reading.audit_verify_expecting(&acme, &expected).await.unwrap();
            assert_eq!(
                matches!(expecting, LogVerification::Intact { .. }),
                is_intact,
                "{seen:?}: {expecting:?}"
            );
        }
        for (index, is_intact) in [(2, true), (3, true), (0, false)] {
            let expected = ExpectedLog { hash: Some(heads[index].hash.clone()), seen: None };
            let found = reading.audit_verify_expecting(&acme, &expected).await.unwrap();
            assert_eq!(matches!(found, LogVerification::Intact { .. }), is_intact, "{index}: {found:?}");
        }
    });
}

#[test]
fn entries_from_any_source_are_checked() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c"]).await;
        let entries = world.store.read().await.unwrap().audit_between(&acme, 0, 2).await.unwrap();
        let mut chain = ChainCheck::after(&acme, AuditHead::default());
        assert!(entries.iter().all(|entry| chain.check(entry).is_ok()));
        assert_eq!(chain.head().seq, 2);
        let mut chain = ChainCheck::after(&AccountId::new("another"), AuditHead::default());
        assert!(chain.check(&entries[0]).is_err());
        let mut chain = ChainCheck::after(&acme, AuditHead::default());
        assert!(chain.check(&entries[1]).is_err());
    });
}

#[test]
fn a_log_that_is_archived_while_it_is_checked_is_intact() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (store, account) = (world.store.clone(), acme.clone());
        let writer = tokio::spawn(async move {
            for _ in 0..20 {
                let mut writing = store.write_account(&account).await.unwrap();
                (0..5).for_each(|number| writing.audit(entry(&format!("edge-{number}"))));
                writing.commit().await.unwrap();
                let last =
                    store.read().await.unwrap().audit(&account, None, i64::MAX, 1).await.unwrap().remove(0);
                let checkpoint = Checkpoint {
                    account_id: account.clone(),
                    seq: last.seq,
                    hash: last.hash,
                    at: at(1),
                    key_id: AuditKeyId::new("key"),
                    signature: "signature".to_owned(),
                };
                let mut writing = store.write().await.unwrap();
                writing.checkpoint_add(&checkpoint, None).await.unwrap();
                writing.commit().await.unwrap();
                archive(&store, &account, &in_file(&checkpoint)).await.unwrap();
            }
        });
        while !writer.is_finished() {
            assert_eq!(fault(&world, &acme).await, None);
        }
        writer.await.unwrap();
        assert_eq!(fault(&world, &acme).await, None);
    });
}
