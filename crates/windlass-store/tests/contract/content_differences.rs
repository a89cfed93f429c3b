//! Differences in files: one row for each change of content, visible only to its account, deleted with the proposals.

use windlass_core::content::{ContentChange, ContentDifference, ContentId, FileSide};
use windlass_core::resource::{Kind, ResourceKey, Spec};

use crate::world::{at, on_both, plenty};

fn change(path: &str, after: u8) -> ContentChange {
    let before = (after > 1).then(|| ContentId::blob([after - 1; 20]));
    ContentChange { path: path.to_owned(), before, after: ContentId::blob([after; 20]) }
}

fn difference(path: &str, after: u8) -> ContentDifference {
    let mut difference = ContentDifference::new(change(path, after));
    let bytes = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
    difference.add(path.to_owned(), &bytes("it's \"one\"\n"), &bytes("two\n"));
    difference
}

#[test]
fn a_difference_is_stored_once_and_never_replaced_by_a_partial_one() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (full, first) = (difference("files/a", 2), difference("files/a", 1));
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.content_differences_put(&[full.clone(), first.clone()], at(1)).await.unwrap();
        let partial = ContentDifference::new(change("files/a", 2)).with_note("not here");
        writing.content_differences_put(&[partial], at(2)).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let changes = [change("files/a", 2), change("files/a", 3), change("files/b", 2)];
        assert_eq!(reading.content_differences(&acme, &changes).await.unwrap(), std::slice::from_ref(&full));
        assert_eq!(reading.content_differences(&other, &changes).await.unwrap(), []);
        drop(reading);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(
            writing.content_differences_delete_old(at(2), &mut plenty()).await.unwrap(),
            1,
            "the one that was used later stays"
        );
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let changes = [change("files/a", 1), change("files/a", 2)];
        assert_eq!(reading.content_differences(&acme, &changes).await.unwrap(), [full]);
    });
}

#[test]
fn a_resource_is_read_back_with_the_content_ids_of_its_files() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let spec = r#"{"version":"1.0.0","host":{"files":{"/etc/a":{"source":"files/a"}}}}"#;
        let spec = Spec::read_stored(Kind::Module, spec).unwrap();
        let with_contents = spec.with_contents(|_| Some(ContentId::blob([7; 20])));
        let key = ResourceKey::new(Kind::Module, "web");
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resource_put(&key, &with_contents, None, "ada", at(1)).await.unwrap();
        writing.commit().await.unwrap();
        let found = world.store.read().await.unwrap().resource(&acme, &key).await.unwrap().unwrap();
        assert_eq!((found.digest, found.spec.digest()), (with_contents.digest(), with_contents.digest()));
        assert_ne!(found.digest, spec.digest());
        assert_eq!(*found.spec, with_contents);
        let faults: Vec<_> =
            world.store.check().await.unwrap().into_iter().filter_map(|checked| checked.fault).collect();
        assert_eq!(faults, Vec::<String>::new());
    });
}
