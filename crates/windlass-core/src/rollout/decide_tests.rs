use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::resource::{Kind, Spec};
use crate::rollout::RolloutAction;

fn rollout_spec(spec: serde_json::Value) -> NodeRollout {
    let template = json!({"node_platform": "debian-12-amd64", "rollout": spec});
    match Spec::read_stored(Kind::Template, &template.to_string()) {
        Some(Spec::Template(template)) => template.rollout.expect("a rollout"),
        other => panic!("{other:?}"),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn document(version: u32) -> Digest {
    Digest::of(format!("document {version}").as_bytes())
}

/// A fleet that follows the decisions: what the store and the agents do.
struct Fleet {
    spec: Option<NodeRollout>,
    wanted: BTreeMap<String, u32>,
    assigned: BTreeMap<String, u32>,
    applied: BTreeMap<String, AppliedState>,
    offline: BTreeSet<String>,
    unmade: BTreeSet<String>,
    rollouts: Vec<(Rollout, Hold)>,
    waves_started: BTreeMap<String, usize>,
    now: i64,
    labels: Labels,
}

impl Fleet {
    fn new(spec: Option<serde_json::Value>, nodes: usize) -> Fleet {
        let names: Vec<String> = (0..nodes).map(|index| format!("n{index}")).collect();
        Fleet {
            spec: spec.map(rollout_spec),
            wanted: names.iter().map(|name| (name.clone(), 1)).collect(),
            assigned: names.iter().map(|name| (name.clone(), 1)).collect(),
            applied: names.iter().map(|name| (name.clone(), AppliedState::InSync)).collect(),
            offline: BTreeSet::new(),
            unmade: BTreeSet::new(),
            rollouts: Vec::new(),
            waves_started: BTreeMap::new(),
            now: 0,
            labels: Labels::new(),
        }
    }

    fn want(&mut self, version: u32) {
        self.wanted.values_mut().for_each(|wanted| *wanted = version);
    }

    /// One turn: the nodes that got a document.
    fn turn(&mut self) -> Vec<String> {
        let nodes: BTreeMap<String, NodeToAssign<'_>> = self
            .wanted
            .iter()
            .map(|(name, wanted)| {
                let governed_by = self
                    .spec
                    .clone()
                    .map(|rollout| Governing { resource: ResourceKey::new(Kind::Template, "edge"), rollout })
                    .map(Arc::new);
                let node = NodeToAssign {
                    wanted: (!self.unmade.contains(name)).then(|| document(*wanted)),
                    assigned: self.assigned.get(name).map(|version| document(*version)),
                    labels: &self.labels,
                    governed_by,
                    is_offline: self.offline.contains(name),
                    applied: self.applied.get(name).cloned().unwrap_or(AppliedState::Applying),
                };
                (name.clone(), node)
            })
            .collect();
        let holding: Vec<Rollout> = self
            .rollouts
            .iter()
            .filter(|(_, hold)| *hold == Hold::Holds)
            .map(|(rollout, _)| rollout.clone())
            .collect();
        let decisions = decide(&nodes, &holding, at(self.now));
        for update in decisions.updated {
            let (rollout, hold) =
                self.rollouts.iter_mut().find(|(rollout, _)| rollout.id == update.id).expect("a known one");
            (rollout.status, rollout.reason, *hold) = (update.status, update.reason, update.hold);
            self.waves_started = update.waves_started;
            rollout.nodes.extend(update.changed);
            assert_eq!(update.counts, rollout.nodes.values().map(|node| node.state).collect());
        }
        for new in decisions.started {
            let id = RolloutId::new(format!("r{}", self.rollouts.len()));
            let NewRollout { governed_by, rollout, status, reason, nodes } = new;
            let tolerated = BTreeSet::new();
            let rollout = Rollout { id, governed_by, rollout, status, reason, tolerated, nodes };
            self.rollouts.push((rollout, Hold::Holds));
        }
        for name in &decisions.assign {
            self.assigned.insert(name.clone(), self.wanted[name]);
            self.applied.insert(name.clone(), AppliedState::Applying);
        }
        decisions.assign.into_iter().collect()
    }

    fn succeed(&mut self, nodes: &[String]) {
        nodes.iter().for_each(|node| drop(self.applied.insert(node.clone(), AppliedState::InSync)));
    }

    fn fail(&mut self, nodes: &[String]) {
        let failed = || AppliedState::Failed { message: "exit code 1".to_owned() };
        nodes.iter().for_each(|node| drop(self.applied.insert(node.clone(), failed())));
    }

    fn rollout(&mut self) -> &mut Rollout {
        &mut self.rollouts.last_mut().expect("a rollout").0
    }

    fn statuses(&self) -> Vec<&'static str> {
        self.rollouts.iter().map(|(rollout, _)| rollout.status.slug()).collect()
    }
}

#[test]
fn without_a_rollout_every_node_gets_its_document_at_once() {
    let mut fleet = Fleet::new(None, 3);
    assert_eq!(fleet.turn(), Vec::<String>::new(), "nothing is new");
    fleet.want(2);
    assert_eq!(fleet.turn(), ["n0", "n1", "n2"]);
    assert_eq!(fleet.statuses(), Vec::<&str>::new());
}

#[test]
fn a_node_that_never_had_a_document_gets_its_first_one_at_once() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.assigned.clear();
    assert_eq!(fleet.turn().len(), 3);
    assert_eq!(fleet.statuses(), Vec::<&str>::new());
}

