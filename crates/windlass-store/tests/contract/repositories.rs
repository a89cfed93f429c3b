//! Registered repositories.

use windlass_core::drift::Acceptance;
use windlass_core::forge::ForgeKind;
use windlass_core::id::RunId;
use windlass_core::repository::{ForgeSettings, Repository};
use windlass_core::run::{Run, RunStatus};
use windlass_store::{Drift, NewDesiredResource, StoreError, new_id};

use crate::world::{at, node, node_key, on_both, repository};

#[test]
fn a_repository_is_stored_as_it_was_configured() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut fleet = world.repository(&acme, "fleet").await;
        fleet.branch = "release/ü".to_owned();
        fleet.host_keys = Some("ssh-ed25519 AAAA".to_owned());
        fleet.signers = Some("ada".to_owned());
        fleet.ca_pem = Some("-----BEGIN".to_owned());
        fleet.credential_path = None;
        (fleet.enabled, fleet.auto_apply) = (false, true);
        fleet.forge = Some(forge());
        fleet.forge_error = Some("no route".to_owned());
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.repository_configure(&fleet).await.unwrap());
        assert!(!writing.repository_configure(&fleet).await.unwrap(), "its version is not the last any more");
        writing.commit().await.unwrap();
        fleet.version = 2;
        let mut reading = world.store.read().await.unwrap();
        for key in [fleet.id.as_str(), "fleet"] {
            let found = reading.repository(&acme, key).await.unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{fleet:?}"));
        }
    });
}

#[test]
fn names_are_unique_in_an_account_and_listed_in_order() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        for (account, name) in [(&acme, "b"), (&acme, "a"), (&acme, "B"), (&other, "a")] {
            world.repository(account, name).await;
        }
        let mut writing = world.store.write().await.unwrap();
        let refused = writing.repository_add(&repository(&acme, "a")).await;
        assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
        drop(writing);
        let mut reading = world.store.read().await.unwrap();
        let names: Vec<String> =
            reading.repositories(&acme).await.unwrap().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["B", "a", "b"]);
    });
}

#[test]
fn enabled_repositories_are_due_and_the_longest_due_comes_first() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write().await.unwrap();
        for (name, due, enabled) in
            [("late", 10, true), ("soon", 5, true), ("off", 1, false), ("far", 99, true)]
        {
            let mut fleet = repository(&acme, name);
            (fleet.next_sync_at, fleet.enabled) = (at(due), enabled);
            writing.repository_add(&fleet).await.unwrap();
        }
        let names = |found: Vec<windlass_core::repository::Repository>| -> Vec<String> {
            found.into_iter().map(|found| found.name).collect()
        };
        assert_eq!(names(writing.repositories_due(at(10), 9).await.unwrap()), ["soon", "late"]);
        assert_eq!(names(writing.repositories_due(at(10), 1).await.unwrap()), ["soon"]);
        let soon = writing.repository(&acme, "soon").await.unwrap().unwrap();
        writing.repository_schedule(&soon.id, at(50)).await.unwrap();
        assert_eq!(names(writing.repositories_due(at(10), 9).await.unwrap()), ["late"]);
    });
}

#[test]
fn a_clock_that_was_set_back_or_forward_delays_no_repository() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let interval = i64::try_from(fleet.interval.as_secs()).unwrap();
        let mut writing = world.store.write().await.unwrap();
        let now = 1_000_000;
        for (next, is_due) in [
            (now, true),
            (now - 1_000_000, true),
            (now + 1, false),
            (now + interval, false),
            (now + interval * 11 / 10, false),
            (now + 1_000_000_000, true),
        ] {
            writing.repository_schedule(&fleet.id, at(next)).await.unwrap();
            let due = writing.repositories_due(at(now), 9).await.unwrap();
            assert_eq!(!due.is_empty(), is_due, "{next}");
        }
    });
}

#[test]
fn a_failed_run_does_not_change_the_last_good_run() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.repositories_with_good_run().await.unwrap(), []);
        writing.repository_set_last_good(&fleet.id, &RunId::new("run-1"), "c0ffee", at(3)).await.unwrap();
        writing
            .repository_record_run(&fleet.id, &RunId::new("run-1"), RunStatus::Success, None, at(3))
            .await
            .unwrap();
        writing
            .repository_record_run(
                &fleet.id,
                &RunId::new("run-2"),
                RunStatus::Failed,
                Some("no route"),
                at(4),
            )
            .await
            .unwrap();
        writing.repository_pin(&fleet.id, "ssh-ed25519 BBBB").await.unwrap();
        let found = writing.repository(&acme, "fleet").await.unwrap().unwrap();
        assert_eq!(
            (found.good_run_id.as_ref().map(RunId::as_str), found.good_commit.as_deref()),
            (Some("run-1"), Some("c0ffee"))
        );
        assert_eq!((found.good_at, found.last_run_at), (Some(at(3)), Some(at(4))));
        assert_eq!(
            (found.last_run_id.as_ref().map(RunId::as_str), found.last_status.slug()),
            (Some("run-2"), "failed")
        );
        assert_eq!((found.last_error.as_deref(), found.version), (Some("no route"), 1));
        assert_eq!(found.host_keys.as_deref(), Some("ssh-ed25519 BBBB"));
        // A run that did not fetch from git changes neither the time of the last read of git nor the last status.
        writing.repository_record_comparison(&fleet.id, &RunId::new("run-3")).await.unwrap();
        let found = writing.repository(&acme, "fleet").await.unwrap().unwrap();
        assert_eq!(
            (found.good_run_id.as_ref().map(RunId::as_str), found.good_at),
            (Some("run-3"), Some(at(3)))
        );
        assert_eq!(
            (found.last_run_id.as_ref().map(RunId::as_str), found.last_status.slug()),
            (Some("run-2"), "failed")
        );
        assert_eq!(writing.repositories_with_good_run().await.unwrap(), [(acme, fleet.id)]);
    });
}

