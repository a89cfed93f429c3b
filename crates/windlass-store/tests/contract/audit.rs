//! The audit log: its content, and the detection of every change to it.

use windlass_core::id::{AccountId, TokenId, UserId};
use windlass_core::resource::Kind;
use windlass_store::{Actor, AuditEntry, LogVerification, Outcome};

use crate::world::{World, at, entry, node_key, on_both};

async fn verified(world: &World, account_id: &AccountId) -> LogVerification {
    world.store.read().await.unwrap().audit_verify(account_id).await.unwrap()
}

async fn broken_at(world: &World, account_id: &AccountId) -> Option<i64> {
    match verified(world, account_id).await {
        LogVerification::Broken { seq, .. } => Some(seq),
        LogVerification::Intact { .. } => None,
    }
}

#[test]
fn entries_are_read_as_written_newest_first() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let actor = Actor {
            name: "token deploy (ada@example.com)".to_owned(),
            id: Some(UserId::new("ada")),
            token_id: Some(TokenId::new("token")),
            address: Some("192.0.2.1".to_owned()),
            request_id: Some("request".to_owned()),
        };
        let made = AuditEntry { actor: actor.clone(), outcome: Outcome::Refused, ..entry("edge \"ü\"") };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.audit(made.clone());
        writing.commit().await.unwrap();
        world.audited(&acme, &["b", "c", "b"]).await;
        let mut reading = world.store.read().await.unwrap();
        let all = reading.audit(&acme, None, i64::MAX, 9).await.unwrap();
        assert_eq!(all.iter().map(|it| it.seq).collect::<Vec<_>>(), [4, 3, 2, 1]);
        let first = &all[3];
        assert_eq!((&first.actor, first.outcome.as_str()), (&actor, Outcome::Refused.slug()));
        assert_eq!((first.action.as_str(), first.target.as_str()), (made.action, made.target.as_str()));
        assert_eq!(
            (first.before.as_deref(), first.after.clone()),
            (None, made.after.map(|it| it.to_string()))
        );
        assert_eq!((first.detail.as_str(), first.at), (r#"{"why":"because"}"#, made.at));
        assert_eq!((first.previous_hash.as_str(), &all[2].previous_hash), ("", &first.hash));
        let of_one = reading.audit(&acme, Some(("node", "b")), i64::MAX, 9).await.unwrap();
        assert_eq!(of_one.iter().map(|it| it.seq).collect::<Vec<_>>(), [4, 2]);
        assert_eq!(reading.audit(&acme, None, 3, 1).await.unwrap()[0].seq, 2);
    });
}

#[test]
fn an_unmodified_log_is_intact_with_any_content() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        assert_eq!(
            verified(&world, &acme).await,
            LogVerification::Intact { entries: 0, head: String::new() }
        );
        world.audited(&acme, &["a\0b", "\u{fffe}", "", "it's \"ü\""]).await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        (0..5_000).for_each(|number| writing.audit(entry(&format!("edge-{number}"))));
        writing.commit().await.unwrap();
        world.audited(&AccountId::installation(), &["installed"]).await;
        let mut reading = world.store.read().await.unwrap();
        let last = reading.audit(&acme, None, i64::MAX, 1).await.unwrap().remove(0);
        assert_eq!(
            verified(&world, &acme).await,
            LogVerification::Intact { entries: 5_004, head: last.hash }
        );
        assert!(matches!(
            verified(&world, &AccountId::installation()).await,
            LogVerification::Intact { entries: 1, .. }
        ));
        assert!(matches!(
            verified(&world, &AccountId::new("nobody")).await,
            LogVerification::Intact { entries: 0, .. }
        ));
    });
}

#[test]
fn a_modified_field_is_detected_in_every_column() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.audited(&acme, &["a", "b", "c"]).await;
        for column in [
            "actor",
            "actor_id",
            "token_id",
            "address",
            "request_id",
            "action",
            "target_kind",
            "target",
            "outcome",
            "before_digest",
            "after_digest",
            "detail",
            "previous_hash",
            "hash",
        ] {
            let keep = format!(
                "INSERT INTO settings (name, value) SELECT 'kept', {column} FROM audit WHERE seq = 2"
            );
            let is_text =
                !matches!(column, "actor_id" | "token_id" | "address" | "request_id" | "before_digest");
            if is_text {
                world.tamper(&keep).await;
            }
            world.tamper(&format!("UPDATE audit SET {column} = 'x' WHERE seq = 2")).await;
            assert_eq!(broken_at(&world, &acme).await, Some(2), "{column}");
            let undo = if is_text { "(SELECT value FROM settings WHERE name = 'kept')" } else { "NULL" };
            world.tamper(&format!("UPDATE audit SET {column} = {undo} WHERE seq = 2")).await;
            world.tamper("DELETE FROM settings").await;
            assert_eq!(broken_at(&world, &acme).await, None, "{column}");
        }
        world.tamper("UPDATE audit SET at = at + 1 WHERE seq = 3").await;
        assert_eq!(broken_at(&world, &acme).await, Some(3));
    });
}

