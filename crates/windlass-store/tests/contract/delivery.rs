//! What agents fetch and why: blobs, packages, approvals, and the reasons of targets without an assignment.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::assign::RecordedApproval;
use windlass_core::digest::Digest;
use windlass_core::host::{BlobDigest, BlobRef};
use windlass_core::id::AccountId;
use windlass_core::observed::Generation;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::target_assignment::CoveringApproval;
use windlass_core::time::Timestamp;
use windlass_store::{
    ModulePackageRow, NewAssignment, NewBlob, NewResource, PackageContent, Store, UnreferencedBlob, new_id,
};

use crate::world::{World, at, node, node_key, on_both};

const DAY: i64 = 24 * 3600;

/// An approval of a proposal.
pub(crate) fn by_people(proposal: &str) -> CoveringApproval {
    CoveringApproval::People { proposal: proposal.to_owned(), people: vec!["ada@example.com".to_owned()] }
}

async fn put_blob(store: &Store, bytes: &[u8]) -> BlobDigest {
    let digest = BlobDigest::of(bytes);
    let mut writing = store.write().await.unwrap();
    let blob = NewBlob { digest, size: bytes.len() as u64, stored: bytes.to_vec() };
    writing.blob_put(blob).await.unwrap();
    writing.commit().await.unwrap();
    digest
}

#[test]
fn a_blob_of_any_bytes_is_stored_once_and_reads_back_unchanged() {
    on_both(|world| async move {
        let every_byte: Vec<u8> = (0..=255).collect();
        let large = every_byte.repeat(4096);
        for bytes in [&b""[..], b"0", b"12.5e3", b"{\"text\": 1}", &every_byte, &large] {
            let digest = put_blob(&world.store, bytes).await;
            put_blob(&world.store, bytes).await;
            let found = world.store.read().await.unwrap().blob(digest).await.unwrap().unwrap();
            assert_eq!((found.size, found.stored.as_slice()), (bytes.len() as u64, bytes));
        }
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.blob_marks().await.unwrap().len(), 6);
        assert_eq!(reading.blob(BlobDigest::of(b"other")).await.unwrap(), None);
    });
}

/// Marks and deletes every blob except some, as the server does.
async fn sweep(store: &Store, kept: &[BlobDigest], now: Timestamp) -> u64 {
    let mut marks = store.read().await.unwrap().blob_marks().await.unwrap();
    marks.retain(|mark| !kept.contains(&mark.digest));
    let mut writing = store.write().await.unwrap();
    let deleted = writing.blobs_sweep(&marks, now).await.unwrap();
    writing.commit().await.unwrap();
    deleted
}

#[test]
fn an_unreferenced_blob_is_deleted_after_a_day_unless_it_is_stored_again() {
    on_both(|world| async move {
        let store = &world.store;
        let (used, unused, again) = (
            put_blob(store, b"used").await,
            put_blob(store, b"unused").await,
            put_blob(store, b"again").await,
        );
        assert_eq!(sweep(store, &[used], at(0)).await, 0, "they are marked");
        assert_eq!(sweep(store, &[used], at(DAY)).await, 0, "a day is not over");
        put_blob(store, b"again").await;
        assert_eq!(sweep(store, &[used], at(DAY + 1)).await, 1);
        let mut left = store.read().await.unwrap().blob_marks().await.unwrap();
        left.sort_by_key(|mark| mark.digest != used);
        let marks = [
            UnreferencedBlob { digest: used, unused_since: None },
            UnreferencedBlob { digest: again, unused_since: Some(at(DAY + 1)) },
        ];
        assert_eq!(left, marks, "{unused} is gone");
        // A sweep that began before it was stored again does not delete it.
        let stale = [UnreferencedBlob { digest: again, unused_since: Some(at(DAY + 1)) }];
        put_blob(store, b"again").await;
        let mut writing = store.write().await.unwrap();
        assert_eq!(writing.blobs_sweep(&stale, at(9 * DAY)).await.unwrap(), 0);
    });
}

fn package(module: &str, content: &str) -> ModulePackageRow {
    let files = [("a".to_owned(), BlobRef { digest: BlobDigest::of(b"a"), size: 1 })].into();
    let content_digest = BlobDigest::of(content.as_bytes());
    ModulePackageRow {
        module: module.to_owned(),
        digest: Digest::of(content.as_bytes()),
        content: PackageContent { package: content_digest, files },
    }
}

async fn put_package(store: &Store, account_id: &AccountId, package: &ModulePackageRow) {
    let mut writing = store.write().await.unwrap();
    writing.module_package_put(account_id, package, at(1)).await.unwrap();
    writing.commit().await.unwrap();
}

