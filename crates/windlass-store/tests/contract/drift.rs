//! Reported drift and accepted drift.

use serde_json::json;
use windlass_core::drift::Acceptance;
use windlass_core::id::RepositoryId;
use windlass_store::{Drift, NewDesiredResource};

use crate::world::{at, node, node_key, on_both, plenty};

#[test]
fn an_acceptance_is_stored_replaced_withdrawn_and_expires() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let accepted = |name: &str, until: Option<i64>| Acceptance {
            key: node_key(name),
            desired: Some(node("eu").digest()),
            accepted: None,
            until: until.map(at),
            reason: "it's meant".to_owned(),
            by: "ada".to_owned(),
            at: at(1),
        };
        let mut writing = world.store.write().await.unwrap();
        for acceptance in
            [accepted("b", None), accepted("a", Some(5)), accepted("a", Some(9)), accepted("c", Some(6))]
        {
            writing.acceptance_put(&fleet.id, &acceptance).await.unwrap();
        }
        let all = [accepted("a", Some(9)), accepted("b", None), accepted("c", Some(6))];
        assert_eq!(writing.acceptances(&fleet.id).await.unwrap(), all);
        let (a, b, d) = (node_key("a"), node_key("b"), node_key("d"));
        let eu = node("eu");
        let wanted = NewDesiredResource {
            name: "b",
            kind: b.kind,
            spec: &eu,
            digest: eu.digest(),
            file: "fleet.yaml",
        };
        writing.desired_replace(&fleet.id, &[wanted]).await.unwrap();
        let among = [(&fleet.id, &a), (&fleet.id, &b), (&fleet.id, &d), (&RepositoryId::new("other"), &a)];
        let mut found = writing.acceptances_among(&among).await.unwrap();
        found.sort_by(|one, other| one.0.key.cmp(&other.0.key));
        assert_eq!(found, [(accepted("a", Some(9)), None), (accepted("b", None), Some(eu.digest()))]);
        assert_eq!(writing.acceptances_delete_old(at(6), &mut plenty()).await.unwrap(), 1);
        assert!(writing.acceptance_remove(&fleet.id, &node_key("a")).await.unwrap());
        assert!(!writing.acceptance_remove(&fleet.id, &node_key("a")).await.unwrap());
        assert_eq!(writing.acceptances(&fleet.id).await.unwrap(), [accepted("b", None)]);
    });
}

#[test]
fn drift_is_stored_updated_counted_and_resolved() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let drifted = |name: &str, by: &str| Drift {
            key: node_key(name),
            desired: Some(node("eu").digest()),
            accepted: Some(node("us").digest()),
            fields: json!([{ "path": "region", "ü": 0.1 }]),
            changed_by: by.to_owned(),
            changed_at: at(1),
            detected_at: at(2),
        };
        let mut writing = world.store.write().await.unwrap();
        for drift in [drifted("b", "ada"), drifted("a", "ada"), drifted("a", "bob")] {
            writing.drifts_put(&fleet.id, &[drift]).await.unwrap();
        }
        assert_eq!(writing.drifts(&fleet.id).await.unwrap(), [drifted("a", "bob"), drifted("b", "ada")]);
        assert_eq!(writing.drifts_count(&acme).await.unwrap(), 2);
        let (a, c) = (node_key("a"), node_key("c"));
        let among = [(&fleet.id, &a), (&fleet.id, &c), (&RepositoryId::new("another"), &a)];
        assert_eq!(writing.drifted_among(&among).await.unwrap(), [node_key("a")]);
        assert_eq!(writing.drifted_among(&[]).await.unwrap(), []);
        let keys = [node_key("a"), node_key("unknown")];
        assert_eq!(writing.drifts_remove(&fleet.id, &keys).await.unwrap(), 1);
        assert_eq!(writing.drifts_remove(&fleet.id, &keys).await.unwrap(), 0);
        assert_eq!(writing.drifts_count(&acme).await.unwrap(), 1);
    });
}