#[test]
fn a_rollout_moves_node_by_node_and_ends() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.want(2);
    for expected in ["n0", "n1", "n2"] {
        let released = fleet.turn();
        assert_eq!(released, [expected]);
        assert_eq!(fleet.turn(), Vec::<String>::new(), "asking again changes nothing");
        fleet.now += 1;
        fleet.succeed(&released);
    }
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.statuses(), ["completed"]);
}

#[test]
fn failures_stop_it_and_the_rest_keeps_what_it_has_until_somebody_resumes() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.want(2);
    let first = fleet.turn();
    fleet.fail(&first);
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.statuses(), ["stopped"]);
    assert_eq!(fleet.rollouts[0].0.reason.as_deref(), Some("n0 failed, and the rollout stops at 1 failure"));
    let node = fleet.rollout().nodes["n0"].clone();
    assert_eq!((node.state, node.message.as_deref()), (RolloutNodeState::Failed, Some("exit code 1")));
    fleet.rollout().tolerated = fleet.rollouts[0].0.tolerated_after(RolloutAction::Resume);
    fleet.rollout().status = RolloutStatus::Running;
    assert_eq!(fleet.turn(), ["n1"], "the failed node counts no more");
    fleet.fail(&["n1".to_owned()]);
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.statuses(), ["stopped"], "another failure does");
}

#[test]
fn a_stopped_rollout_stays_stopped_when_the_failed_node_recovers() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 2);
    fleet.want(2);
    let first = fleet.turn();
    fleet.fail(&first);
    fleet.turn();
    fleet.succeed(&first);
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.statuses(), ["stopped"]);
    let reason = fleet.rollouts[0].0.reason.as_deref();
    assert_eq!(reason, Some("n0 failed, and the rollout stops at 1 failure"), "why it stopped stays known");
}

#[test]
fn a_change_of_one_node_leaves_the_others_in_a_rollout_that_stopped_or_was_aborted() {
    for status in [RolloutStatus::Stopped, RolloutStatus::Aborted] {
        let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 4);
        fleet.want(2);
        let first = fleet.turn();
        fleet.fail(&first);
        fleet.turn();
        fleet.rollout().status = status;
        fleet.wanted.insert("n2".to_owned(), 3);
        assert_eq!(fleet.turn(), ["n2"], "it has a rollout of its own");
        assert_eq!(fleet.statuses(), [status.slug(), "running"]);
        assert_eq!(fleet.rollouts[0].0.nodes["n2"].state, RolloutNodeState::Left);
        fleet.succeed(&["n2".to_owned()]);
        assert_eq!(fleet.turn(), Vec::<String>::new());
        assert_eq!(fleet.statuses(), [status.slug(), "completed"]);
    }
}

