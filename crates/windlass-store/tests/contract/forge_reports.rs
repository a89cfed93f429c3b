//! Reports to forges, until they are sent.

use std::sync::LazyLock;

use windlass_core::id::{AccountId, RepositoryId, RunId};
use windlass_core::run::Run;
use windlass_store::{ForgeReport, NewForgeReport, ReportKind, ReportState, Writing, new_id};

use crate::world::{World, at, on_both, plenty};

/// The run that the reports are about.
static RUN: LazyLock<RunId> = LazyLock::new(|| RunId::new("run-1"));

fn new<'r>(
    account: &'r AccountId,
    repository: &'r RepositoryId,
    subject: &'r str,
    content: &'r str,
) -> NewForgeReport<'r> {
    NewForgeReport {
        account_id: account,
        repository_id: repository,
        kind: ReportKind::Status,
        subject,
        content,
        run_id: Some(&RUN),
    }
}

async fn due(writing: &mut Writing, second: i64) -> Vec<ForgeReport> {
    writing.forge_reports_due(at(second), at(second + 7200), 9).await.unwrap()
}

/// An account and a repository in it.
async fn account_and_repository(world: &World) -> (AccountId, RepositoryId) {
    let acme = world.account("acme").await;
    let fleet = world.repository(&acme, "fleet").await.id;
    (acme, fleet)
}

#[test]
fn the_same_report_is_sent_once_and_a_changed_one_again() {
    on_both(|world| async move {
        let (acme, fleet) = account_and_repository(&world).await;
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "one"), at(1)).await.unwrap());
        assert!(!writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "one"), at(2)).await.unwrap());
        let first = due(&mut writing, 1).await.remove(0);
        assert_eq!((first.content.as_str(), first.attempts, first.state), ("one", 0, ReportState::Waiting));
        assert_eq!(
            (first.kind, first.run_id.as_ref().map(RunId::as_str)),
            (ReportKind::Status, Some("run-1"))
        );
        assert!(due(&mut writing, 0).await.is_empty(), "its time has not come");
        assert!(writing.forge_report_is_current(&first).await.unwrap());
        assert!(writing.forge_report_mark_failed(&first, "no route", Some(at(60)), at(2)).await.unwrap());
        assert!(due(&mut writing, 59).await.is_empty());
        assert!(!writing.forge_report_is_current(&first).await.unwrap(), "it was tried meanwhile");
        let again = due(&mut writing, 60).await.remove(0);
        assert_eq!((again.attempts, again.last_error.as_deref()), (1, Some("no route")));
        assert!(writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "two"), at(3)).await.unwrap());
        let second = due(&mut writing, 3).await.remove(0);
        assert_eq!((second.content.as_str(), second.attempts, second.last_error.clone()), ("two", 0, None));
        assert!(
            !writing.forge_report_mark_sent(&first, at(4)).await.unwrap(),
            "another is to be shown by now"
        );
        assert!(writing.forge_report_mark_sent(&second, at(4)).await.unwrap());
        assert!(due(&mut writing, 999).await.is_empty());
        assert!(!writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "two"), at(5)).await.unwrap());
        let all = writing.forge_reports(&acme, &fleet, ReportKind::Status, 9).await.unwrap();
        assert_eq!((all.len(), all[0].state, all[0].updated_at), (1, ReportState::Sent, at(4)));
        for (account, kind) in
            [(&AccountId::new("another"), ReportKind::Status), (&acme, ReportKind::Comment)]
        {
            assert_eq!(writing.forge_reports(account, &fleet, kind, 9).await.unwrap(), []);
        }
    });
}

#[test]
fn failed_reports_are_retried_after_the_repository_settings_change() {
    on_both(|world| async move {
        let (acme, fleet) = account_and_repository(&world).await;
        let mut writing = world.store.write().await.unwrap();
        for subject in ["a", "b"] {
            writing.forge_report_put(&new(&acme, &fleet, subject, "one"), at(1)).await.unwrap();
        }
        let both = due(&mut writing, 1).await;
        assert!(writing.forge_report_mark_failed(&both[0], "refused", None, at(2)).await.unwrap());
        assert!(writing.forge_report_mark_sent(&both[1], at(2)).await.unwrap());
        assert!(due(&mut writing, 9999).await.is_empty());
        assert_eq!(writing.forge_reports_retry(&fleet, at(5)).await.unwrap(), 1);
        let again = due(&mut writing, 5).await;
        assert_eq!((again.len(), again[0].attempts), (1, 0));
        assert_eq!(
            writing.forge_reports_delete_old(at(5), &mut plenty()).await.unwrap(),
            1,
            "what was sent long ago"
        );
        writing.forge_reports_remove(&fleet).await.unwrap();
        assert!(due(&mut writing, 9999).await.is_empty());
    });
}

#[test]
fn a_clock_that_was_set_back_delays_no_report() {
    on_both(|world| async move {
        let (acme, fleet) = account_and_repository(&world).await;
        let mut writing = world.store.write().await.unwrap();
        writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "one"), at(1_000_000)).await.unwrap();
        assert_eq!(due(&mut writing, 10).await.len(), 1);
        assert_eq!(due(&mut writing, 999_000).await.len(), 0);
    });
}

#[test]
fn reports_are_deleted_with_their_repository() {
    on_both(|world| async move {
        let (acme, fleet) = account_and_repository(&world).await;
        let mut writing = world.store.write().await.unwrap();
        writing.forge_report_put(&new(&acme, &fleet, "c0ffee", "one"), at(1)).await.unwrap();
        writing.repository_forge_result(&fleet, Some("no route")).await.unwrap();
        let found = writing.repository(&acme, fleet.as_str()).await.unwrap().unwrap();
        assert_eq!((found.forge_error.as_deref(), found.version), (Some("no route"), 1));
        writing.repository_remove(&fleet).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(world.ask("SELECT subject AS answer FROM forge_reports").await, [] as [String; 0]);
    });
}

#[test]
fn the_last_commit_is_that_of_the_newest_run_that_read_one() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.run_of_last_commit(&acme, &fleet.id).await.unwrap().is_none());
        for commit in [Some("old"), Some("new"), None] {
            let mut run = Run::queued(new_id(), &fleet, at(1));
            assert!(writing.run_add(&run).await.unwrap());
            run.commit_sha = commit.map(str::to_owned);
            run.status = windlass_core::run::RunStatus::Success;
            assert!(writing.run_finish(&run).await.unwrap());
        }
        let last = writing.run_of_last_commit(&acme, &fleet.id).await.unwrap().unwrap();
        assert_eq!(last.commit_sha.as_deref(), Some("new"));
        assert!(writing.run_of_last_commit(&AccountId::new("another"), &fleet.id).await.unwrap().is_none());
    });
}
