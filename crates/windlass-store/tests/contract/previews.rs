//! Previews: one for each reference, limited in number, and deleted when they are old.

use windlass_core::id::PreviewId;
use windlass_core::repository::Repository;
use windlass_store::{Preview, PreviewOutcome, PreviewSource, new_id};

use crate::world::{at, on_both, plenty};

fn preview(repository: &Repository, reference: &str, second: i64) -> Preview {
    Preview {
        id: new_id(),
        account_id: repository.account_id.clone(),
        repository_id: repository.id.clone(),
        reference: reference.to_owned(),
        source: PreviewSource::Git,
        commit_sha: Some("c0ffee".to_owned()),
        base_commit: None,
        requested_by: Some("ada@example.com".to_owned()),
        outcome: PreviewOutcome::Changes,
        changes: 3,
        document: format!("{{\"at\": {second}}}"),
        created_at: at(second),
    }
}

#[test]
fn the_last_preview_of_each_reference_keeps_the_first_id() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let first = preview(&fleet, "refs/pull/1/head", 1);
        let second = Preview { outcome: PreviewOutcome::Problems, ..preview(&fleet, "refs/pull/1/head", 2) };
        let files = Preview { source: PreviewSource::Files, ..preview(&fleet, "refs/pull/1/head", 3) };
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.preview_put(&first).await.unwrap(), first.id);
        assert_eq!(writing.preview_put(&second).await.unwrap(), first.id);
        assert_eq!(writing.preview_put(&files).await.unwrap(), files.id);
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let kept = reading.preview(&acme, &first.id).await.unwrap();
        assert_eq!(kept, Some(Preview { id: first.id.clone(), ..second }));
        let listed = reading.previews(&acme, &fleet.id, 10).await.unwrap();
        assert_eq!(listed.iter().map(|found| &found.id).collect::<Vec<_>>(), [&files.id, &first.id]);
        assert!(listed.iter().all(|found| found.document.is_empty()));
        drop(reading);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.previews_delete_old(at(3), &mut plenty()).await.unwrap(), 1);
        writing.repository_remove(&fleet.id).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.preview(&acme, &files.id).await.unwrap(), None);
    });
}

#[test]
fn previews_of_a_repository_are_limited_and_hidden_from_other_accounts() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        let mut writing = world.store.write().await.unwrap();
        let mut last = PreviewId::new("");
        for number in 0..205 {
            let made = preview(&fleet, &format!("refs/pull/{number}/head"), number);
            last = writing.preview_put(&made).await.unwrap();
        }
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let kept = reading.previews(&acme, &fleet.id, 1000).await.unwrap();
        assert_eq!((kept.len(), &kept[0].id), (200, &last));
        assert_eq!(kept[199].reference, "refs/pull/5/head");
        assert!(reading.previews(&other, &fleet.id, 1000).await.unwrap().is_empty());
        assert_eq!(reading.preview(&other, &last).await.unwrap(), None);
    });
}
