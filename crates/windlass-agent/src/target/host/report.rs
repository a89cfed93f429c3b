//! What a run did, or would do, with each item.

use serde::{Serialize, Serializer};
use windlass_core::host::HostItemId;
use windlass_core::resource::DriftMode;

use windlass_core::host::FieldDifference;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The host had nothing of the item.
    Create,
    /// The host had the item with other fields.
    Update,
    /// The item left the state, and the host has again what it had before.
    Remove,
}

/// What a run did with an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemOutcome {
    /// The item was in sync.
    Unchanged,
    /// The agent changed the host.
    Changed(ChangeKind, Vec<FieldDifference>),
    /// The agent could not change the host; the reason.
    Failed(String),
    /// The agent did not try, because this module failed.
    Skipped {
        /// The module that failed.
        module: String,
    },
}

/// An item and what a run did with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ItemReport {
    /// The item.
    #[serde(serialize_with = "as_text")]
    pub item: HostItemId,
    /// The module that it comes from.
    pub module: String,
    /// What the run did.
    pub outcome: ItemOutcome,
}

/// What a run did, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// Every item of the state, and every item that was removed.
    pub items: Vec<ItemReport>,
}

impl RunReport {
    /// The items that the run changed, with the kind of the change and the fields.
    pub fn changes(&self) -> impl Iterator<Item = (&ItemReport, ChangeKind, &[FieldDifference])> {
        self.items.iter().filter_map(|report| match &report.outcome {
            ItemOutcome::Changed(kind, differences) => Some((report, *kind, differences.as_slice())),
            _ => None,
        })
    }

    /// Whether every item is as it should be.
    pub fn is_converged(&self) -> bool {
        let is_bad =
            |one: &ItemReport| matches!(one.outcome, ItemOutcome::Failed(_) | ItemOutcome::Skipped { .. });
        !self.items.iter().any(is_bad)
    }
}

/// An item that differs from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemDrift {
    /// The item.
    pub item: HostItemId,
    /// The module that it comes from.
    pub module: String,
    /// What the agent does about it.
    pub mode: DriftMode,
    /// The fields that differ, or why the agent cannot compare them.
    pub found: Result<Vec<FieldDifference>, String>,
}

fn as_text<S: Serializer>(id: &HostItemId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(id)
}
