//! How a change moves over many nodes.

use std::collections::BTreeSet;

use super::cluster::LabelSelector;
use crate::shape::{choice, record};
use crate::value::{CountOrPercent, Hostname, Name, Timeout};

record! {
    /// How a change moves over the nodes that it reaches.
    pub struct NodeRollout {
        /// How many nodes may be applying, failed or offline at a time.
        max_unavailable: CountOrPercent = CountOrPercent::Percent(100) => "10%",
        /// Groups of nodes that follow one another; nodes in no wave come last.
        waves: Vec<NodeWave> = Vec::new() => "[{name: canary, nodes: [edge-tokyo-01]}]",
        /// How long a wave must be in sync before the next one starts.
        pause: Option<Timeout> = None => "10m",
        /// How many nodes may fail before the rollout stops.
        failure_threshold: CountOrPercent = CountOrPercent::Count(1) => "5%",
        /// What happens to nodes that are offline when it is their turn.
        offline: OfflineNodes = OfflineNodes::CatchUp => "wait",
    }
}

record! {
    /// A step of a rollout.
    pub struct NodeWave {
        /// What the step is called.
        name: Name => "canary",
        /// Its nodes.
        nodes: BTreeSet<Hostname> = BTreeSet::new() => "[edge-tokyo-01]",
        /// The nodes with these labels.
        node_selector: Option<LabelSelector> = None => "{matchLabels: {stage: canary}}",
    }
}

choice! {
    /// What a rollout does about nodes that are offline.
    pub enum OfflineNodes {
        /// Goes on without them. They get the change as soon as they are back.
        CatchUp = "catch_up",
        /// Waits for them.
        Wait = "wait",
        /// Leaves them out: they get the change with the next rollout.
        Skip = "skip",
    }
}
