//! Sets of a plan that can be approved as one, for people: how many changes of which sort, never all of them.

use std::io::{self, Write as _};

use windlass_api::types::{ApprovedSet, ChangeSetInfo};
use windlass_core::diff::Action;
use windlass_core::plan::SetKind;

use super::proposal::sign;
use super::{pluralize, sanitize_for_terminal};

/// Groups that are shown; the rest is counted.
const GROUPS: usize = 20;

/// Writes the whole plan in one line, then its groups, the first of them.
pub(super) fn write(out: &mut impl io::Write, sets: &[ChangeSetInfo]) -> io::Result<()> {
    let Some((whole, groups)) = sets.split_first() else { return Ok(()) };
    writeln!(out, "  {}", set_summary(whole))?;
    for group in groups.iter().take(GROUPS) {
        let (sign, style) = sign(group.change.unwrap_or(Action::Update));
        writeln!(out, "  {style}{sign}{style:#} {}", set_summary(group))?;
        writeln!(out, "      --group {}", sanitize_for_terminal(&group.digest))?;
    }
    if groups.len() > GROUPS {
        writeln!(out, "  and {} more groups of identical changes", groups.len() - GROUPS)?;
    }
    let alone = whole.count.saturating_sub(groups.iter().map(|group| group.count).sum());
    match (alone, groups.is_empty()) {
        (0, _) | (_, true) => Ok(()),
        (alone, false) => writeln!(out, "  {} not in a group", pluralize(alone, "change")),
    }
}

/// Prints what is about to be approved.
pub(crate) fn reviewed(set: &ChangeSetInfo, sets: &[ChangeSetInfo]) -> io::Result<()> {
    let mut out = anstream::stdout();
    match set.scope {
        SetKind::Plan => write(&mut out, sets),
        SetKind::Group => writeln!(out, "  {}", set_summary(set)),
    }
}

/// What a set has: how many changes, which, and how many of them destroy something.
pub(crate) fn set_summary(set: &ChangeSetInfo) -> String {
    let what = match (&set.change, &set.kind) {
        (Some(change), Some(kind)) => format!("{} × {change} {kind}", set.count),
        _ => pluralize(set.count, "change"),
    };
    let more = if set.count > set.names.len() { ", …" } else { "" };
    let destroys = match set.destroys {
        0 => String::new(),
        destroys => format!(" ({})", pluralize(destroys, "destroy")),
    };
    let approved = match set.approved_by.is_empty() {
        true => String::new(),
        false => format!("; approved by {}", set.approved_by.join(", ")),
    };
    sanitize_for_terminal(&format!("{what}{destroys}: {}{more}{approved}", set.names.join(", ")))
}

/// Prints what came of an approval.
pub(crate) fn approved(set: &ApprovedSet) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(
        out,
        "approved {} as one: {}",
        pluralize(set.count, "change"),
        sanitize_for_terminal(&set.digest)
    )?;
    writeln!(
        out,
        "  {} approved, {} pending more approvals, {} not open",
        set.approved, set.waiting, set.not_open
    )?;
    set.not_counted.iter().try_for_each(|why| writeln!(out, "  not counted: {}", sanitize_for_terminal(why)))
}
