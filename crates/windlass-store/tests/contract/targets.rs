//! Targets: agents, assignments, inventories, observed state, and tombstones.

use std::time::Duration;

use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, RepositoryId, ResourceId};
use windlass_core::observed::{
    AgentMessage, AgentReport, ApplyFailure, Coverage, Enrolment, Generation, LastContact, Observation,
    Observed, ObservedTarget, ReportOrder, Sighting, UnknownCause,
};
use windlass_core::report::AcceptedTarget;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{InventoryItem, NewAssignment, Store};

use crate::world::{World, at, ended, node, node_key, on_both, plenty};

fn order(enrolment: u64, generation: u64, sequence: u64) -> ReportOrder {
    ReportOrder { enrolment: Enrolment(enrolment), generation: Generation(generation), sequence }
}

fn sighting(generation: u64, second: i64) -> Sighting {
    Sighting { generation: Generation(generation), since: at(second), at: at(second + 1) }
}

fn known(text: &str) -> Observation {
    let digest = Digest::of(text.as_bytes());
    Observation { observed: Observed::Known { digest, seen: sighting(2, 5) }, failure: None }
}

fn unknown(cause: UnknownCause) -> Observation {
    Observation { observed: Observed::Unknown { since: at(7), cause }, failure: None }
}

fn module(name: &str) -> ResourceKey {
    ResourceKey::new(Kind::Module, name)
}

/// A report with every variant of observed state.
fn report(order: ReportOrder, coverage: Coverage) -> AgentReport {
    let failure = ApplyFailure {
        generation: Generation(2),
        since: at(6),
        message: AgentMessage::new("no space left on device"),
    };
    let absent = Observation { observed: Observed::Absent { seen: sighting(1, 3) }, failure: None };
    let unreadable = UnknownCause::Unreadable(AgentMessage::new("permission denied"));
    let resources = [
        (module("known"), known("module")),
        (module("absent"), absent),
        (module("changing"), unknown(UnknownCause::BeingChanged)),
        (module("unreadable"), unknown(unreadable)),
    ];
    AgentReport {
        order,
        coverage,
        target: Observation { failure: Some(failure), ..known("target") },
        resources: resources.into_iter().collect(),
    }
}

async fn save(store: &Store, account_id: &AccountId, report: &AgentReport) -> ObservedTarget {
    let mut writing = store.write().await.unwrap();
    let before = writing.observed(account_id, &node_key("edge")).await.unwrap();
    let mut after = before.clone();
    after.merge(report);
    writing.observed_save(account_id, &node_key("edge"), &before, &after).await.unwrap();
    writing.commit().await.unwrap();
    after
}

#[test]
fn observed_state_is_read_as_it_was_merged() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let stored =
            || async { world.store.read().await.unwrap().observed(&acme, &node_key("edge")).await.unwrap() };
        assert_eq!(stored().await, ObservedTarget::default());
        let after = save(&world.store, &acme, &report(order(1, 2, 1), Coverage::Complete)).await;
        assert_eq!(stored().await, after);
        let mut second = report(order(1, 2, 2), Coverage::Partial);
        second.resources = [(module("known"), known("other"))].into_iter().collect();
        second.target.failure = None;
        let after = save(&world.store, &acme, &second).await;
        assert_eq!((stored().await, after.resources.len()), (after.clone(), 4));
        let mut complete = report(order(1, 2, 3), Coverage::Complete);
        complete.resources = [(module("known"), known("other"))].into_iter().collect();
        let after = save(&world.store, &acme, &complete).await;
        assert_eq!(
            (stored().await, after.resources.len()),
            (after.clone(), 1),
            "what it does not list is gone"
        );
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.observed(&other, &node_key("edge")).await.unwrap(), ObservedTarget::default());
        let targets = reading.observed_targets(&acme).await.unwrap();
        assert_eq!(targets.get(Kind::Node, "edge").unwrap().whole, after.whole);
        assert!(reading.observed_targets(&other).await.unwrap().iter().next().is_none());
    });
}

