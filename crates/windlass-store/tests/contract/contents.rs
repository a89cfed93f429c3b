//! Specs by digest: stored once, and kept as long as any row refers to them.

use std::sync::Arc;

use windlass_core::id::AccountId;
use windlass_core::proposal::{Edit, Status};
use windlass_core::time::Timestamp;
use windlass_store::{Store, UnreferencedContent, new_id};

use crate::proposals::moved;
use crate::world::{World, at, ended, node, node_key, on_both, plenty, proposal};

const DAY: i64 = 24 * 3600;

async fn stored(world: &World) -> usize {
    world.ask("SELECT digest AS answer FROM contents").await.len()
}

/// Sweeps contents that no row refers to, as the server does a few times a day, and returns how many were deleted.
async fn sweep(store: &Store, now: Timestamp) -> u64 {
    let unreferenced = unreferenced(store, now).await;
    let mut writing = store.write().await.unwrap();
    let deleted = writing.contents_sweep(&unreferenced, now).await.unwrap();
    writing.commit().await.unwrap();
    deleted
}

async fn unreferenced(store: &Store, now: Timestamp) -> Vec<UnreferencedContent> {
    store.read().await.unwrap().contents_unreferenced(now, 100).await.unwrap()
}

async fn destroy(world: &World, account_id: &AccountId, name: &str) {
    let mut writing = world.store.write_account(account_id).await.unwrap();
    assert!(writing.resource_remove(ended(&node_key(name)), at(2)).await.unwrap());
    writing.tombstones_delete_old(at(3), &mut plenty()).await.unwrap();
    writing.commit().await.unwrap();
}

#[test]
fn a_spec_is_stored_once_and_shared_by_its_readers() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        for name in ["a", "b", "c"] {
            world.node(&acme, name, None).await;
        }
        world.node(&other, "a", None).await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        world.proposals(&run, &["d"]).await;
        assert_eq!(stored(&world).await, 1);
        let found = world.store.read().await.unwrap().resources_all(&acme, None).await.unwrap();
        assert_eq!(found.len(), 3);
        assert!(found.iter().all(|resource| Arc::ptr_eq(&resource.spec, &found[0].spec)));
    });
}

#[test]
fn unreferenced_content_is_deleted_after_a_day_and_not_before() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.node(&acme, "a", None).await;
        assert_eq!(sweep(&world.store, at(DAY)).await, 0);
        destroy(&world, &acme, "a").await;
        assert_eq!(sweep(&world.store, at(0)).await, 0, "it is marked");
        assert_eq!(sweep(&world.store, at(DAY)).await, 0, "a day is not over");
        assert_eq!(stored(&world).await, 1);
        assert_eq!(sweep(&world.store, at(DAY + 1)).await, 1);
        assert_eq!(stored(&world).await, 0);
    });
}

#[test]
fn content_that_is_referenced_again_is_kept_at_any_stage_of_the_sweep() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.node(&acme, "a", None).await;
        destroy(&world, &acme, "a").await;
        sweep(&world.store, at(0)).await;
        // Between the mark and the destroy of the day.
        world.node(&acme, "a", None).await;
        assert_eq!(sweep(&world.store, at(2 * DAY)).await, 0);
        destroy(&world, &acme, "a").await;
        sweep(&world.store, at(2 * DAY)).await;
        // Between the read that finds it and the delete.
        let found = unreferenced(&world.store, at(4 * DAY)).await;
        assert_eq!(found.len(), 1);
        world.node(&acme, "a", None).await;
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.contents_sweep(&found, at(4 * DAY)).await.unwrap(), 0);
        writing.commit().await.unwrap();
        assert!(world.store.check().await.unwrap().iter().all(|checked| checked.fault.is_none()));
    });
}

#[test]
fn a_spec_is_kept_while_any_row_refers_to_it() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let run = world.run(&fleet).await;
        world.node(&acme, "accepted", Some(&fleet.id)).await;
        let mut opened = proposal(&run, 0, "proposed");
        opened.id = new_id();
        opened.change.before = Some(Arc::new(node("before")));
        opened.change.base = Some(node("before").digest());
        opened.change.after = Some(Arc::new(node("after")));
        opened.change.desired = Some(node("after").digest());
        let edit = Edit { spec: Arc::new(node("edit")), digest: node("edit").digest(), by: "ada".to_owned() };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.proposals_add(&[opened.clone()]).await.unwrap();
        assert!(writing.proposal_edit(&opened.id, 1, Some(&edit), &opened.contributors).await.unwrap());
        writing.proposal_move(&opened.id, &moved(Status::PendingApproval, Status::Rejected)).await.unwrap();
        writing.resource_put(&node_key("gone"), &node("gone"), None, "ada", at(1)).await.unwrap();
        writing.resource_remove(ended(&node_key("gone")), at(2)).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(unreferenced(&world.store, at(9)).await, []);
        assert_eq!(stored(&world).await, 5);
        let found = world.store.read().await.unwrap().proposal(&acme, &opened.id).await.unwrap().unwrap();
        assert_eq!(found.change.before.as_deref(), Some(&node("before")));
        assert_eq!(found.change.after.as_deref(), Some(&node("after")));
        assert_eq!(found.edit.unwrap().spec, edit.spec);
    });
}
