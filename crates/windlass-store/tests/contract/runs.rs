//! Sync runs.

use serde_json::json;
use windlass_core::id::RunId;
use windlass_core::run::{Movement, Run, RunError, RunStatus, Stage, Trigger};
use windlass_store::new_id;

use crate::world::{at, on_both};

#[test]
fn a_second_request_before_the_first_run_begins_joins_it() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (fleet, other) = (world.repository(&acme, "fleet").await, world.repository(&acme, "other").await);
        let queued = || Run::queued(new_id(), &fleet, at(1));
        let first = queued();
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.run_add(&first).await.unwrap());
        assert!(!writing.run_add(&queued()).await.unwrap());
        assert!(writing.run_add(&Run::queued(new_id(), &other, at(1))).await.unwrap());
        writing.run_set_trigger(&first.id, Trigger::Webhook).await.unwrap();
        assert_eq!(writing.run_queued(&fleet.id).await.unwrap().unwrap().trigger, Trigger::Webhook);
        writing.run_request(&first.id, "ada").await.unwrap();
        writing.run_confirm(&first.id, Some("c0ffee")).await.unwrap();
        writing.run_request(&first.id, "bob").await.unwrap();
        let mut found = writing.run_queued(&fleet.id).await.unwrap().unwrap();
        assert_eq!((found.trigger, found.requested_by.as_deref()), (Trigger::Request, Some("bob")));
        assert!(found.confirm_mass_destroy && !found.is_confirmed(), "kept, for the commit it was given for");
        for (commit, is_confirmed) in [("c0ffee", true), ("decade", false)] {
            found.commit_sha = Some(commit.to_owned());
            assert_eq!(found.is_confirmed(), is_confirmed, "{commit}");
        }
        writing.run_confirm(&first.id, None).await.unwrap();
        let any = writing.run_queued(&fleet.id).await.unwrap().unwrap();
        assert!(any.is_confirmed(), "for whatever it finds");
        assert!(writing.run_begin(&first.id, at(2)).await.unwrap());
        assert!(writing.run_queued(&fleet.id).await.unwrap().is_none());
        assert!(writing.run_add(&queued()).await.unwrap(), "the first has begun");
        assert_eq!(writing.runs_unfinished().await.unwrap().len(), 3);
    });
}

#[test]
fn a_run_is_begun_again_finished_once_and_its_status_updated() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let mut run = Run::queued(new_id(), &fleet, at(1));
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.run_add(&run).await.unwrap());
        for _ in 0..2 {
            assert!(writing.run_begin(&run.id, at(2)).await.unwrap());
        }
        writing.run_set_stage(&run.id, Stage::Comparing).await.unwrap();
        writing.run_set_status(&run.id, RunStatus::Applied, None, None).await.unwrap();
        let found = writing.run(&acme, &run.id).await.unwrap().unwrap();
        assert_eq!((found.status, found.stage, found.attempt), (RunStatus::InProgress, Stage::Comparing, 2));

        (run.status, run.stage, run.attempt) = (RunStatus::Failed, Stage::Finished, 2);
        run.commit_sha = Some("c0ffee".to_owned());
        run.commit_author = Some("Ada\0 \u{9b}".replace('\0', "\u{fffd}"));
        run.commit_email = Some("ada@example.com".to_owned());
        run.commit_subject = Some("it's \"ü\"".to_owned());
        run.movement = Some(Movement::First);
        run.diff = json!({ "node": { "create": 2 } });
        (run.diff_count, run.remaining) = (2, 1);
        (run.skipped, run.problems) = (json!([1]), json!(["\u{0}"]));
        let text = |text: &str| text.to_owned();
        run.error = Some(RunError { code: text("git"), message: text("no route"), help: text("look") });
        (run.started_at, run.completed_at) = (Some(at(2)), Some(at(3)));
        assert!(writing.run_finish(&run).await.unwrap());
        assert!(!writing.run_finish(&run).await.unwrap());
        assert!(!writing.run_begin(&run.id, at(4)).await.unwrap());
        writing.run_set_stage(&run.id, Stage::Fetching).await.unwrap();
        let found = writing.run(&acme, &run.id).await.unwrap().unwrap();
        assert_eq!(format!("{found:?}"), format!("{run:?}"));

        let drift = json!(["node a"]);
        writing.run_set_status(&run.id, RunStatus::Applied, Some(&drift), Some(at(5))).await.unwrap();
        let found = writing.run(&acme, &run.id).await.unwrap().unwrap();
        assert_eq!((found.status, found.applied_at), (RunStatus::Applied, Some(at(5))));
        assert_eq!(found.drift_after_apply, Some(drift));
        assert!(writing.runs_unfinished().await.unwrap().is_empty());
    });
}

#[test]
fn runs_are_listed_newest_first_in_pages() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (fleet, other) = (world.repository(&acme, "fleet").await, world.repository(&acme, "other").await);
        let mut ids = Vec::new();
        for number in 0..6 {
            let repository = if number % 2 == 0 { &fleet } else { &other };
            ids.insert(0, world.run(repository).await.id);
        }
        let mut reading = world.store.read().await.unwrap();
        let ids_of = |runs: Vec<Run>| -> Vec<RunId> { runs.into_iter().map(|run| run.id).collect() };
        assert_eq!(ids_of(reading.runs(&acme, None, None, 4).await.unwrap()), ids[..4]);
        assert_eq!(ids_of(reading.runs(&acme, None, Some(&ids[3]), 4).await.unwrap()), ids[4..]);
        let of_one: Vec<RunId> = ids.iter().skip(1).step_by(2).cloned().collect();
        assert_eq!(ids_of(reading.runs(&acme, Some(&fleet.id), None, 9).await.unwrap()), of_one);
    });
}
