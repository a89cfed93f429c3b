//! Rollouts and their nodes.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::digest::Digest;
use windlass_core::id::{ProposalId, RolloutId};
use windlass_core::resource::{Kind, NodeRollout, ResourceKey};
use windlass_core::rollout::{
    Hold, NewRollout, RolloutCounts, RolloutNode, RolloutNodeState, RolloutStatus, RolloutUpdate,
};
use windlass_store::{RolloutDecision, RolloutFilter};

use crate::world::{at, on_both, plenty};

fn new_rollout(nodes: &[(&str, &str)]) -> NewRollout {
    let rollout = json!({"max_unavailable": "10%", "waves": [{"name": "canary", "nodes": ["n0"]}]});
    NewRollout {
        governed_by: ResourceKey::new(Kind::Template, "edge"),
        rollout: NodeRollout::read_stored(&rollout.to_string()).unwrap(),
        status: RolloutStatus::Running,
        reason: None,
        nodes: nodes
            .iter()
            .map(|(name, wave)| {
                let node = RolloutNode {
                    wave: (*wave).to_owned(),
                    document: Digest::of(name.as_bytes()),
                    state: RolloutNodeState::Waiting,
                    message: None,
                    released_at: (*wave == "canary").then(|| at(1)),
                    settled_at: None,
                };
                ((*name).to_owned(), node)
            })
            .collect(),
    }
}

fn update(id: &RolloutId, status: RolloutStatus, hold: Hold) -> RolloutUpdate {
    RolloutUpdate {
        id: id.clone(),
        status,
        reason: None,
        released: ["n2".to_owned()].into(),
        changed: BTreeMap::new(),
        counts: RolloutCounts::default(),
        waves_started: BTreeMap::new(),
        hold,
    }
}

#[test]
fn a_rollout_is_read_back_as_it_was_stored_and_follows_its_updates() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let new = new_rollout(&[("n0", "canary"), ("n1", "rest"), ("n2", "rest")]);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.accounts_with_rollouts().await.unwrap(), [].into());
        let proposals = [ProposalId::new("p1")];
        let id = writing.rollout_start(&acme, &new, &proposals, at(1)).await.unwrap();
        assert_eq!(writing.accounts_with_rollouts().await.unwrap(), [acme.clone()].into());
        let held = writing.rollouts_holding(&acme).await.unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!((&held[0].rollout.rollout, &held[0].rollout.nodes), (&new.rollout, &new.nodes));
        assert_eq!((held[0].counts.waiting, held[0].counts.total()), (3, 3));
        assert_eq!(held[0].proposals, proposals);
        let failed = RolloutNode {
            state: RolloutNodeState::Failed,
            message: Some("exit code 1".to_owned()),
            released_at: Some(at(2)),
            settled_at: Some(at(3)),
            ..new.nodes["n2"].clone()
        };
        let running = RolloutStatus::Running;
        let moved = RolloutUpdate {
            reason: Some("wave rest waits".to_owned()),
            changed: [("n2".to_owned(), failed.clone())].into(),
            counts: RolloutCounts { waiting: 2, failed: 1, ..RolloutCounts::default() },
            ..update(&id, running, Hold::Holds)
        };
        assert!(writing.rollout_update(&acme, running, &moved, at(2)).await.unwrap());
        let stored = writing.rollout(&acme, &id).await.unwrap().unwrap();
        assert_eq!((stored.counts, stored.ended_at, stored.hold), (moved.counts, None, Hold::Holds));
        assert_eq!((&stored.rollout.nodes["n2"], &stored.rollout.nodes["n1"]), (&failed, &new.nodes["n1"]));
        assert_eq!((stored.rollout.reason.as_deref(), stored.updated_at), (Some("wave rest waits"), at(2)));
        let ended = update(&id, RolloutStatus::Completed, Hold::Released);
        assert!(writing.rollout_update(&acme, running, &ended, at(4)).await.unwrap());
        assert_eq!(writing.rollouts_holding(&acme).await.unwrap(), []);
        assert_eq!(writing.accounts_with_rollouts().await.unwrap(), [].into());
        let stored = writing.rollout(&acme, &id).await.unwrap().unwrap();
        assert_eq!((stored.rollout.status, stored.ended_at), (RolloutStatus::Completed, Some(at(4))));
        writing.commit().await.unwrap();
    });
}