#[test]
fn storing_reports_locks_no_account_and_changes_no_chain_or_version() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let agent = writing.agent_enrol(&node_key("edge"), at(0)).await.unwrap();
        writing.commit().await.unwrap();
        let chain = || world.ask("SELECT event_seq || ' ' || state_version AS answer FROM chains");
        let before = chain().await;
        let report = report(order(1, 1, 1), Coverage::Complete);
        match world.store.file() {
            // SQLite has one writer at a time, whatever it writes.
            Some(_) => drop(save(&world.store, &acme, &report).await),
            None => {
                let held = world.store.write_account(&acme).await.unwrap();
                let saved = async {
                    let mut writing = world.store.write().await.unwrap();
                    writing.agent_contact(&agent.id, at(9)).await.unwrap().unwrap();
                    writing.commit().await.unwrap();
                    save(&world.store, &acme, &report).await
                };
                let done = tokio::time::timeout(Duration::from_secs(10), saved).await;
                assert!(done.is_ok(), "a report waits for a transaction of its account");
                drop(held);
            }
        }
        assert_eq!(chain().await, before);
    });
}

#[test]
fn a_target_has_one_agent_and_a_new_enrolment_revokes_the_previous_one() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let first = writing.agent_enrol(&node_key("edge"), at(1)).await.unwrap();
        assert_eq!((first.enrolment, first.last_contact), (Enrolment(1), LastContact::Never));
        let contacted = writing.agent_contact(&first.id, at(2)).await.unwrap().unwrap();
        assert_eq!((contacted.last_contact, &contacted.target), (LastContact::At(at(2)), &node_key("edge")));
        let second = writing.agent_enrol(&node_key("edge"), at(3)).await.unwrap();
        assert_eq!(second.enrolment, Enrolment(2));
        assert_eq!(writing.agent_contact(&first.id, at(4)).await.unwrap(), None, "it was revoked");
        assert_eq!(writing.agent_of(&acme, &node_key("edge")).await.unwrap(), Some(second.clone()));
        assert_eq!(writing.agents(&acme).await.unwrap(), [second]);
        assert!(writing.agent_revoke(&node_key("edge"), at(5)).await.unwrap());
        assert!(!writing.agent_revoke(&node_key("edge"), at(5)).await.unwrap());
        assert_eq!(writing.agent_of(&acme, &node_key("edge")).await.unwrap(), None);
        let third = writing.agent_enrol(&node_key("edge"), at(6)).await.unwrap();
        assert_eq!(third.enrolment, Enrolment(3), "enrolments are never counted again from one");
    });
}

#[test]
fn an_assignment_gets_a_generation_only_when_it_changes() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let target = node_key("edge");
        for (document, changed, generation) in [("one", 1, 1), ("one", 0, 1), ("two", 1, 2), ("one", 1, 3)] {
            let digest = Digest::of(document.as_bytes());
            let mut writing = world.store.write().await.unwrap();
            let (own_approvals, shared_approvals) = ("[]", "[1]");
            let new = NewAssignment { target: &target, document, digest, own_approvals, shared_approvals };
            assert_eq!(writing.assignments_put(&acme, &[new], at(1)).await.unwrap(), changed);
            let expected = AcceptedTarget { generation: Generation(generation), digest };
            assert_eq!(writing.assignment(&acme, &target).await.unwrap(), Some(expected));
            assert_eq!(writing.assignment_document(digest).await.unwrap().as_deref(), Some(document));
            writing.commit().await.unwrap();
        }
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.assignments(&acme).await.unwrap().len(), 1);
        assert_eq!(reading.assignment(&acme, &node_key("other")).await.unwrap(), None);
        let unreferenced = reading.contents_unreferenced(at(9), 9).await.unwrap();
        assert_eq!(unreferenced.len(), 1, "what was assigned before and is not any more");
    });
}

async fn inventory(world: &World, account_id: &AccountId) -> Vec<ResourceId> {
    let mut reading = world.store.read().await.unwrap();
    let items = reading.inventory(account_id, &node_key("edge")).await.unwrap();
    items.into_iter().map(|item| item.resource_id).collect()
}

