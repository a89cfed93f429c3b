use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::resource::{Kind, Spec};

fn rollout(spec: serde_json::Value) -> NodeRollout {
    let template = json!({"node_platform": "debian-12-amd64", "rollout": spec});
    match Spec::read_stored(Kind::Template, &template.to_string()) {
        Some(Spec::Template(template)) => template.rollout.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn labels(pairs: serde_json::Value) -> Labels {
    match Spec::read_stored(Kind::Node, &json!({"template": "t", "labels": pairs}).to_string()) {
        Some(Spec::Node(node)) => node.labels,
        other => panic!("{other:?}"),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

struct World {
    plan: RolloutPlan,
    progress: BTreeMap<String, NodeProgress>,
    now: i64,
}

impl World {
    fn new(spec: serde_json::Value, nodes: usize) -> World {
        let (names, none): (Vec<String>, Labels) =
            ((0..nodes).map(|index| format!("n{index:03}")).collect(), Labels::new());
        let pairs: Vec<(&str, &Labels)> = names.iter().map(|name| (name.as_str(), &none)).collect();
        World { plan: RolloutPlan::new(&rollout(spec), &pairs), progress: BTreeMap::new(), now: 0 }
    }

    fn step(&self) -> RolloutStep {
        self.plan.next_step(&self.progress, &RolloutOrders::default(), at(self.now))
    }

    fn set(&mut self, node: &str, progress: NodeProgress) {
        self.progress.insert(node.to_owned(), progress);
    }

    fn release(&mut self) -> Vec<String> {
        let RolloutStep::Release(nodes) = self.step() else { return Vec::new() };
        for node in &nodes {
            let is_offline =
                matches!(self.progress.get(node), Some(NodeProgress::Waiting { is_offline: true }));
            self.set(node, NodeProgress::Applying { is_offline });
        }
        nodes
    }

    fn succeed(&mut self, nodes: &[String]) {
        let since = at(self.now);
        nodes.iter().for_each(|node| self.set(node, NodeProgress::InSync { since }));
    }
}

#[test]
fn nodes_are_in_the_first_wave_that_names_or_selects_them() {
    let spec = rollout(json!({"waves": [
        {"name": "canary", "nodes": ["a"]},
        {"name": "edge", "node_selector": {"matchLabels": {"tier": "edge"}}},
        {"name": "empty", "nodes": ["nobody"]},
    ]}));
    let (edge, core) = (labels(json!({"tier": "edge"})), labels(json!({"tier": "core"})));
    let plan = RolloutPlan::new(&spec, &[("c", &core), ("b", &edge), ("a", &edge)]);
    let shown: Vec<String> =
        plan.waves().iter().map(|wave| format!("{}: {}", wave.name, wave.nodes.join(" "))).collect();
    assert_eq!(shown, ["canary: a", "edge: b", "rest: c"]);
}

#[test]
fn no_more_nodes_than_allowed_move_at_a_time() {
    let mut world = World::new(json!({"max_unavailable": "20%"}), 10);
    let first = world.release();
    assert_eq!(first, ["n000", "n001"]);
    let limit = RolloutStep::Wait(WaitReason::Unavailable { wave: "rest".to_owned(), count: 2, limit: 2 });
    assert_eq!(world.step(), limit);
    world.succeed(&first[..1]);
    assert_eq!(world.release(), ["n002"]);
}

#[test]
fn the_next_wave_starts_when_the_one_before_is_in_sync_and_the_pause_is_over() {
    let waves = json!([{"name": "canary", "nodes": ["n000"]}]);
    let mut world = World::new(json!({"waves": waves, "pause": "10m"}), 3);
    let canary = world.release();
    assert_eq!(canary, ["n000"]);
    assert!(matches!(world.step(), RolloutStep::Wait(WaitReason::Unavailable { .. })));
    world.now = 100;
    world.succeed(&canary);
    let pause = WaitReason::PauseAfterWave { wave: "canary".to_owned(), until: at(700) };
    assert_eq!(world.step(), RolloutStep::Wait(pause));
    world.now = 700;
    let rest = world.release();
    assert_eq!(rest, ["n001", "n002"]);
    world.succeed(&rest);
    assert_eq!(world.step(), RolloutStep::Done);
}

#[test]
fn failures_stop_it_with_the_reason_and_a_person_pauses_it() {
    let mut world = World::new(json!({"failure_threshold": 2}), 4);
    let all = world.release();
    world.set("n001", NodeProgress::Failed);
    assert!(matches!(world.step(), RolloutStep::Wait(_)), "one failure is below the threshold");
    world.set("n003", NodeProgress::Failed);
    assert_eq!(world.step().to_string(), "n001, n003 failed, and the rollout stops at 2 failures");
    world.now = 1;
    let tolerant = RolloutOrders { pace: Pace::Moving, tolerated: ["n001".to_owned()].into() };
    assert!(
        !matches!(world.plan.next_step(&world.progress, &tolerant, at(1)), RolloutStep::Stopped { .. }),
        "a failure that somebody tolerates does not count"
    );
    let mut paused = World::new(json!({}), 2);
    let orders = RolloutOrders { pace: Pace::Paused, ..RolloutOrders::default() };
    assert_eq!(
        paused.plan.next_step(&paused.progress, &orders, at(0)),
        RolloutStep::Wait(WaitReason::Paused)
    );
    let released = paused.release();
    paused.succeed(&released);
    assert_eq!(paused.plan.next_step(&paused.progress, &orders, at(0)), RolloutStep::Done);
    assert_eq!(all.len(), 4);
}

#[test]
fn offline_nodes_catch_up_are_waited_for_or_are_skipped() {
    let world = |mode: &str| {
        let mut world = World::new(json!({"offline": mode, "max_unavailable": 1}), 2);
        world.set("n000", NodeProgress::Waiting { is_offline: true });
        world
    };
    let mut catch_up = world("catch_up");
    assert_eq!(catch_up.release(), ["n000", "n001"], "an offline node takes no room");
    catch_up.succeed(&["n001".to_owned()]);
    assert_eq!(catch_up.step(), RolloutStep::Done, "and holds nothing up");
    let mut wait = world("wait");
    assert_eq!(wait.release(), ["n000"], "it is unavailable, so nothing else moves");
    assert!(matches!(wait.step(), RolloutStep::Wait(WaitReason::Unavailable { count: 1, limit: 1, .. })));
    let mut skip = world("skip");
    assert_eq!(skip.release(), ["n001"]);
    skip.succeed(&["n001".to_owned()]);
    assert_eq!(skip.step(), RolloutStep::Done);
}

proptest! {
    /// Whatever the limits, and in whatever order nodes succeed or fail: the limits hold, nothing is released twice, and the
    /// rollout ends.
    #[test]
    fn a_rollout_keeps_its_limits_and_ends(
        count in 1_usize..30,
        max_unavailable in 1_u32..10,
        threshold in 1_u32..10,
        waves in prop::collection::vec(prop::collection::btree_set(0_usize..30, 1..6), 0..4),
        outcomes in prop::collection::vec(any::<bool>(), 30),
    ) {
        let waves: Vec<_> = waves.iter().enumerate().map(|(index, nodes)| {
            let nodes: Vec<String> = nodes.iter().map(|node| format!("n{node:03}")).collect();
            json!({"name": format!("w{index}"), "nodes": nodes})
        }).collect();
        let spec = json!({"max_unavailable": max_unavailable.to_string(), "failure_threshold": threshold.to_string(), "waves": waves});
        let mut world = World::new(spec, count);
        let mut released = BTreeSet::new();
        for turn in 0..200 {
            match world.step() {
                RolloutStep::Release(_) => for node in world.release() {
                    prop_assert!(released.insert(node), "released twice");
                },
                RolloutStep::Wait(_) => {
                    let applying = world.progress.iter().find(|(_, one)| matches!(one, NodeProgress::Applying { .. }));
                    let Some(node) = applying.map(|(node, _)| node.clone()) else {
                        // Failures below the threshold can use up all room: then a person must decide.
                        break;
                    };
                    match outcomes[turn % outcomes.len()] {
                        true => world.succeed(&[node]),
                        false => world.set(&node, NodeProgress::Failed),
                    }
                }
                RolloutStep::Done => {
                    prop_assert_eq!(released.len(), count);
                    return Ok(());
                }
                RolloutStep::Stopped { failed, .. } => {
                    prop_assert!(failed.len() >= threshold as usize);
                    return Ok(());
                }
            }
            let moving = world.progress.values().filter(|one| !matches!(one, NodeProgress::InSync { .. })).count();
            prop_assert!(moving <= max_unavailable as usize, "{moving} > {max_unavailable}");
        }
        let failed = world.progress.values().filter(|one| **one == NodeProgress::Failed).count();
        prop_assert!(failed >= max_unavailable as usize, "it ended without a reason");
    }
}
