//! Pull requests that are to be looked at, until they were.

use windlass_store::{PendingPullRequest, Writing};

use crate::world::{at, on_both};

async fn due(writing: &mut Writing, second: i64) -> Vec<PendingPullRequest> {
    writing.pull_requests_due(at(second), at(second + 600), 9).await.unwrap()
}

#[test]
fn what_is_wanted_stays_until_it_was_looked_at_and_something_newer_takes_its_place() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let wish = |commit: &str| PendingPullRequest {
            account_id: acme.clone(),
            repository_id: fleet.clone(),
            number: 7,
            reference: "refs/pull/7/head".to_owned(),
            commit_sha: commit.to_owned(),
            attempts: 0,
        };
        let mut writing = world.store.write().await.unwrap();
        writing.pull_request_add(&wish("one"), at(1)).await.unwrap();
        assert_eq!(due(&mut writing, 1).await, [wish("one")]);
        assert_eq!(due(&mut writing, 0).await, [], "its time has not come");
        writing.pull_request_reschedule(&wish("one"), at(60)).await.unwrap();
        assert_eq!(due(&mut writing, 59).await, []);
        let again = PendingPullRequest { attempts: 1, ..wish("one") };
        assert_eq!(due(&mut writing, 60).await, std::slice::from_ref(&again));
        assert!(!writing.pull_request_done(&wish("one")).await.unwrap(), "it was tried meanwhile");
        writing.pull_request_add(&wish("two"), at(61)).await.unwrap();
        assert!(!writing.pull_request_done(&again).await.unwrap(), "something newer is wanted");
        assert_eq!(due(&mut writing, 61).await, [wish("two")]);
        assert!(writing.pull_request_done(&wish("two")).await.unwrap());
        assert_eq!(due(&mut writing, 999).await, []);
        writing.pull_request_add(&wish("three"), at(70)).await.unwrap();
        // A clock that was put back delays nothing for long.
        assert_eq!(writing.pull_requests_due(at(1), at(60), 9).await.unwrap(), [wish("three")]);
        writing.pull_request_forget(&fleet, 7).await.unwrap();
        assert_eq!(due(&mut writing, 999).await, []);
        writing.pull_request_add(&wish("four"), at(80)).await.unwrap();
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.repository_remove(&fleet).await.unwrap();
        writing.commit().await.unwrap();
    });
}
