//! Beginnings that are counted, and what is not done any more.

use windlass_core::quarantine::{Quarantine, Quarantines};
use windlass_store::{PullRequestWish, Run};

use crate::world::{at, on_both};

#[test]
fn beginnings_are_counted_until_they_are_taken_back() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let run = Run::queued(&acme, &fleet, "fleet", at(1));
        let wish = PullRequestWish {
            account_id: acme.clone(),
            repository_id: fleet.clone(),
            number: 7,
            reference: "refs/pull/7/head".to_owned(),
            commit_sha: "one".to_owned(),
            attempts: 0,
        };
        let mut writing = world.store.write().await.unwrap();
        writing.run_add(&run).await.unwrap();
        writing.pull_request_want(&wish, at(1)).await.unwrap();
        assert_eq!(writing.run_deaths(&run.id).await.unwrap(), 0);
        assert_eq!(writing.pull_request_deaths(&wish).await.unwrap(), 0);
        for deaths in 0..2 {
            writing.run_beginning(&run.id, deaths).await.unwrap();
            writing.pull_request_beginning(&wish, deaths).await.unwrap();
            assert_eq!(writing.run_deaths(&run.id).await.unwrap(), deaths + 1);
            assert_eq!(writing.pull_request_deaths(&wish).await.unwrap(), deaths + 1);
        }
        // Neither other commits nor closing it make a pull request look innocent.
        writing
            .pull_request_want(&PullRequestWish { commit_sha: "two".to_owned(), ..wish.clone() }, at(2))
            .await
            .unwrap();
        writing.pull_request_forget(&fleet, 7).await.unwrap();
        assert_eq!(writing.pull_request_deaths(&wish).await.unwrap(), 2);
        writing.run_survived(&run.id, 1).await.unwrap();
        writing.pull_request_survived(&wish, 0).await.unwrap();
        assert_eq!(writing.run_deaths(&run.id).await.unwrap(), 1);
        writing.pull_request_forget(&fleet, 7).await.unwrap();
        assert!(writing.pull_requests_due(at(9), at(600), 9).await.unwrap().is_empty());
    });
}

#[test]
fn a_quarantined_repository_is_never_due_and_a_released_one_is() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let mut writing = world.store.write().await.unwrap();
        writing.repository_schedule(&fleet, at(1)).await.unwrap();
        let is_due = async |writing: &mut windlass_store::Writing| {
            let due = writing.repositories_due(at(2), 9).await.unwrap();
            due.iter().any(|repository| repository.id == fleet)
        };
        assert!(is_due(&mut writing).await);
        let held = Some(Quarantine { reason: "it died of \"sync\"".to_owned(), since_ms: 7 });
        let of_requests = Quarantines { pull_requests: held.clone(), sync: None };
        writing.repository_quarantine(&fleet, &of_requests).await.unwrap();
        assert!(is_due(&mut writing).await, "only its pull requests are held");
        let of_sync = Quarantines { sync: held, pull_requests: None };
        writing.repository_quarantine(&fleet, &of_sync).await.unwrap();
        assert!(!is_due(&mut writing).await);
        let stored = writing.repository(&acme, &fleet).await.unwrap().unwrap();
        assert_eq!(stored.quarantines, of_sync);
        writing.repository_quarantine(&fleet, &Quarantines::default()).await.unwrap();
        assert!(is_due(&mut writing).await);
    });
}