#[test]
fn what_somebody_decided_is_not_overwritten_by_an_update_that_came_later() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let mut writing = world.store.write().await.unwrap();
        let new = new_rollout(&[("n0", "rest")]);
        let id = writing.rollout_start(&acme, &new, &[], at(1)).await.unwrap();
        let decision = RolloutDecision {
            status: RolloutStatus::Aborted,
            reason: Some("ada: wrong version".to_owned()),
            tolerated: ["n0".to_owned()].into(),
        };
        let running = RolloutStatus::Running;
        assert!(!writing.rollout_decide(&other, &id, running, &decision, at(2)).await.unwrap());
        assert!(writing.rollout_decide(&acme, &id, running, &decision, at(2)).await.unwrap());
        assert!(!writing.rollout_decide(&acme, &id, running, &decision, at(3)).await.unwrap());
        let late = RolloutUpdate {
            changed: [("n9".to_owned(), new.nodes["n0"].clone())].into(),
            ..update(&id, RolloutStatus::Completed, Hold::Released)
        };
        assert!(!writing.rollout_update(&acme, running, &late, at(4)).await.unwrap());
        let stored = writing.rollout(&acme, &id).await.unwrap().unwrap();
        assert_eq!(stored.rollout.status, RolloutStatus::Aborted);
        assert_eq!((stored.rollout.tolerated, stored.rollout.nodes), (decision.tolerated, new.nodes));
        assert_eq!(writing.rollout(&other, &id).await.unwrap(), None, "of another account");
        writing.commit().await.unwrap();
    });
}

#[test]
fn rollouts_are_listed_newest_first_and_deleted_when_they_are_old_and_hold_nothing() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write().await.unwrap();
        let mut ids = Vec::new();
        for node in ["n0", "n1", "n0"] {
            ids.push(
                writing.rollout_start(&acme, &new_rollout(&[(node, "rest")]), &[], at(1)).await.unwrap(),
            );
        }
        let all = RolloutFilter::default();
        let first = writing.rollouts(&acme, &all, None, 2).await.unwrap();
        let listed: Vec<_> = first.iter().map(|stored| stored.rollout.id.clone()).collect();
        assert_eq!(listed, [ids[2].clone(), ids[1].clone()]);
        let rest = writing.rollouts(&acme, &all, Some(&ids[1]), 2).await.unwrap();
        assert_eq!(rest.len(), 1);
        let of_node = RolloutFilter { node: Some("n1".to_owned()), ..RolloutFilter::default() };
        assert_eq!(writing.rollouts(&acme, &of_node, None, 9).await.unwrap().len(), 1);
        let (running, completed) = (RolloutStatus::Running, RolloutStatus::Completed);
        let ended = |hold| update(&ids[0], completed, hold);
        writing.rollout_update(&acme, running, &ended(Hold::Holds), at(2)).await.unwrap();
        let of_status =
            |statuses: &[RolloutStatus]| RolloutFilter { statuses: statuses.to_vec(), node: None };
        assert_eq!(writing.rollouts(&acme, &of_status(&[running]), None, 9).await.unwrap().len(), 2);
        let both = of_status(&[running, completed]);
        assert_eq!(writing.rollouts(&acme, &both, Some(&ids[1]), 9).await.unwrap().len(), 1);
        assert_eq!(writing.rollouts_delete_old(at(9), &mut plenty()).await.unwrap(), 0, "it holds nodes");
        writing.rollout_update(&acme, completed, &ended(Hold::Released), at(2)).await.unwrap();
        assert_eq!(writing.rollouts_delete_old(at(9), &mut plenty()).await.unwrap(), 2, "it and its node");
        assert_eq!(writing.rollout(&acme, &ids[0]).await.unwrap(), None);
        writing.commit().await.unwrap();
    });
}
