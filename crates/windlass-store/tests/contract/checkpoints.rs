//! Checkpoints: their content, and that a rewritten log does not match them.

use windlass_core::id::{AccountId, AuditKeyId};
use windlass_store::{AuditHead, AuditKey, Checkpoint, ExpectedLog, LogVerification};

use crate::world::{World, at, on_both, on_sqlite};

fn checkpoint(account_id: &AccountId, seq: i64, hash: &str) -> Checkpoint {
    Checkpoint {
        account_id: account_id.clone(),
        seq,
        hash: hash.to_owned(),
        at: at(seq),
        key_id: AuditKeyId::new("key"),
        signature: "signature".to_owned(),
    }
}

async fn hash_of(world: &World, account_id: &AccountId, seq: i64) -> String {
    let mut reading = world.store.read().await.unwrap();
    reading.audit(account_id, None, seq + 1, 1).await.unwrap().remove(0).hash
}

pub(crate) async fn sign(world: &World, account_id: &AccountId, seq: i64) -> Checkpoint {
    let made = checkpoint(account_id, seq, &hash_of(world, account_id, seq).await);
    let mut writing = world.store.write().await.unwrap();
    assert!(writing.checkpoint_add(&made, None).await.unwrap());
    assert!(!writing.checkpoint_add(&made, None).await.unwrap(), "one for each entry");
    writing.commit().await.unwrap();
    made
}

async fn verified(world: &World, account_id: &AccountId, expected: &ExpectedLog) -> LogVerification {
    world.store.read().await.unwrap().audit_verify_expecting(account_id, expected).await.unwrap()
}

#[test]
fn checkpoints_are_listed_and_sent_and_keys_are_stored() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c"]).await;
        world.audited(&AccountId::installation(), &["installed"]).await;
        let (one, three) = (sign(&world, &acme, 1).await, sign(&world, &acme, 3).await);
        let whole = sign(&world, &AccountId::installation(), 1).await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.checkpoints(&acme, i64::MAX, 9).await.unwrap(), [three.clone(), one.clone()]);
        assert_eq!(reading.checkpoints(&acme, 3, 9).await.unwrap(), std::slice::from_ref(&one));
        assert_eq!(
            reading.checkpoints(&AccountId::installation(), i64::MAX, 9).await.unwrap(),
            std::slice::from_ref(&whole)
        );
        assert_eq!(reading.checkpoints_unsent(9).await.unwrap().len(), 3);
        let mut writing = world.store.write().await.unwrap();
        writing.checkpoint_mark_sent(&one, at(9)).await.unwrap();
        writing.checkpoint_mark_sent(&whole, at(9)).await.unwrap();
        let key = AuditKey {
            id: AuditKeyId::new("key"),
            public_key: "public".to_owned(),
            previous_id: None,
            endorsement: None,
            acknowledgement: Some("signed".to_owned()),
            created_at: at(1),
        };
        assert!(writing.audit_key_add(&key).await.unwrap());
        assert!(!writing.audit_key_add(&key).await.unwrap());
        writing.commit().await.unwrap();
        assert_eq!(reading.checkpoints_unsent(9).await.unwrap(), std::slice::from_ref(&three));
        assert_eq!(reading.audit_keys().await.unwrap(), [key]);
        let heads = reading.audit_heads().await.unwrap();
        let head = AuditHead { seq: 3, hash: three.hash };
        assert!(heads.contains(&(acme, head)), "{heads:?}");
    });
}

