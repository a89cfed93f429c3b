//! The waves of a rollout, and what it does next.
//!
//! [`RolloutPlan::new`] sorts the nodes that a change reaches into waves. [`RolloutPlan::next_step`] decides from the progress of
//! each node which nodes may get the change now. All it needs is handed in, the time included, and asking twice gives the
//! same answer: who acts on it may be any replica, at any time.
//!
//! | | Condition, the first that holds | Step |
//! |---|---|---|
//! | 1 | as many nodes failed as the threshold allows, besides those that a person tolerates | stopped |
//! | 2 | no node is left | done |
//! | 3 | a person paused the rollout | wait |
//! | 4 | the wave before ended less than `pause` ago | wait |
//! | 5 | `max_unavailable` leaves room for nodes of this wave | release them |
//! | 6 | otherwise | wait |
//!
//! Nodes that are offline when it is their turn: with `catch_up` they are released with their wave, take none of
//! `max_unavailable`, and hold nothing up; with `wait` they count as unavailable until they are back and in sync; with `skip`
//! they are not released by this rollout.
//!
//! A node whose failure a person tolerates counts neither as failed nor as unavailable: otherwise a rollout of one node at a
//! time could not go on before the failed node is repaired.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::resource::{NodeRollout, NodeWave, OfflineNodes};
use crate::time::Timestamp;
use crate::value::{CountOrPercent, Labels};

/// The wave of the nodes that no other wave names.
const LAST_WAVE: &str = "rest";

/// The nodes of a rollout, in waves, and its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutPlan {
    waves: Vec<Wave>,
    max_unavailable: usize,
    failure_threshold: usize,
    pause: Duration,
    offline: OfflineNodes,
}

/// Nodes that get the change at the same time, as far as the limits allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Its name.
    pub name: String,
    /// Its nodes, in order.
    pub nodes: Vec<String>,
}

/// How far a node is with the change of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeProgress {
    /// It did not get the change yet.
    Waiting {
        /// Whether its agent is offline.
        is_offline: bool,
    },
    /// It got the change, and did not report success or failure yet.
    Applying {
        /// Whether its agent is offline.
        is_offline: bool,
    },
    /// It is in sync with the change.
    InSync {
        /// Since when.
        since: Timestamp,
    },
    /// It failed to apply the change.
    Failed,
}

/// What a rollout does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutStep {
    /// These nodes may get the change now.
    Release(Vec<String>),
    /// Nothing, for now.
    Wait(WaitReason),
    /// Nothing any more: every node that the rollout reaches has the change.
    Done,
    /// Nothing until a person decides: too many nodes failed.
    Stopped {
        /// The nodes that failed.
        failed: Vec<String>,
        /// How many may fail.
        threshold: usize,
    },
}

/// What people decided about a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RolloutOrders {
    /// Whether it moves on by itself.
    pub pace: Pace,
    /// Nodes that failed and do not count any more, neither as failed nor as unavailable: somebody resumed the rollout
    /// although they had failed.
    pub tolerated: BTreeSet<String>,
}

/// Whether a rollout moves on by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// It does.
    #[default]
    Moving,
    /// A person paused it.
    Paused,
}

/// Why a rollout waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// A person paused it.
    Paused,
    /// The pause after a wave is not over.
    PauseAfterWave {
        /// The wave that ended.
        wave: String,
        /// When the pause is over.
        until: Timestamp,
    },
    /// As many nodes are unavailable as may be.
    Unavailable {
        /// The wave that waits.
        wave: String,
        /// How many are unavailable.
        count: usize,
        /// How many may be.
        limit: usize,
    },
}