#[test]
fn an_inventory_grows_by_added_resources_and_shrinks_by_confirmed_absence() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let item = |id: &str, name| InventoryItem { resource_id: ResourceId::new(id), key: module(name) };
        for items in [[item("1", "a"), item("2", "b")], [item("2", "b"), item("3", "c")]] {
            let mut writing = world.store.write().await.unwrap();
            writing.inventory_add(&acme, &node_key("edge"), &items, at(1)).await.unwrap();
            writing.commit().await.unwrap();
        }
        assert_eq!(inventory(&world, &acme).await, ["1", "2", "3"].map(ResourceId::new));
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(
            writing
                .inventory_remove(&acme, &node_key("edge"), &[&ResourceId::new("1"), &ResourceId::new("9")])
                .await
                .unwrap(),
            1
        );
        assert_eq!(
            writing.inventory_remove(&acme, &node_key("other"), &[&ResourceId::new("2")]).await.unwrap(),
            0
        );
        writing.commit().await.unwrap();
        assert_eq!(inventory(&world, &acme).await, ["2", "3"].map(ResourceId::new));
    });
}

#[test]
fn a_destroyed_resource_leaves_a_tombstone_and_its_name_continues_the_generation() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let key = node_key("edge");
        let mut writing = world.store.write_account(&acme).await.unwrap();
        for region in ["eu", "us"] {
            writing
                .resource_put(&key, &node(region), Some(&RepositoryId::new("r")), "bob", at(1))
                .await
                .unwrap();
        }
        let first = writing.resource(&acme, &key).await.unwrap().unwrap();
        writing.resource_remove(ended(&key), at(2)).await.unwrap();
        let left = writing.tombstones(&acme, &key).await.unwrap();
        let [tombstone] = left.as_slice() else { panic!("{left:?}") };
        assert_eq!((&tombstone.resource_id, tombstone.generation), (&first.id, 2));
        assert_eq!(
            (tombstone.digest, tombstone.owner_id.as_ref().map(RepositoryId::as_str)),
            (node("us").digest(), Some("r"))
        );
        assert_eq!((tombstone.ended_at, tombstone.ended_by.as_str()), (at(2), "ada"));
        writing.resource_put(&key, &node("eu"), None, "ada", at(3)).await.unwrap();
        let second = writing.resource(&acme, &key).await.unwrap().unwrap();
        assert_ne!(second.id, first.id);
        assert_eq!(second.generation, 3, "what was seen of the first is never taken for the second");
        writing.resource_remove(ended(&key), at(4)).await.unwrap();
        let generations: Vec<i64> =
            writing.tombstones(&acme, &key).await.unwrap().iter().map(|it| it.generation).collect();
        assert_eq!(generations, [3, 2]);
    });
}

#[test]
fn a_tombstone_is_kept_while_a_target_may_contain_the_resource() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for name in ["free", "held"] {
            world.node(&acme, name, None).await;
        }
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let held = writing.resource(&acme, &node_key("held")).await.unwrap().unwrap();
        let item = InventoryItem { resource_id: held.id.clone(), key: held.key };
        writing.inventory_add(&acme, &node_key("edge"), &[item], at(1)).await.unwrap();
        for name in ["free", "held"] {
            writing.resource_remove(ended(&node_key(name)), at(2)).await.unwrap();
        }
        assert_eq!(writing.tombstones_delete_old(at(2), &mut plenty()).await.unwrap(), 0, "they are young");
        assert_eq!(writing.tombstones_delete_old(at(3), &mut plenty()).await.unwrap(), 1);
        assert_eq!(writing.tombstones(&acme, &node_key("held")).await.unwrap().len(), 1);
        writing.inventory_remove(&acme, &node_key("edge"), &[&held.id]).await.unwrap();
        assert_eq!(writing.tombstones_delete_old(at(3), &mut plenty()).await.unwrap(), 1);
    });
}
