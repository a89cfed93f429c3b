//! Crash histories and quarantines.

use windlass_core::quarantine::{CrashHistory, QuarantinableWork, Quarantine, Quarantines, WorkSubject};
use windlass_store::PendingPullRequest;

use crate::world::{at, on_both, plenty};

#[test]
fn attempts_are_counted_until_they_are_uncounted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let test = WorkSubject::Test { account: &acme, url: "https://git.example.com/a.git" };
        let subjects = [
            WorkSubject::Sync(&fleet),
            WorkSubject::PullRequest(&fleet, 7),
            WorkSubject::Requests(&fleet),
            test,
        ];
        let mut writing = world.store.write().await.unwrap();
        for subject in subjects {
            assert_eq!(writing.suspicion(subject).await.unwrap(), CrashHistory::default());
            for deaths in 0..2 {
                let before = CrashHistory { deaths, tries_alone: deaths };
                writing.work_begin(subject, before, at(1)).await.unwrap();
                let expected = CrashHistory { deaths: deaths + 1, ..before };
                assert_eq!(writing.suspicion(subject).await.unwrap(), expected, "{subject:?}");
            }
        }
        let after = CrashHistory { deaths: 1, tries_alone: 1 };
        writing.work_end(subjects[0], after, at(2)).await.unwrap();
        assert_eq!(writing.suspicion(subjects[0]).await.unwrap(), after);
        writing.work_end(subjects[0], CrashHistory::default(), at(2)).await.unwrap();
        assert_eq!(writing.suspicion(subjects[0]).await.unwrap(), CrashHistory::default());
        assert_ne!(writing.suspicion(subjects[1]).await.unwrap(), CrashHistory::default(), "each by itself");
        writing.suspicions_of_tests_delete_old(at(2), &mut plenty()).await.unwrap();
        assert_eq!(writing.suspicion(test).await.unwrap(), CrashHistory::default());
        writing.commit().await.unwrap();
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.repository_remove(&fleet).await.unwrap();
        for subject in subjects {
            assert_eq!(writing.suspicion(subject).await.unwrap(), CrashHistory::default(), "{subject:?}");
        }
    });
}

#[test]
fn a_pull_request_that_crashed_a_server_keeps_its_due_time() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await.id;
        let pending = PendingPullRequest {
            account_id: acme.clone(),
            repository_id: fleet.clone(),
            number: 7,
            reference: "refs/pull/7/head".to_owned(),
            commit_sha: "one".to_owned(),
            attempts: 0,
        };
        let other = PendingPullRequest { commit_sha: "two".to_owned(), ..pending.clone() };
        let mut writing = world.store.write().await.unwrap();
        writing.pull_request_add(&pending, at(1)).await.unwrap();
        writing.work_begin(pending.subject(), CrashHistory::default(), at(1)).await.unwrap();
        writing.pull_request_reschedule(&pending, at(100)).await.unwrap();
        writing.pull_request_add(&other, at(2)).await.unwrap();
        writing.pull_request_delete_closed(&fleet, 7).await.unwrap();
        writing.pull_request_add(&other, at(3)).await.unwrap();
        assert_eq!(writing.pull_requests_due(at(99), at(600), 9).await.unwrap(), []);
        let due = writing.pull_requests_due(at(100), at(600), 9).await.unwrap();
        assert_eq!(
            due,
            [PendingPullRequest { attempts: 1, ..other.clone() }],
            "but where it leads now counts"
        );
        writing.work_end(pending.subject(), CrashHistory::default(), at(4)).await.unwrap();
        writing.pull_request_add(&other, at(5)).await.unwrap();
        assert_eq!(writing.pull_requests_due(at(5), at(600), 9).await.unwrap(), [other]);
        writing.pull_request_delete_closed(&fleet, 7).await.unwrap();
        assert_eq!(writing.pull_requests_due(at(999), at(9999), 9).await.unwrap(), []);
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
        let held = Quarantine { reason: "it died of \"sync\"".to_owned(), since_ms: 7 };
        for work in [QuarantinableWork::PullRequests, QuarantinableWork::Requests] {
            let quarantines = Quarantines::default().with(work, held.clone());
            writing.repository_quarantine(&fleet, &quarantines).await.unwrap();
            assert!(is_due(&mut writing).await, "only {work:?} is held");
        }
        let of_sync = Quarantines::default().with(QuarantinableWork::Sync, held);
        writing.repository_quarantine(&fleet, &of_sync).await.unwrap();
        assert!(!is_due(&mut writing).await);
        let stored = writing.repository(&acme, fleet.as_str()).await.unwrap().unwrap();
        assert_eq!(stored.quarantines, of_sync);
        writing.repository_quarantine(&fleet, &Quarantines::default()).await.unwrap();
        assert!(is_due(&mut writing).await);
    });
}
