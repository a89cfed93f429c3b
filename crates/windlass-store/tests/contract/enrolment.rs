//! Enrolment: tokens, nodes that wait to join, certificates, contacts, and what servers with streams read.

use std::collections::BTreeMap;

use windlass_core::digest::Digest;
use windlass_core::enrolment::{
    EnrolmentScope, EnrolmentToken, JoinPolicy, JoinState, NodeJoin, NodeSelector,
};
use windlass_core::id::{AccountId, AgentId};
use windlass_core::observed::{Generation, LastContact};
use windlass_store::{
    AgentCertificate, AgentContact, JoinMove, NewAssignment, RemoteNews, RowBudget, Store, StoreError, new_id,
};

use crate::world::{at, node_key, on_both, on_postgres};

fn token(account_id: &AccountId, scope: EnrolmentScope, max_uses: u64) -> EnrolmentToken {
    EnrolmentToken {
        id: new_id(),
        account_id: account_id.clone(),
        scope,
        policy: JoinPolicy::Approve,
        max_uses,
        uses: 0,
        created_by: "ada@example.com".to_owned(),
        created_at: at(1),
        expires_at: at(100),
        revoked_at: None,
    }
}

fn for_edge(account_id: &AccountId) -> EnrolmentToken {
    token(account_id, EnrolmentScope::Target(node_key("edge")), 1)
}

fn batch() -> EnrolmentScope {
    let labels = BTreeMap::from([("env".to_owned(), "prod".to_owned())]);
    let selector = NodeSelector::new(labels, Some("edge-*".to_owned())).unwrap();
    EnrolmentScope::Nodes(selector)
}

async fn add(store: &Store, token: &EnrolmentToken, hash: &str) {
    let mut writing = store.write_account(&token.account_id).await.unwrap();
    writing.enrolment_token_add(token, hash).await.unwrap();
    writing.commit().await.unwrap();
}

#[test]
fn a_token_reads_back_as_it_was_stored_and_is_listed_while_it_can_be_used() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (one, several) = (for_edge(&acme), token(&acme, batch(), 3));
        add(&world.store, &one, "hash-1").await;
        add(&world.store, &several, "hash-2").await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.enrolment_token_by_hash("hash-1").await.unwrap(), Some(one.clone()));
        assert_eq!(reading.enrolment_token_by_hash("hash-2").await.unwrap(), Some(several.clone()));
        assert_eq!(reading.enrolment_token_by_hash("hash-3").await.unwrap(), None);
        let open = reading.enrolment_tokens(&acme, at(50), 10).await.unwrap();
        assert_eq!(open, [several.clone(), one.clone()]);
        assert!(reading.enrolment_tokens(&acme, at(100), 10).await.unwrap().is_empty(), "expired");
        assert!(reading.enrolment_tokens(&other, at(50), 10).await.unwrap().is_empty());
        drop(reading);
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert!(!writing.enrolment_token_revoke(&other, &one.id, at(60)).await.unwrap());
        assert!(writing.enrolment_token_revoke(&acme, &one.id, at(60)).await.unwrap());
        assert!(!writing.enrolment_token_revoke(&acme, &one.id, at(61)).await.unwrap());
        assert!(!writing.enrolment_token_use(&one.id, at(62)).await.unwrap(), "revoked");
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.enrolment_tokens(&acme, at(62), 10).await.unwrap(), [several]);
        let revoked = reading.enrolment_token_by_hash("hash-1").await.unwrap().unwrap();
        assert_eq!((revoked.revoked_at, revoked.uses), (Some(at(60)), 0));
    });
}

/// Enrols with a token in one transaction, as a server does. None if the token cannot be used.
async fn enrol(store: &Store, token: &EnrolmentToken, second: i64) -> Result<Option<AgentId>, StoreError> {
    let mut writing = store.write_account(&token.account_id).await?;
    if !writing.enrolment_token_use(&token.id, at(second)).await? {
        return Ok(None);
    }
    let agent = writing.agent_enrol(&node_key("edge"), at(second)).await?;
    writing.commit().await?;
    Ok(Some(agent.id))
}

#[test]
fn of_two_agents_that_enrol_with_one_token_at_the_same_time_exactly_one_succeeds() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for round in 0..5 {
            let token = for_edge(&acme);
            add(&world.store, &token, &format!("hash-{round}")).await;
            let racers = (enrol(&world.store, &token, 2), enrol(&world.store, &token, 2));
            let (one, other) = tokio::join!(racers.0, racers.1);
            let enrolled: Vec<AgentId> = [one, other].into_iter().filter_map(|it| it.unwrap()).collect();
            assert_eq!(enrolled.len(), 1, "{enrolled:?}");
            let mut reading = world.store.read().await.unwrap();
            let agent = reading.agent_of(&acme, &node_key("edge")).await.unwrap().unwrap();
            assert_eq!(agent.id, enrolled[0]);
            assert_eq!(reading.agent(&agent.id).await.unwrap(), Some(agent));
        }
    });
}

#[test]
fn a_token_is_not_used_if_the_enrolment_fails_and_not_after_its_time() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let token = for_edge(&acme);
        add(&world.store, &token, "hash").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert!(writing.enrolment_token_use(&token.id, at(2)).await.unwrap());
        drop(writing);
        assert_eq!(enrol(&world.store, &token, 100).await.unwrap(), None, "expired");
        assert!(
            enrol(&world.store, &token, 99).await.unwrap().is_some(),
            "the first attempt was rolled back"
        );
        assert_eq!(enrol(&world.store, &token, 99).await.unwrap(), None, "used");
    });
}

