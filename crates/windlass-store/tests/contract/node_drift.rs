//! Drift of targets: items by target, what was accepted, and the observed state of many targets at once.

use std::time::Duration;

use windlass_core::digest::Digest;
use windlass_core::drift::{DriftedItem, ItemAcceptance, ItemKey};
use windlass_core::host::FieldDifference;
use windlass_core::id::AccountId;
use windlass_core::observed::{
    AgentMessage, AgentReport, Coverage, Enrolment, Generation, Observation, Observed, ObservedTarget,
    ReportOrder, Sighting,
};
use windlass_core::resource::{DriftMode, Kind, ResourceKey};
use windlass_store::{AcceptedItem, DriftItemsChange, ObservedChange};

use crate::world::{World, at, node_key, on_both, plenty};

fn path(name: &str) -> ItemKey {
    ItemKey { kind: "path".to_owned(), name: name.to_owned() }
}

fn item(name: &str, mode: &str) -> DriftedItem {
    DriftedItem {
        key: path(name),
        module: "nginx".to_owned(),
        mode: DriftMode::Report,
        since: at(5),
        fields: vec![FieldDifference::value("mode", Some(mode), Some("0644"))],
        problem: None,
    }
}

async fn save(
    world: &World,
    account_id: &AccountId,
    target: &ResourceKey,
    gone: &[&str],
    changed: Vec<DriftedItem>,
) {
    let mut writing = world.store.write().await.unwrap();
    let change = DriftItemsChange {
        account_id,
        target,
        gone: gone.iter().map(|name| path(name)).collect(),
        changed: changed.into_iter().enumerate().collect(),
    };
    writing.node_drift_save(&[change]).await.unwrap();
    writing.commit().await.unwrap();
}

#[test]
fn drifted_items_are_read_as_they_were_saved_and_only_for_their_target() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (edge, core) = (node_key("edge"), node_key("core"));
        let unreadable = DriftedItem {
            fields: Vec::new(),
            problem: Some(AgentMessage::new("permission denied")),
            mode: DriftMode::Correct,
            ..item("/etc/b", "0600")
        };
        save(&world, &acme, &edge, &[], vec![item("/etc/a", "0600"), unreadable.clone()]).await;
        save(&world, &acme, &core, &[], vec![item("/etc/a", "0777")]).await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(
            reading.node_drift(&acme, &edge).await.unwrap(),
            [item("/etc/a", "0600"), unreadable.clone()]
        );
        assert!(reading.node_drift(&other, &edge).await.unwrap().is_empty());
        assert_eq!(reading.node_drift_counts(&acme).await.unwrap().get(Kind::Node, "edge"), Some(&2));
        let heads =
            reading.node_drift_heads(&[(&acme, &edge), (&acme, &core), (&other, &edge)]).await.unwrap();
        assert_eq!(heads.len(), 2);
        let head = &heads[&(acme.clone(), core.clone())][0];
        assert_eq!((head.digest, head.since), (item("/etc/a", "0777").digest(), at(5)));
        drop(reading);
        save(&world, &acme, &edge, &["/etc/b"], vec![item("/etc/a", "0000")]).await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.node_drift(&acme, &edge).await.unwrap(), [item("/etc/a", "0000")]);
        assert_eq!(reading.node_drift(&acme, &core).await.unwrap().len(), 1);
    });
}