impl fmt::Display for RolloutStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RolloutStep::Release(nodes) => write!(f, "{} nodes may get the change", nodes.len()),
            RolloutStep::Done => f.write_str("every node has the change"),
            RolloutStep::Stopped { failed, threshold } => {
                let names = list_names(&failed.iter().map(String::as_str).collect::<Vec<_>>());
                let limit = if *threshold == 1 { "failure" } else { "failures" };
                write!(f, "{names} failed, and the rollout stops at {threshold} {limit}")
            }
            RolloutStep::Wait(WaitReason::Paused) => f.write_str("paused"),
            RolloutStep::Wait(WaitReason::PauseAfterWave { wave, until }) => {
                write!(f, "waiting until {until} after wave {wave}")
            }
            RolloutStep::Wait(WaitReason::Unavailable { wave, count, limit }) => {
                write!(f, "wave {wave} waits: {count} nodes are unavailable, and {limit} may be")
            }
        }
    }
}

/// The first three of some names, and how many more there are.
pub(super) fn list_names(names: &[&str]) -> String {
    let shown = names.iter().take(3).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(3) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl RolloutPlan {
    /// Sorts nodes into the waves of a rollout. A node belongs to the first wave that names it or selects its labels; nodes
    /// in no wave come last.
    pub fn new(rollout: &NodeRollout, nodes: &[(&str, &Labels)]) -> RolloutPlan {
        let mut left: BTreeMap<&str, &Labels> = nodes.iter().copied().collect();
        let mut waves = Vec::new();
        for wave in &rollout.waves {
            let chosen: Vec<String> = left
                .iter()
                .filter(|(name, labels)| includes(wave, name, labels))
                .map(|(name, _)| (*name).to_owned())
                .collect();
            for name in &chosen {
                left.remove(name.as_str());
            }
            waves.push(Wave { name: wave.name.to_string(), nodes: chosen });
        }
        waves.push(Wave { name: LAST_WAVE.to_owned(), nodes: left.into_keys().map(str::to_owned).collect() });
        RolloutPlan::with_waves(rollout, waves)
    }

    /// The plan of a rollout that began before: each node stays in the wave that it was sorted into, whatever its labels
    /// are now.
    pub fn resume<'n>(rollout: &NodeRollout, nodes: impl Iterator<Item = (&'n str, &'n str)>) -> RolloutPlan {
        let names = rollout.waves.iter().map(|wave| wave.name.to_string());
        let names = names.chain([LAST_WAVE.to_owned()]);
        let mut waves: Vec<Wave> = names.map(|name| Wave { name, nodes: Vec::new() }).collect();
        for (node, wave) in nodes {
            let last = waves.len() - 1;
            let index = waves.iter().position(|one| one.name == wave).unwrap_or(last);
            waves[index].nodes.push(node.to_owned());
        }
        RolloutPlan::with_waves(rollout, waves)
    }

    fn with_waves(rollout: &NodeRollout, mut waves: Vec<Wave>) -> RolloutPlan {
        waves.retain(|wave| !wave.nodes.is_empty());
        let nodes = waves.iter().map(|wave| wave.nodes.len()).sum();
        RolloutPlan {
            waves,
            max_unavailable: rollout.max_unavailable.of(nodes),
            failure_threshold: rollout.failure_threshold.of(nodes),
            pause: rollout
                .pause
                .map_or(Duration::ZERO, |pause| Duration::from_secs(u64::from(pause.seconds))),
            offline: rollout.offline,
        }
    }

    /// The waves, in order.
    pub fn waves(&self) -> &[Wave] {
        &self.waves
    }

    /// What the rollout does next. A node without progress waits and is online.
    pub fn next_step(
        &self,
        progress: &BTreeMap<String, NodeProgress>,
        orders: &RolloutOrders,
        now: Timestamp,
    ) -> RolloutStep {
        let progress_of = |node: &String| {
            progress.get(node).copied().unwrap_or(NodeProgress::Waiting { is_offline: false })
        };
        let every_node = || self.waves.iter().flat_map(|wave| &wave.nodes);
        let is_tolerated =
            |node: &String| progress_of(node) == NodeProgress::Failed && orders.tolerated.contains(node);
        let failed: Vec<String> = every_node()
            .filter(|node| progress_of(node) == NodeProgress::Failed && !is_tolerated(node))
            .cloned()
            .collect();
        if failed.len() >= self.failure_threshold {
            return RolloutStep::Stopped { failed, threshold: self.failure_threshold };
        }
        let Some(current) =
            self.waves.iter().position(|wave| wave.nodes.iter().any(|node| !self.is_over(progress_of(node))))
        else {
            return RolloutStep::Done;
        };
        if orders.pace == Pace::Paused {
            return RolloutStep::Wait(WaitReason::Paused);
        }
        if let Some(wait) = self.pause_before(current, &progress_of, now) {
            return RolloutStep::Wait(wait);
        }
        let unavailable =
            every_node().filter(|node| self.is_unavailable(progress_of(node)) && !is_tolerated(node)).count();
        self.release(current, &progress_of, unavailable)
    }

    /// Whether the rollout expects nothing more of a node.
    fn is_over(&self, progress: NodeProgress) -> bool {
        match progress {
            NodeProgress::InSync { .. } | NodeProgress::Failed => true,
            NodeProgress::Waiting { is_offline } => is_offline && self.offline == OfflineNodes::Skip,
            NodeProgress::Applying { is_offline } => is_offline && self.offline != OfflineNodes::Wait,
        }
    }

    fn is_unavailable(&self, progress: NodeProgress) -> bool {
        match progress {
            NodeProgress::InSync { .. } => false,
            NodeProgress::Failed => true,
            NodeProgress::Waiting { is_offline } => is_offline && self.offline == OfflineNodes::Wait,
            NodeProgress::Applying { is_offline } => !is_offline || self.offline == OfflineNodes::Wait,
        }
    }

    fn pause_before(
        &self,
        wave: usize,
        progress_of: &impl Fn(&String) -> NodeProgress,
        now: Timestamp,
    ) -> Option<WaitReason> {
        let before = &self.waves[wave.checked_sub(1)?];
        let has_begun = self.waves[wave]
            .nodes
            .iter()
            .any(|node| !matches!(progress_of(node), NodeProgress::Waiting { .. }));
        let last = before.nodes.iter().filter_map(|node| match progress_of(node) {
            NodeProgress::InSync { since } => Some(since),
            _ => None,
        });
        let until = last.max()?.plus(self.pause);
        (!has_begun && now < until).then(|| WaitReason::PauseAfterWave { wave: before.name.clone(), until })
    }

    fn release(
        &self,
        wave: usize,
        progress_of: &impl Fn(&String) -> NodeProgress,
        unavailable: usize,
    ) -> RolloutStep {
        let wave = &self.waves[wave];
        let mut room = self.max_unavailable.saturating_sub(unavailable);
        let mut released = BTreeSet::new();
        for node in &wave.nodes {
            match progress_of(node) {
                NodeProgress::Waiting { is_offline: true } if self.offline == OfflineNodes::CatchUp => {
                    released.insert(node.clone());
                }
                // An offline node counts as unavailable already, so releasing it takes no room.
                NodeProgress::Waiting { is_offline: true } if self.offline == OfflineNodes::Wait => {
                    released.insert(node.clone());
                }
                NodeProgress::Waiting { is_offline: false } if room > 0 => {
                    room -= 1;
                    released.insert(node.clone());
                }
                _ => {}
            }
        }
        if released.is_empty() {
            let (count, limit) = (unavailable, self.max_unavailable);
            return RolloutStep::Wait(WaitReason::Unavailable { wave: wave.name.clone(), count, limit });
        }
        RolloutStep::Release(released.into_iter().collect())
    }
}

fn includes(wave: &NodeWave, node: &str, labels: &Labels) -> bool {
    wave.nodes.iter().any(|named| named.as_str() == node)
        || wave.node_selector.as_ref().is_some_and(|selector| selector.matches(labels))
}

impl CountOrPercent {
    /// How many of a group this is: a percentage is rounded up, and neither is less than one.
    pub fn of(self, group: usize) -> usize {
        match self {
            CountOrPercent::Percent(percent) => (group * usize::from(percent)).div_ceil(100).max(1),
            CountOrPercent::Count(count) => (count as usize).max(1),
        }
    }
}

#[cfg(test)]
#[path = "waves_tests.rs"]
mod tests;
