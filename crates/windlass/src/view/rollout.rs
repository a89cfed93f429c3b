//! Rollouts, for people.

use std::io::{self, Write as _};

use anstyle::Style;
use windlass_api::types::{RolloutEnvelope, RolloutInfo, RolloutNodeCounts};
use windlass_core::rollout::{RolloutCounts, RolloutNodeState};

use super::table::{Table, state_style};
use super::time::relative;
use super::{Terminal, facts, sanitize_for_terminal, short};

const BOLD: Style = Style::new().bold();

/// The cells of a progress bar.
const BAR: usize = 30;

/// The sign of each state in a progress bar, in the order of the bar.
const SIGNS: [(RolloutNodeState, char); 6] = [
    (RolloutNodeState::InSync, '█'),
    (RolloutNodeState::Failed, '✗'),
    (RolloutNodeState::Applying, '▒'),
    (RolloutNodeState::Offline, '?'),
    (RolloutNodeState::Waiting, '·'),
    (RolloutNodeState::Left, '-'),
];

/// Prints rollouts.
pub(crate) fn list(rollouts: &[RolloutInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ID", "GOVERNED BY", "STATUS", "NODES", "STARTED", "REASON"]);
    for rollout in rollouts {
        table.row([
            short(&rollout.id),
            governed_by(rollout),
            rollout.status.to_string(),
            headline(rollout.counts),
            relative(&rollout.started_at),
            rollout.reason.clone().unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no rollouts; give a template or module a `rollout`: `windlass explain templates`")
}

/// Prints one rollout.
pub(crate) fn one(shown: &RolloutEnvelope, terminal: &Terminal) -> io::Result<()> {
    let RolloutInfo { id, status, .. } = &shown.rollout;
    let mut out = anstream::stdout();
    let style = state_style(status.slug());
    let (id, of) = (sanitize_for_terminal(id), sanitize_for_terminal(&governed_by(&shown.rollout)));
    writeln!(out, "{BOLD}Rollout {id}{BOLD:#} of {of}: {style}{status}{style:#}")?;
    let rollout = &shown.rollout;
    let times = match &rollout.ended_at {
        Some(ended) => format!("{}, ended {}", relative(&rollout.started_at), relative(ended)),
        None => relative(&rollout.started_at),
    };
    let actions: Vec<&str> = rollout.actions.iter().map(|action| action.slug()).collect();
    let limits = format!(
        "at most {} unavailable, stops at {} failed, offline nodes: {}",
        rollout.max_unavailable,
        rollout.failure_threshold,
        rollout.offline.replace('_', " ")
    );
    facts(
        &mut out,
        &[
            ("reason", rollout.reason.clone().unwrap_or_default()),
            ("started", times),
            ("limits", limits),
            (
                "pause",
                rollout.pause.as_ref().map(|pause| format!("{pause} after each wave")).unwrap_or_default(),
            ),
            ("proposals", rollout.proposals.iter().map(|id| short(id)).collect::<Vec<_>>().join(", ")),
            ("possible", actions.join(", ")),
        ],
    )?;
    writeln!(out)?;
    let width = shown.waves.iter().map(|wave| wave.name.chars().count()).max().unwrap_or(0);
    for wave in &shown.waves {
        let name = sanitize_for_terminal(&wave.name);
        writeln!(out, "  {name:width$}  {}  {}", bar(wave.counts), headline(wave.counts))?;
    }
    if !shown.nodes.is_empty() {
        writeln!(out)?;
        nodes(shown, terminal)?;
    }
    Ok(())
}

/// Prints the nodes of a rollout.
pub(crate) fn nodes(shown: &RolloutEnvelope, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NODE", "WAVE", "STATUS", "SINCE", "REASON"]);
    for node in &shown.nodes {
        let since = node.settled_at.as_ref().or(node.released_at.as_ref());
        let mut reason = node.message.clone().unwrap_or_default();
        if node.tolerated {
            reason.push_str(" (does not count: somebody resumed the rollout)");
        }
        table.row([
            node.node.clone(),
            node.wave.clone(),
            node.state.to_string(),
            since.map(|since| relative(since)).unwrap_or_default(),
            reason,
        ]);
    }
    table.print(terminal, "no nodes")?;
    match shown.nodes_left_out {
        0 => Ok(()),
        more => super::note(&format!("… and {more} more nodes")),
    }
}

/// Prints how far a rollout is, in one line.
pub(crate) fn progress(rollout: &RolloutInfo) -> io::Result<()> {
    let style = state_style(rollout.status.slug());
    let why = rollout.reason.as_ref().map(|reason| format!("; {reason}")).unwrap_or_default();
    let why = sanitize_for_terminal(&why);
    let (bar, headline, status) = (bar(rollout.counts), headline(rollout.counts), rollout.status);
    writeln!(anstream::stdout(), "{style}{status}{style:#}  {bar}  {headline}{why}")
}

fn governed_by(rollout: &RolloutInfo) -> String {
    format!("{} {}", rollout.governed_kind, rollout.governed_name)
}

fn headline(counts: RolloutNodeCounts) -> String {
    RolloutCounts::from(counts).headline()
}

/// A bar of the states. Each state that has a node has a cell.
fn bar(counts: RolloutNodeCounts) -> String {
    let counts = RolloutCounts::from(counts);
    let total = counts.total().max(1);
    let mut cells: Vec<(char, usize)> = SIGNS
        .iter()
        .map(|(state, sign)| (*sign, counts.of(*state)))
        .filter(|(_, count)| *count > 0)
        .map(|(sign, count)| (sign, (count * BAR / total).max(1)))
        .collect();
    // Rounding leaves cells over or takes some too many; the largest part makes up for it.
    let drawn: usize = cells.iter().map(|(_, count)| count).sum();
    if let Some((_, largest)) = cells.iter_mut().max_by_key(|(_, count)| *count) {
        *largest = (*largest + BAR).saturating_sub(drawn).max(1);
    }
    cells.iter().map(|(sign, count)| sign.to_string().repeat(*count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_in_the_bar_and_the_bar_is_always_as_long() {
        let counts = |converged, failed, waiting| RolloutNodeCounts {
            converged,
            failed,
            waiting,
            total: converged + failed + waiting,
            ..RolloutNodeCounts::default()
        };
        for (counts, expected) in [
            (counts(3, 0, 0), "██████████████████████████████"),
            (counts(1, 1, 1), "██████████✗✗✗✗✗✗✗✗✗✗··········"),
            (counts(1, 1, 4998), "█✗····························"),
            (counts(0, 0, 0), ""),
        ] {
            assert_eq!(bar(counts), expected, "{counts:?}");
        }
    }
}
