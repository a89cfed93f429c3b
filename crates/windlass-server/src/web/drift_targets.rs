//! Nodes and clusters on the drift page: those that drifted, and those whose drift someone accepted.

use windlass_control::ask::node::drift::node_drift;
use windlass_control::ask::target::{TargetState, target_states};
use windlass_control::caller::Identity;
use windlass_control::clock::now;
use windlass_control::refusal::Refusal;
use windlass_core::report::{DriftKind, SyncState};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::Reading;
use windlass_web::pages::drift::{DriftTab, DriftedTarget};

/// How many items of a node the page shows; the node's own page shows all.
const ITEMS: usize = 3;

/// The targets of an account that differ from the accepted state, each list in key order.
pub(super) struct TargetDrift {
    /// Those that drifted.
    pub(super) drifted: Vec<(ResourceKey, DriftedTarget)>,
    /// Those with items whose drift someone accepted.
    pub(super) accepted: Vec<(ResourceKey, DriftedTarget)>,
}

impl TargetDrift {
    pub(super) async fn load(reading: &mut Reading, who: &Identity) -> Result<TargetDrift, Refusal> {
        let mut found = TargetDrift { drifted: Vec::new(), accepted: Vec::new() };
        for state in target_states(reading, &who.account_id, now()).await? {
            found.drifted.extend(drifted(&state).map(|shown| (state.target.clone(), shown)));
            if state.accepted_items > 0 {
                let shown = target(&state, String::new(), None);
                found.accepted.push((state.target, shown));
            }
        }
        Ok(found)
    }
}

fn target(state: &TargetState, seen: String, since: Option<String>) -> DriftedTarget {
    DriftedTarget {
        kind: state.target.kind.slug().to_owned(),
        name: state.target.name.clone(),
        seen,
        since,
        state: state.report.status(),
        summary: state.report.summary(),
        items: Vec::new(),
        more_items: 0,
    }
}

fn drifted(state: &TargetState) -> Option<DriftedTarget> {
    let SyncState::Drifted { kind, since } = &state.report.last_known else { return None };
    let seen = match kind {
        DriftKind::Changed => "differs from the accepted state",
        DriftKind::Missing => "missing",
        DriftKind::Unexpected => "not in the accepted state",
    };
    Some(target(state, seen.to_owned(), Some(since.to_string())))
}

/// Loads the items of the nodes of one page: on the tab of accepted drift those that someone accepted, else the others.
pub(super) async fn load_node_items(
    reading: &mut Reading,
    who: &Identity,
    targets: &mut [(ResourceKey, DriftedTarget)],
    tab: DriftTab,
) -> Result<(), Refusal> {
    for (key, shown) in targets.iter_mut().filter(|(key, _)| key.kind == Kind::Node) {
        // A node that ended may still have an assignment.
        let Ok(drift) = node_drift(reading, who, &key.name).await else { continue };
        let is_of_accepted = tab == DriftTab::AcceptedDrift;
        let mut items = drift.items;
        items.retain(|item| item.acceptance.is_some() == is_of_accepted);
        let left_out = if is_of_accepted { 0 } else { drift.left_out };
        shown.more_items = left_out + items.len().saturating_sub(ITEMS) as u64;
        items.truncate(ITEMS);
        shown.items = items;
        // The reason says since when.
        (shown.seen, shown.since) = (drift.reason, None);
    }
    Ok(())
}
