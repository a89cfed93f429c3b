//! Pull requests to preview.

use windlass_store::{PendingPullRequest, Writing};

use crate::world::{at, on_both};

async fn due(writing: &mut Writing, second: i64) -> Vec<PendingPullRequest> {
    writing.pull_requests_due(at(second), at(second + 600), 9).await.unwrap()
}

#[test]
fn a_pull_request_stays_until_it_is_previewed_or_replaced_by_a_newer_commit() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let pending = |commit: &str| PendingPullRequest {
            account_id: acme.clone(),
            repository_id: fleet.clone(),
            number: 7,
            reference: "refs/pull/7/head".to_owned(),
            commit_sha: commit.to_owned(),
            attempts: 0,
        };
        let mut writing = world.store.write().await.unwrap();
        writing.pull_request_add(&pending("one"), at(1)).await.unwrap();
        assert_eq!(due(&mut writing, 1).await, [pending("one")]);
        assert_eq!(due(&mut writing, 0).await, [], "its time has not come");
        writing.pull_request_reschedule(&pending("one"), at(60)).await.unwrap();
        assert_eq!(due(&mut writing, 59).await, []);
        let again = PendingPullRequest { attempts: 1, ..pending("one") };
        assert_eq!(due(&mut writing, 60).await, std::slice::from_ref(&again));
        assert!(!writing.pull_request_delete(&pending("one")).await.unwrap(), "it was tried meanwhile");
        writing.pull_request_add(&pending("two"), at(61)).await.unwrap();
        assert!(!writing.pull_request_delete(&again).await.unwrap(), "something newer is wanted");
        assert_eq!(due(&mut writing, 61).await, [pending("two")]);
        assert!(writing.pull_request_delete(&pending("two")).await.unwrap());
        assert_eq!(due(&mut writing, 999).await, []);
        writing.pull_request_add(&pending("three"), at(70)).await.unwrap();
        // A clock that was set back does not delay it for long.
        assert_eq!(writing.pull_requests_due(at(1), at(60), 9).await.unwrap(), [pending("three")]);
        writing.pull_request_delete_closed(&fleet, 7).await.unwrap();
        assert_eq!(due(&mut writing, 999).await, []);
        writing.pull_request_add(&pending("four"), at(80)).await.unwrap();
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.repository_remove(&fleet).await.unwrap();
        writing.commit().await.unwrap();
    });
}
