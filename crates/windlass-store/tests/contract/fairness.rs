//! Accounts take turns in the lists of due work, so that the backlog of one account does not delay the others.

use serde_json::json;
use windlass_core::event::EventKind;
use windlass_core::id::RepositoryId;
use windlass_core::repository::Repository;
use windlass_store::{Delivery, DeliveryState, NewForgeReport, PendingPullRequest, ReportKind, new_id};

use crate::world::{World, at, on_both};

/// Repositories of two accounts, each with the number of items and when they became due: one account has a large old
/// backlog in two repositories, the other a small recent one.
async fn accounts(world: &World) -> [(Repository, i64, i64); 3] {
    let (busy, quiet) = (world.account("busy").await, world.account("quiet").await);
    let slow = world.repository(&busy, "slow").await;
    let other = world.repository(&busy, "other").await;
    let theirs = world.repository(&quiet, "theirs").await;
    [(slow, 20, 1), (other, 2, 5), (theirs, 2, 9)]
}

#[test]
fn accounts_take_turns_and_so_do_their_repositories() {
    on_both(|world| async move {
        let accounts = accounts(&world).await;
        let mut writing = world.store.write().await.unwrap();
        for (repository, count, since) in &accounts {
            for number in 0..*count {
                let subject = number.to_string();
                let report = NewForgeReport {
                    account_id: &repository.account_id,
                    repository_id: &repository.id,
                    kind: ReportKind::Status,
                    subject: &subject,
                    content: "content",
                    run_id: None,
                };
                writing.forge_report_put(&report, at(*since)).await.unwrap();
                let pending = PendingPullRequest {
                    account_id: repository.account_id.clone(),
                    repository_id: repository.id.clone(),
                    number,
                    reference: "refs/pull/1/head".to_owned(),
                    commit_sha: "c0ffee".to_owned(),
                    attempts: 0,
                };
                writing.pull_request_add(&pending, at(*since)).await.unwrap();
                let delivery = Delivery {
                    id: new_id(),
                    account_id: repository.account_id.clone(),
                    alert: String::new(),
                    provider: repository.name.clone(),
                    event_seq: None,
                    event_kind: EventKind::SyncFailed.slug().to_owned(),
                    group_key: "group".to_owned(),
                    message: json!({}),
                    state: DeliveryState::Pending,
                    attempts: 0,
                    repeats: 0,
                    next_at: at(*since),
                    last_error: None,
                    since: at(*since),
                    created_at: at(*since),
                    finished_at: None,
                };
                writing.deliveries_add(&[delivery]).await.unwrap();
            }
        }
        let [slow, other, theirs] = accounts.map(|(repository, ..)| repository);
        let reports = writing.forge_reports_due(at(10), at(9999), 4).await.unwrap();
        let found: Vec<&RepositoryId> = reports.iter().map(|report| &report.repository_id).collect();
        let expected = [&slow.id, &theirs.id, &other.id, &theirs.id];
        assert_eq!(found, expected);
        let pull_requests = writing.pull_requests_due(at(10), at(9999), 4).await.unwrap();
        let found: Vec<&RepositoryId> = pull_requests.iter().map(|pending| &pending.repository_id).collect();
        assert_eq!(found, expected);
        let deliveries = writing.deliveries_due(at(10), 4).await.unwrap();
        let found: Vec<&str> = deliveries.iter().map(|delivery| delivery.provider.as_str()).collect();
        assert_eq!(found, ["slow", "theirs", "other", "theirs"]);
    });
}