#[test]
fn a_node_has_one_open_join_and_a_decision_needs_the_expected_state() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let join = NodeJoin {
            id: new_id(),
            account_id: acme.clone(),
            token_id: new_id(),
            target: node_key("edge"),
            public_key: "00ff".to_owned(),
            address: "192.0.2.1".to_owned(),
            state: JoinState::Pending,
            created_at: at(1),
            decided_at: None,
            decided_by: None,
        };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.node_join_add(&join).await.unwrap();
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let second = NodeJoin { id: new_id(), public_key: "11".to_owned(), ..join.clone() };
        let taken = writing.node_join_add(&second).await;
        assert!(matches!(taken, Err(StoreError::Taken(_))), "{taken:?}");
        drop(writing);

        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.node_joins(&acme, 10).await.unwrap(), std::slice::from_ref(&join));
        assert_eq!(
            reading.node_joins_of(&acme, &node_key("edge"), 10).await.unwrap(),
            std::slice::from_ref(&join)
        );
        assert_eq!(reading.node_join(&acme, &join.id).await.unwrap(), Some(join.clone()));
        assert_eq!(reading.node_join(&other, &join.id).await.unwrap(), None);
        drop(reading);

        let step = |from, to| JoinMove { from, to, by: "ada", at: at(5) };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let reject = step(JoinState::Pending, JoinState::Rejected);
        assert!(writing.node_join_move(&join.id, reject).await.unwrap());
        assert!(!writing.node_join_move(&join.id, reject).await.unwrap());
        writing.node_join_add(&second).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.node_joins(&acme, 10).await.unwrap(), [second]);
        let rejected = reading.node_join(&acme, &join.id).await.unwrap().unwrap();
        assert_eq!((rejected.decided_by.as_deref(), rejected.decided_at), (Some("ada"), Some(at(5))));
    });
}

#[test]
fn contacts_of_many_agents_are_stored_at_once_and_never_move_back() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let first = writing.agent_enrol(&node_key("first"), at(1)).await.unwrap();
        let second = writing.agent_enrol(&node_key("second"), at(1)).await.unwrap();
        let revoked = writing.agent_enrol(&node_key("revoked"), at(1)).await.unwrap();
        writing.agent_revoke(&node_key("revoked"), at(2)).await.unwrap();
        writing.commit().await.unwrap();
        let contact = |id: &AgentId, second| AgentContact { id: id.clone(), at: at(second) };
        let contacts = [contact(&first.id, 5), contact(&second.id, 6), contact(&revoked.id, 7)];
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.agents_contacted(&contacts).await.unwrap(), 2);
        assert_eq!(writing.agents_contacted(&[contact(&first.id, 4)]).await.unwrap(), 0);
        assert_eq!(writing.agents_contacted(&[]).await.unwrap(), 0);
        let certificate = AgentCertificate { agent_version: "1.2", serial: "0f", expires_at: at(90) };
        assert!(writing.agent_certified(&first.id, certificate).await.unwrap());
        assert!(!writing.agent_certified(&revoked.id, certificate).await.unwrap(), "revoked");
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let last = reading.agents(&acme).await.unwrap().into_iter().map(|agent| agent.last_contact);
        assert_eq!(last.collect::<Vec<_>>(), [LastContact::At(at(5)), LastContact::At(at(6))]);
        let revoked_since = reading.agents_revoked_since(at(2)).await.unwrap();
        assert_eq!(revoked_since.iter().map(|it| &it.id).collect::<Vec<_>>(), [&revoked.id]);
        assert!(reading.agents_revoked_since(at(3)).await.unwrap().is_empty());
    });
}

#[test]
fn changed_assignments_are_found_by_time_in_every_account() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let put = async |account_id: &AccountId, name: &str, text: &str, second: i64| {
            let (target, digest) = (node_key(name), Digest::of(text.as_bytes()));
            let new = NewAssignment {
                target: &target,
                document: text,
                digest,
                own_approvals: "[]",
                shared_approvals: "[]",
            };
            let mut writing = world.store.write().await.unwrap();
            writing.assignments_put(account_id, &[new], at(second)).await.unwrap();
            writing.commit().await.unwrap();
        };
        put(&acme, "edge", "one", 1).await;
        put(&other, "edge", "two", 2).await;
        put(&acme, "edge", "three", 3).await;
        let found = world.store.read().await.unwrap().assignments_since(at(2)).await.unwrap();
        let found: Vec<_> = found.iter().map(|it| (&it.account_id, it.generation, it.assigned_at)).collect();
        assert_eq!(found, [(&other, Generation(1), at(2)), (&acme, Generation(2), at(3))]);
    });
}

#[test]
fn old_tokens_and_joins_are_deleted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let token = for_edge(&acme);
        add(&world.store, &token, "hash").await;
        let mut writing = world.store.write().await.unwrap();
        let mut budget = RowBudget::new(10);
        assert_eq!(writing.enrolment_tokens_delete_old(at(100), &mut budget).await.unwrap(), 0);
        assert_eq!(writing.enrolment_tokens_delete_old(at(101), &mut budget).await.unwrap(), 1);
        assert_eq!(writing.node_joins_delete_old(at(101), &mut budget).await.unwrap(), 0);
        writing.commit().await.unwrap();
    });
}

#[test]
fn replicas_tell_each_other_of_news_for_agents() {
    on_postgres(|world| async move {
        let other = Store::open(&world.address).await.unwrap();
        let mut listener = other.listen().await.unwrap().unwrap();
        world.store.notify_of_agents().await.unwrap();
        assert_eq!(listener.wait_for_news().await.unwrap(), RemoteNews::Agents);
        drop(listener);
        other.close().await;
    });
}