#[test]
fn a_rewritten_log_with_correct_hashes_does_not_match_its_checkpoints() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c"]).await;
        let kept = sign(&world, &acme, 2).await;
        let seen = AuditHead { seq: 2, hash: kept.hash.clone() };
        // Someone with write access to the database can do this: the same log with "x" instead of "b" and correct
        // hashes.
        world.tamper(&format!("DELETE FROM audit WHERE account_id = '{acme}'")).await;
        world
            .tamper(&format!("UPDATE chains SET audit_seq = 0, audit_hash = '' WHERE account_id = '{acme}'"))
            .await;
        world.audited(&acme, &["a", "x", "c"]).await;
        let broken = |verified: LogVerification| match verified {
            LogVerification::Broken { seq, reason } => (seq, reason),
            LogVerification::Intact { .. } => panic!("it is not"),
        };
        let (seq, reason) = broken(verified(&world, &acme, &ExpectedLog::default()).await);
        assert!(seq == 2 && reason.contains("the log was rewritten"), "{seq}: {reason}");
        // With the checkpoints deleted, only a hash that is stored elsewhere reveals it.
        world.tamper(&format!("DELETE FROM audit_checkpoints WHERE account_id = '{acme}'")).await;
        let alone = verified(&world, &acme, &ExpectedLog::default()).await;
        assert!(matches!(alone, LogVerification::Intact { entries: 3, .. }), "{alone:?}");
        let expected = ExpectedLog { hash: Some(kept.hash.clone()), seen: None };
        assert!(
            broken(verified(&world, &acme, &expected).await).1.contains("no entry has the expected hash")
        );
        let expected = ExpectedLog { hash: None, seen: Some(seen.clone()) };
        assert!(broken(verified(&world, &acme, &expected).await).1.contains("the log was rewritten"));
        let after = world.store.read().await.unwrap().audit_verify_through(&acme, [seen]).await.unwrap();
        assert!(broken(after).1.contains("does not follow"));
    });
}

#[test]
fn a_truncated_log_does_not_match_its_checkpoints_and_an_unmodified_one_does() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c"]).await;
        let last = sign(&world, &acme, 3).await;
        let second = hash_of(&world, &acme, 2).await;
        for hash in [&last.hash, &second] {
            let expected = ExpectedLog { hash: Some(hash.clone()), seen: None };
            let verified = verified(&world, &acme, &expected).await;
            assert!(matches!(verified, LogVerification::Intact { entries: 3, .. }), "{verified:?}");
        }
        let good = AuditHead { seq: 2, hash: second.clone() };
        let after = world.store.read().await.unwrap().audit_verify_through(&acme, [good]).await.unwrap();
        assert_eq!(after, LogVerification::Intact { entries: 3, head: last.hash });
        let first = AuditHead { seq: 1, hash: hash_of(&world, &acme, 1).await };
        for (hash, is_intact) in [(second.as_str(), true), ("another", false)] {
            let heads = [AuditHead { seq: 2, hash: hash.to_owned() }, first.clone()];
            let through = world.store.read().await.unwrap().audit_verify_through(&acme, heads).await.unwrap();
            assert_eq!(
                matches!(through, LogVerification::Intact { entries: 3, .. }),
                is_intact,
                "{through:?}"
            );
        }
        world.tamper(&format!("DELETE FROM audit WHERE account_id = '{acme}' AND seq = 3")).await;
        world
            .tamper(&format!(
                "UPDATE chains SET audit_seq = 2, audit_hash = '{second}' WHERE account_id = '{acme}'"
            ))
            .await;
        let cut = verified(&world, &acme, &ExpectedLog::default()).await;
        assert!(matches!(cut, LogVerification::Broken { seq: 2, .. }), "{cut:?}");
    });
}

#[test]
fn the_files_of_a_database_are_private_and_an_erased_setting_leaves_no_copy() {
    use std::os::unix::fs::PermissionsExt as _;
    on_sqlite(|world| async move {
        let file = |suffix: &str| world.directory.path().join(format!("windlass.db{suffix}"));
        let secret = "a-setting-that-must-not-stay-anywhere";
        let mut writing = world.store.write().await.unwrap();
        writing.setting_put("planted", secret).await.unwrap();
        writing.commit().await.unwrap();
        for suffix in ["", "-wal", "-shm"] {
            let mode = std::fs::metadata(file(suffix)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{suffix}: {mode:o}");
        }
        let holds = || {
            let read = |suffix: &&str| std::fs::read(file(suffix)).unwrap_or_default();
            let is_in =
                |bytes: Vec<u8>| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            ["", "-wal"].iter().map(read).any(is_in)
        };
        assert!(holds());
        world.store.erase_setting("planted").await.unwrap();
        assert!(!holds());
        assert_eq!(world.store.read().await.unwrap().setting("planted").await.unwrap(), None);
    });
}

#[test]
fn an_erased_setting_is_gone_on_both() {
    on_both(|world| async move {
        let mut writing = world.store.write().await.unwrap();
        writing.setting_put("a", "1").await.unwrap();
        writing.setting_put("b", "2").await.unwrap();
        writing.commit().await.unwrap();
        world.store.erase_setting("a").await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.setting("a").await.unwrap(), None);
        assert_eq!(reading.setting("b").await.unwrap().as_deref(), Some("2"));
    });
}