#[test]
fn a_node_whose_document_cannot_be_made_stays_in_the_rollout_and_holds_nothing_up() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.want(2);
    let first = fleet.turn();
    fleet.unmade.insert("n1".to_owned());
    fleet.succeed(&first);
    let next = fleet.turn();
    assert_eq!(next, ["n2"]);
    fleet.succeed(&next);
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!((fleet.statuses(), fleet.rollouts[0].1), (vec!["completed"], Hold::Holds));
    fleet.unmade.clear();
    assert_eq!(fleet.turn(), Vec::<String>::new(), "it is held as a skipped node is");
}

#[test]
fn a_pause_begins_when_the_server_sees_the_wave_in_sync() {
    let waves = json!({"waves": [{"name": "canary", "nodes": ["n0"]}], "pause": "10s"});
    let mut fleet = Fleet::new(Some(waves), 3);
    fleet.want(2);
    let first = fleet.turn();
    assert_eq!(first, ["n0"]);
    fleet.now = 100;
    fleet.succeed(&first);
    for now in [100, 105, 109] {
        fleet.now = now;
        assert_eq!(fleet.turn(), Vec::<String>::new());
    }
    assert_eq!(
        fleet.rollout().reason.as_deref(),
        Some("waiting until 1970-01-01T00:01:50.000Z after wave canary")
    );
    assert_eq!(fleet.rollout().nodes["n0"].settled_at, Some(at(100)));
    fleet.now = 110;
    assert_eq!(fleet.turn(), ["n1", "n2"]);
    assert_eq!(fleet.waves_started, [("rest".to_owned(), 2)].into());
    fleet.succeed(&["n1".to_owned()]);
    fleet.turn();
    assert_eq!(fleet.waves_started, BTreeMap::new());
}

#[test]
fn a_stopped_rollout_is_superseded_by_the_fix() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 2);
    fleet.want(2);
    let first = fleet.turn();
    fleet.fail(&first);
    fleet.turn();
    fleet.want(3);
    assert_eq!(fleet.turn(), ["n0"]);
    assert_eq!(fleet.statuses(), ["superseded", "running"]);
}

#[test]
fn an_aborted_rollout_keeps_the_change_from_the_nodes_it_did_not_reach() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.want(2);
    let first = fleet.turn();
    fleet.succeed(&first);
    fleet.rollouts[0].0.status = RolloutStatus::Aborted;
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.turn(), Vec::<String>::new());
    assert_eq!(fleet.statuses(), ["aborted"], "no second one begins");
    fleet.want(1);
    assert_eq!(fleet.turn(), ["n0"], "git took the change back");
    assert_eq!(fleet.statuses(), ["aborted", "running"]);
}

#[test]
fn a_promoted_rollout_releases_every_node_that_waits() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 4);
    fleet.want(2);
    let first = fleet.turn();
    fleet.rollouts[0].0.status = RolloutStatus::Promoted;
    let rest = fleet.turn();
    assert_eq!(rest, ["n1", "n2", "n3"]);
    fleet.succeed(&first);
    fleet.succeed(&rest);
    fleet.turn();
    assert_eq!(fleet.statuses(), ["completed"]);
}

#[test]
fn a_promoted_rollout_ends_although_nodes_failed() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 3);
    fleet.want(2);
    let first = fleet.turn();
    fleet.rollout().status = RolloutStatus::Promoted;
    let rest = fleet.turn();
    fleet.fail(&first);
    fleet.succeed(&rest);
    fleet.turn();
    assert_eq!(fleet.statuses(), ["completed"]);
    assert_eq!(fleet.rollout().reason.as_deref(), Some("n0 failed"));
}

#[test]
fn skipped_nodes_get_the_change_with_the_next_rollout() {
    let mut fleet = Fleet::new(Some(json!({"offline": "skip"})), 3);
    fleet.offline.insert("n1".to_owned());
    fleet.want(2);
    let released = fleet.turn();
    assert_eq!(released, ["n0", "n2"]);
    fleet.succeed(&released);
    fleet.turn();
    assert_eq!(fleet.statuses(), ["completed"]);
    fleet.offline.clear();
    assert_eq!(fleet.turn(), Vec::<String>::new(), "it came back too late for this one");
    assert_eq!(fleet.statuses(), ["completed"], "and no rollout begins for it alone");
    fleet.want(3);
    assert_eq!(fleet.turn().len(), 3);
}