#[test]
fn packages_belong_to_an_account_and_a_module_content() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (one, two) = (package("motd", "one"), package("motd", "two"));
        for package in [&one, &two, &one] {
            put_package(&world.store, &acme, package).await;
        }
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.module_packages(&other).await.unwrap(), []);
        let mut found = reading.module_packages(&acme).await.unwrap();
        found.sort_by_key(|row| row.digest != one.digest);
        assert_eq!(found, [one.clone(), two.clone()]);
        let wanted = [one.content.package, BlobDigest::of(b"unknown")];
        let files = reading.package_files(&wanted).await.unwrap();
        assert_eq!(files, BTreeMap::from([(one.content.package, one.content.files.clone())]));
        assert!(reading.module_packages_all().await.unwrap().iter().all(|(_, _, is_accepted)| !is_accepted));
        let mut writing = world.store.write().await.unwrap();
        let gone = [(acme.clone(), one.clone())];
        assert_eq!(writing.module_packages_remove(&gone, at(1)).await.unwrap(), 0, "it is too new");
        assert_eq!(writing.module_packages_remove(&gone, at(2)).await.unwrap(), 1);
        assert_eq!(writing.module_packages(&acme).await.unwrap(), [two]);
    });
}

#[test]
fn a_resource_records_why_it_was_accepted_and_which_content() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (direct, proposed) = (node_key("direct"), node_key("proposed"));
        let (spec, approval) = (node("eu"), by_people("p1"));
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resource_put(&direct, &spec, None, "ada", at(1)).await.unwrap();
        let new = NewResource {
            key: &proposed,
            spec: &spec,
            digest: spec.digest(),
            owner_id: None,
            declared_in: None,
            by: "bob (proposal p1)",
            approval: &approval,
        };
        writing.resources_put(&[new], at(2)).await.unwrap();
        writing.commit().await.unwrap();
        let recorded = |approval| Some(RecordedApproval { digest: spec.digest(), approval });
        let direct_change =
            |person: &str| CoveringApproval::DirectChange { person: person.to_owned(), at: at(1) };
        assert_eq!(approvals(&world, &acme).await, [recorded(direct_change("ada")), recorded(approval)]);
        world.tamper("UPDATE resources SET approval = '' WHERE name = 'direct'").await;
        world.tamper("UPDATE resources SET approved_digest = NULL WHERE name = 'proposed'").await;
        let earlier = [recorded(direct_change("ada")), None];
        assert_eq!(
            approvals(&world, &acme).await,
            earlier,
            "as an earlier version left it, and not recorded"
        );
    });
}

async fn approvals(world: &World, account_id: &AccountId) -> Vec<Option<RecordedApproval>> {
    let mut reading = world.store.read().await.unwrap();
    let kinds = [Kind::Node, Kind::Module];
    let found = reading.approved_resources(account_id, &kinds).await.unwrap();
    let specs: BTreeSet<_> = found.iter().map(|one| std::sync::Arc::as_ptr(&one.spec)).collect();
    assert_eq!(specs.len(), 1, "equal specs are read once");
    assert_eq!(reading.approved_resources(account_id, &[Kind::Template]).await.unwrap().len(), 0);
    found.into_iter().map(|one| one.approval).collect()
}

#[test]
fn assignments_and_agents_are_read_one_by_one_and_many_at_once() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (a, b, missing) = (node_key("a"), node_key("b"), node_key("missing"));
        let mut writing = world.store.write().await.unwrap();
        for (account, target, document) in [(&acme, &a, "one"), (&acme, &b, "two"), (&other, &a, "three")] {
            let digest = Digest::of(document.as_bytes());
            let new =
                NewAssignment { target, document, digest, own_approvals: "[1]", shared_approvals: "[2]" };
            writing.assignments_put(account, &[new], at(1)).await.unwrap();
        }
        writing.commit().await.unwrap();
        let mut ids = Vec::new();
        for account in [&acme, &other] {
            let mut writing = world.store.write_account(account).await.unwrap();
            ids.push(writing.agent_enrol(&a, at(1)).await.unwrap().id);
            writing.commit().await.unwrap();
        }
        let mut reading = world.store.read().await.unwrap();
        let targets = [(acme.clone(), a.clone()), (acme.clone(), b), (other.clone(), a), (acme, missing)];
        let (heads, whole) = (
            reading.assignments_of(&targets).await.unwrap(),
            reading.assignments_to_sign(&targets).await.unwrap(),
        );
        assert_eq!((heads.len(), whole.len()), (3, 3));
        for target in targets {
            let (account_id, key) = &target;
            assert_eq!(heads.get(&target).copied(), reading.assignment(account_id, key).await.unwrap());
            assert_eq!(
                whole.get(&target).cloned(),
                reading.assignment_to_sign(account_id, key).await.unwrap()
            );
            let alone = reading.assignments_to_sign(std::slice::from_ref(&target)).await.unwrap();
            assert_eq!(alone.get(&target), whole.get(&target));
            let alone = reading.assignments_of(std::slice::from_ref(&target)).await.unwrap();
            assert_eq!(alone.get(&target), heads.get(&target));
        }
        let found = reading.agents_with_ids(&ids).await.unwrap();
        assert_eq!(found.len(), 2);
        for agent in found {
            assert_eq!(reading.agents_with_ids(std::slice::from_ref(&agent.id)).await.unwrap(), [agent]);
        }
        assert!(reading.agents_with_ids(&[new_id(), new_id()]).await.unwrap().is_empty());
    });
}