#[test]
fn removing_a_repository_keeps_its_resources_without_an_owner() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (fleet, other) = (world.repository(&acme, "fleet").await, world.repository(&acme, "other").await);
        world.node(&acme, "edge-01", Some(&fleet.id)).await;
        world.node(&acme, "edge-02", Some(&other.id)).await;
        let old = world.run(&fleet).await;
        let (spec, key) = (node("eu"), node_key("edge-01"));
        let mut writing = world.store.write().await.unwrap();
        let wanted = NewDesiredResource {
            name: "edge-01",
            kind: key.kind,
            digest: spec.digest(),
            spec: &spec,
            file: "f",
        };
        writing.desired_replace(&fleet.id, &[wanted]).await.unwrap();
        writing.acceptance_put(&fleet.id, &acceptance()).await.unwrap();
        writing.drifts_put(&fleet.id, &[drift()]).await.unwrap();
        assert!(writing.run_add(&Run::queued(new_id(), &fleet, at(1))).await.unwrap());
        let before = writing.resource(&acme, &key).await.unwrap().unwrap();
        writing.repository_remove(&fleet.id).await.unwrap();
        writing.commit().await.unwrap();

        let mut reading = world.store.read().await.unwrap();
        let after = reading.resource(&acme, &key).await.unwrap().unwrap();
        assert_eq!(
            (after.owner_id, after.digest, after.generation),
            (None, before.digest, before.generation)
        );
        let kept = reading.resource(&acme, &node_key("edge-02")).await.unwrap().unwrap();
        assert_eq!(kept.owner_id, Some(other.id));
        assert!(reading.repository(&acme, fleet.id.as_str()).await.unwrap().is_none());
        assert!(reading.run_queued(&fleet.id).await.unwrap().is_none());
        assert!(reading.run(&acme, &old.id).await.unwrap().is_some(), "what happened stays to be read");
        let checked = world.store.check().await.unwrap();
        assert!(checked.iter().all(|checked| checked.fault.is_none()), "{checked:?}");
    });
}

#[test]
fn resources_are_disowned_in_their_own_account_only() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        world.node(&acme, "edge-01", Some(&fleet.id)).await;
        let mut writing = world.store.write_account(&other).await.unwrap();
        assert_eq!(writing.resources_disown(&fleet.id).await.unwrap(), 0);
        drop(writing);
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert_eq!(writing.resources_disown(&fleet.id).await.unwrap(), 1);
        assert_eq!(writing.resource(&acme, &node_key("edge-01")).await.unwrap().unwrap().owner_id, None);
    });
}

fn forge() -> ForgeSettings {
    ForgeSettings {
        kind: ForgeKind::Gitea,
        api_url: None,
        project: Some("acme/fleet".to_owned()),
        credential_path: Some("gitops/forge".to_owned()),
        commit_status: true,
        comment: false,
        previews_of_forks: true,
    }
}

fn acceptance() -> Acceptance {
    let digest = Some(node("eu").digest());
    let (reason, by) = ("meant".to_owned(), "ada".to_owned());
    Acceptance {
        key: node_key("edge-01"),
        desired: digest,
        accepted: None,
        until: None,
        reason,
        by,
        at: at(1),
    }
}

fn drift() -> Drift {
    Drift {
        key: node_key("edge-01"),
        desired: None,
        accepted: None,
        fields: serde_json::json!([]),
        changed_by: "bob".to_owned(),
        changed_at: at(1),
        detected_at: at(2),
    }
}

#[test]
fn a_repository_that_moves_leaves_its_resources_to_a_repository_in_the_old_account() {
    on_both(|world| async move {
        let (acme, globex) = (world.account("acme").await, world.account("globex").await);
        let fleet = world.repository(&acme, "fleet").await;
        world.node(&acme, "edge", Some(&fleet.id)).await;
        let left = Repository { left_by: Some(fleet.id.clone()), ..repository(&acme, "fleet-moved") };
        let mut writing = world.store.write_accounts(&acme, &globex).await.unwrap();
        writing.repository_add(&left).await.unwrap();
        assert_eq!(writing.resources_change_owner(&acme, &fleet.id, &left.id).await.unwrap(), 1);
        assert_eq!(writing.resources_change_owner(&globex, &left.id, &fleet.id).await.unwrap(), 0);
        writing.repository_move(&fleet, &globex, at(5)).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert!(reading.repository(&acme, fleet.id.as_str()).await.unwrap().is_none());
        assert!(reading.repository(&globex, fleet.id.as_str()).await.unwrap().is_some());
        let found = reading.repository_left_behind(&acme, &fleet.id).await.unwrap().unwrap();
        assert_eq!(found.id, left.id);
        assert!(reading.repository_left_behind(&globex, &fleet.id).await.unwrap().is_none());
        assert_eq!(reading.resources_owned(&acme, &left.id).await.unwrap(), 1);
    });
}