#[test]
fn a_paused_rollout_waits_and_keeps_the_reason() {
    let mut fleet = Fleet::new(Some(json!({"max_unavailable": 1})), 2);
    fleet.want(2);
    let first = fleet.turn();
    fleet.succeed(&first);
    fleet.rollout().status = RolloutStatus::Paused;
    fleet.rollout().reason = Some("paused by ada".to_owned());
    assert_eq!(fleet.turn(), Vec::<String>::new());
    let reason = fleet.rollouts[0].0.reason.as_deref();
    assert_eq!(
        (fleet.statuses(), reason),
        (vec!["paused"], Some("paused by ada")),
        "who paused it stays known"
    );
}

proptest! {
    /// Whatever the limits, the failures, the offline nodes, the changes and people's decisions are: no node gets anything
    /// but what it shall have, no more nodes of a rollout are unavailable than allowed, no node is held by two rollouts, no
    /// node gets a change from a rollout that is paused, stopped or aborted, and every turn can be repeated.
    #[test]
    fn limits_hold_and_turns_repeat(
        max_unavailable in 1usize..4,
        threshold in 1usize..4,
        offline_mode in prop::sample::select(vec!["catch_up", "wait", "skip"]),
        steps in prop::collection::vec((0u8..12, 0usize..8), 1..80),
    ) {
        let spec = json!({
            "max_unavailable": max_unavailable, "failure_threshold": threshold, "offline": offline_mode,
        });
        let mut fleet = Fleet::new(Some(spec), 8);
        let mut version = 1;
        for (step, index) in steps {
            let node = format!("n{index}");
            fleet.now += 1;
            match step {
                0 => { version += 1; fleet.want(version); }
                1 => { version += 1; fleet.wanted.insert(node, version); }
                2 => { fleet.wanted.insert(node, 1); }
                3 | 4 => fleet.succeed(&[node]),
                5 => fleet.fail(&[node]),
                6 => { fleet.offline.insert(node); }
                7 => { fleet.offline.remove(&node); }
                8 => { fleet.unmade.insert(node); }
                9 => fleet.unmade.clear(),
                _ => {
                    let action = RolloutAction::ALL[index % RolloutAction::ALL.len()];
                    if let Some((rollout, hold)) = fleet.rollouts.last_mut()
                        && let Some(status) = rollout.status.after(action, *hold)
                    {
                        rollout.tolerated = rollout.tolerated_after(action);
                        rollout.status = status;
                    }
                }
            }
            let before: Vec<RolloutStatus> = fleet.rollouts.iter().map(|(rollout, _)| rollout.status).collect();
            let released = fleet.turn();
            for name in &released {
                prop_assert_eq!(fleet.assigned[name], fleet.wanted[name]);
                prop_assert!(!fleet.unmade.contains(name));
            }
            let mut held = BTreeSet::new();
            for (index, (rollout, hold)) in fleet.rollouts.iter().enumerate() {
                let members: Vec<_> = rollout.nodes.iter()
                    .filter(|(name, node)| document(fleet.wanted[*name]) == node.document).collect();
                let moving = members.iter().filter(|(name, node)| {
                    node.state == RolloutNodeState::Applying && !fleet.offline.contains(*name)
                }).count();
                let moved = members.iter().any(|(name, node)| {
                    released.contains(name) && node.released_at == Some(at(fleet.now))
                        && !fleet.offline.contains(*name)
                });
                match before.get(index) {
                    Some(RolloutStatus::Running) | None => {
                        prop_assert!(!moved || moving <= max_unavailable, "{moving} > {max_unavailable}");
                    }
                    Some(RolloutStatus::Promoted) => {}
                    Some(_) => prop_assert!(!moved || *hold == Hold::Released, "it does not move"),
                }
                if *hold == Hold::Holds {
                    for (name, _) in &members {
                        prop_assert!(held.insert((*name).clone()), "{name} is held twice");
                    }
                }
            }
            prop_assert_eq!(fleet.turn(), Vec::<String>::new());
        }
    }
}