#[test]
fn an_assignment_keeps_the_approvals_of_its_document() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let targets = [node_key("a"), node_key("b")];
        let put = async |document: &'static str,
                         own_approvals: &'static str,
                         shared_approvals: &'static str| {
            let digest = Digest::of(document.as_bytes());
            let new = |target| NewAssignment { target, document, digest, own_approvals, shared_approvals };
            let new: Vec<NewAssignment<'_>> = targets.iter().map(new).collect();
            let mut writing = world.store.write().await.unwrap();
            writing.assignments_put(&acme, &new, at(1)).await.unwrap();
            writing.commit().await.unwrap();
        };
        let found = async |target: &ResourceKey| {
            world.store.read().await.unwrap().assignment_to_sign(&acme, target).await.unwrap()
        };
        put("one", "[1]", "[2]").await;
        put("one", "[3]", "[4]").await;
        let first = found(&targets[1]).await.unwrap();
        assert_eq!((first.generation, first.document.as_str()), (Generation(1), "one"));
        let approvals = (first.own_approvals.as_str(), first.shared_approvals.as_str());
        assert_eq!(approvals, ("[1]", "[2]"), "those of the document that is assigned");
        put("two", "[5]", "[6]").await;
        let second = found(&targets[0]).await.unwrap();
        assert_eq!((second.generation, second.shared_approvals.as_str()), (Generation(2), "[6]"));
        assert_eq!(found(&node_key("other")).await, None);
        let mut reading = world.store.read().await.unwrap();
        // The texts of the first assignments, and of the approvals that were not used.
        assert_eq!(reading.contents_unreferenced(at(9), 9).await.unwrap().len(), 3);
        let page = reading.assignment_documents(None, 1).await.unwrap();
        assert_eq!(page[0].2, "two");
        let (account_id, target, _) = page[0].clone();
        let rest = reading.assignment_documents(Some(&(account_id, target)), 9).await.unwrap();
        assert_eq!(rest.iter().map(|(_, target, _)| target).collect::<Vec<_>>(), [&targets[1]]);
        drop(reading);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.assignments_remove(&acme, &targets[..1]).await.unwrap(), 1);
        assert_eq!(writing.assignments(&acme).await.unwrap().len(), 1);
    });
}

#[test]
fn a_problem_of_an_assignment_keeps_its_time_until_its_reason_changes() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let target = node_key("a");
        for (reason, second, since) in [("one", 1, 1), ("one", 2, 1), ("two", 3, 3)] {
            let mut writing = world.store.write().await.unwrap();
            writing.assignment_problems_put(&acme, &[(target.clone(), reason)], at(second)).await.unwrap();
            let found = writing.assignment_problem(&acme, &target).await.unwrap().unwrap();
            assert_eq!((found.reason.as_str(), found.since), (reason, at(since)));
            assert_eq!(writing.assignment_problems(&acme).await.unwrap().len(), 1);
            writing.commit().await.unwrap();
        }
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.assignment_problem(&acme, &node_key("b")).await.unwrap(), None);
        assert_eq!(
            writing.assignment_problems_remove(&acme, std::slice::from_ref(&target)).await.unwrap(),
            1
        );
        assert!(writing.assignment_problems(&acme).await.unwrap().is_empty());
    });
}

#[test]
fn the_state_version_of_every_account_is_read_at_once() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let version = async |account_id: &AccountId| {
            let versions = world.store.read().await.unwrap().state_versions().await.unwrap();
            versions.into_iter().find(|(id, _)| id == account_id).unwrap().1
        };
        let (before, beside) = (version(&acme).await, version(&other).await);
        world.node(&acme, "a", None).await;
        assert!(version(&acme).await > before);
        assert_eq!(version(&other).await, beside);
    });
}