#[test]
fn an_acceptance_is_listed_with_how_the_item_differs_now_and_is_deleted_after_its_expiry() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let edge = node_key("edge");
        save(&world, &acme, &edge, &[], vec![item("/etc/a", "0600")]).await;
        let acceptance = |name: &str, until| ItemAcceptance {
            item: path(name),
            digest: Digest::of(b"as it was"),
            until,
            reason: "a trial".to_owned(),
            by: "ada@example.com".to_owned(),
            at: at(1),
        };
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.node_drift_accept(&edge, &acceptance("/etc/a", None)).await.unwrap();
        writing.node_drift_accept(&edge, &acceptance("/etc/a", Some(at(10)))).await.unwrap();
        writing.node_drift_accept(&edge, &acceptance("/etc/b", None)).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let accepted = |name, until, current| AcceptedItem {
            target: node_key("edge"),
            acceptance: acceptance(name, until),
            current,
        };
        assert_eq!(
            reading.node_drift_accepted(&acme).await.unwrap(),
            [
                accepted("/etc/a", Some(at(10)), Some(item("/etc/a", "0600").digest())),
                accepted("/etc/b", None, None)
            ]
        );
        assert_eq!(reading.node_drift_acceptances(&acme, &edge).await.unwrap().len(), 2);
        drop(reading);
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert_eq!(writing.node_drift_acceptances_delete_old(at(10), &mut plenty()).await.unwrap(), 0);
        assert_eq!(writing.node_drift_acceptances_delete_old(at(11), &mut plenty()).await.unwrap(), 1);
        assert!(writing.node_drift_unaccept(&edge, &path("/etc/b")).await.unwrap());
        assert!(!writing.node_drift_unaccept(&edge, &path("/etc/b")).await.unwrap());
        writing.commit().await.unwrap();
    });
}

fn module(name: &str) -> ResourceKey {
    ResourceKey::new(Kind::Module, name)
}

fn report(text: &str, sequence: u64, modules: &[&str]) -> AgentReport {
    let seen = Sighting { generation: Generation(1), since: at(3), at: at(4) };
    let observed = Observed::Known { digest: Digest::of(text.as_bytes()), seen };
    let observation = Observation { observed, failure: None };
    AgentReport {
        order: ReportOrder { enrolment: Enrolment(1), generation: Generation(1), sequence },
        coverage: Coverage::Complete,
        target: observation.clone(),
        resources: modules.iter().map(|name| (module(name), observation.clone())).collect(),
    }
}

#[test]
fn many_targets_are_read_and_stored_together_as_each_would_be_alone() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (edge, core) = (node_key("edge"), node_key("core"));
        let targets = [(&acme, &edge), (&acme, &core), (&other, &edge)];
        for (sequence, modules) in [(1, ["nginx", "motd"].as_slice()), (2, ["nginx"].as_slice())] {
            let mut writing = world.store.write().await.unwrap();
            let before = writing.observed_of(&targets).await.unwrap();
            let before = targets.map(|(account_id, target)| {
                before.get(&(account_id.clone(), target.clone())).cloned().unwrap_or_default()
            });
            let after: Vec<ObservedTarget> = before
                .iter()
                .enumerate()
                .map(|(index, before)| {
                    let mut after = before.clone();
                    after.merge(&report(&format!("{index} {sequence}"), sequence, modules));
                    after
                })
                .collect();
            let changes: Vec<ObservedChange<'_>> = targets
                .iter()
                .zip(before.iter().zip(&after))
                .map(|((account_id, target), (before, after))| ObservedChange {
                    account_id,
                    target,
                    before,
                    after,
                })
                .collect();
            writing.observed_save_all(&changes).await.unwrap();
            writing.commit().await.unwrap();
            let mut reading = world.store.read().await.unwrap();
            for ((account_id, target), after) in targets.iter().zip(&after) {
                assert_eq!(&reading.observed(account_id, target).await.unwrap(), after);
            }
        }
    });
}

#[test]
fn storing_what_agents_report_does_not_wait_for_a_transaction_of_the_account() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let edge = node_key("edge");
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let agent = writing.agent_enrol(&edge, at(0)).await.unwrap();
        writing.commit().await.unwrap();
        // SQLite has one writer at a time, whatever it writes.
        let held = match world.store.file() {
            Some(_) => None,
            None => Some(world.store.write_account(&acme).await.unwrap()),
        };
        let stored = async {
            let mut writing = world.store.write().await.unwrap();
            let contacted = writing.agents_contact(&[&agent.id], at(9)).await.unwrap();
            assert_eq!(contacted.len(), 1);
            writing.commit().await.unwrap();
            save(&world, &acme, &edge, &[], vec![item("/etc/a", "0600")]).await;
        };
        let done = tokio::time::timeout(Duration::from_secs(10), stored).await;
        assert!(done.is_ok(), "a report waits for a transaction of its account");
        drop(held);
    });
}
