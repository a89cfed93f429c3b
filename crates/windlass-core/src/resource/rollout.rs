//! How a change moves over many nodes.

use std::collections::BTreeSet;

use super::cluster::LabelSelector;
use crate::shape::{Canonical, Decoder, Defaults, Shape as _, choice, record};
use crate::value::{CountOrPercent, Hostname, Name, Timeout};
use crate::yaml;

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

impl NodeRollout {
    /// The stored form: JSON without defaults.
    pub fn to_stored(&self) -> String {
        String::from_utf8(Canonical::bytes_of(self, Defaults::Omit)).expect("canonical bytes are JSON")
    }

    /// Reads what [`NodeRollout::to_stored`] wrote; `None` for anything else.
    pub fn read_stored(text: &str) -> Option<NodeRollout> {
        let tree = yaml::from_json(text)?;
        let mut decoder = Decoder::default();
        let rollout = NodeRollout::decode(tree.root(), &mut decoder)?;
        decoder.into_findings().is_empty().then_some(rollout)
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