#[test]
fn deleted_moved_and_inserted_entries_are_detected() {
    const COLUMNS: &str =
        "account_id, seq, at, actor, action, target_kind, target, outcome, detail, previous_hash, hash";
    const COPY: &str =
        "at, actor, action, target_kind, target, outcome, detail, previous_hash, hash FROM audit";
    let copy = |account: &str, seq: &str, from: i64| {
        format!("INSERT INTO audit ({COLUMNS}) SELECT {account}, {seq}, {COPY} WHERE seq = {from}")
    };
    let cases = [
        ("the first is deleted", vec!["DELETE FROM audit WHERE seq = 1".to_owned()], 1),
        ("one in the middle is deleted", vec!["DELETE FROM audit WHERE seq = 3".to_owned()], 3),
        ("the last is deleted", vec!["DELETE FROM audit WHERE seq = 5".to_owned()], 5),
        ("all are deleted", vec!["DELETE FROM audit".to_owned()], 1),
        (
            "one is deleted and the rest move up",
            vec![
                "DELETE FROM audit WHERE seq = 3".to_owned(),
                "UPDATE audit SET seq = 3 WHERE seq = 4".to_owned(),
                "UPDATE audit SET seq = 4 WHERE seq = 5".to_owned(),
            ],
            3,
        ),
        (
            "two change places",
            vec![
                "UPDATE audit SET seq = 99 WHERE seq = 2".to_owned(),
                "UPDATE audit SET seq = 2 WHERE seq = 3".to_owned(),
                "UPDATE audit SET seq = 3 WHERE seq = 99".to_owned(),
            ],
            2,
        ),
        ("one is put in behind", vec![copy("account_id", "6", 5)], 6),
        ("one is put in before the first", vec![copy("account_id", "0", 1)], 0),
        ("one is put in far before the first", vec![copy("account_id", "-7", 1)], -7),
        ("the log's end is forgotten", vec!["DELETE FROM chains WHERE account_id <> ''".to_owned()], 5),
        (
            "the log's end is set back",
            vec!["UPDATE chains SET audit_seq = 4 WHERE account_id <> ''".to_owned()],
            5,
        ),
    ];
    on_both(|world| {
        let cases = cases.clone();
        async move {
            for (number, (what, statements, seq)) in cases.into_iter().enumerate() {
                let account = world.account(&format!("acme-{number}")).await;
                world.audited(&account, &["a", "b", "c", "d", "e"]).await;
                assert_eq!(broken_at(&world, &account).await, None, "{what}");
                for statement in statements {
                    assert!(world.tamper(&statement).await > 0, "{statement}");
                }
                assert_eq!(broken_at(&world, &account).await, Some(seq), "{what}");
                world.tamper("DELETE FROM audit").await;
            }
        }
    });
}

#[test]
fn entries_of_another_account_do_not_verify() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        world.audited(&acme, &["a", "b"]).await;
        world.audited(&other, &["a", "b"]).await;
        world.tamper(&format!("DELETE FROM audit WHERE account_id = '{acme}'")).await;
        world.tamper(&format!("UPDATE audit SET account_id = '{acme}'")).await;
        assert_eq!(broken_at(&world, &acme).await, Some(1));
        assert_eq!(broken_at(&world, &other).await, Some(1));
    });
}

#[test]
fn a_log_that_is_written_while_it_is_checked_is_intact() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (store, account) = (world.store.clone(), acme.clone());
        let writer = tokio::spawn(async move {
            for number in 0..150 {
                let mut writing = store.write_account(&account).await.unwrap();
                writing.audit(entry(&format!("edge-{number}")));
                writing.commit().await.unwrap();
            }
        });
        let mut checks = 0;
        while !writer.is_finished() {
            let found = verified(&world, &acme).await;
            assert!(matches!(found, LogVerification::Intact { .. }), "{found:?}");
            checks += 1;
        }
        writer.await.unwrap();
        assert!(checks > 0);
        assert!(matches!(verified(&world, &acme).await, LogVerification::Intact { entries: 150, .. }));
    });
}

#[test]
fn the_last_changes_of_several_resources_are_found_in_one_query() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let mut writing = world.store.write_account(&acme).await.unwrap();
        for (who, target, second) in [("ada", "a", 1), ("bob", "a", 2), ("eve", "b", 3)] {
            let mut entry = entry(target);
            entry.actor.name = who.to_owned();
            entry.at = at(second);
            writing.audit(entry);
        }
        writing.commit().await.unwrap();
        let keys = [node_key("a"), node_key("b"), node_key("c")];
        let mut reading = world.store.read().await.unwrap();
        let found = reading.audit_last_changes(&acme, &keys).await.unwrap();
        assert_eq!(found.get(Kind::Node, "a"), Some(&("bob".to_owned(), at(2))));
        assert_eq!(found.get(Kind::Node, "b"), Some(&("eve".to_owned(), at(3))));
        assert_eq!(found.len(), 2);
        assert!(reading.audit_last_changes(&other, &keys).await.unwrap().is_empty());
    });
}
