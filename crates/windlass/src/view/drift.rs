//! Drift, for people: what was changed by hand, by whom, and what can be done about it.

use std::io::{self, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use windlass_api::types::{Adopted, DriftItem, DriftReport, Reverted};
use windlass_core::diff::Action;

use super::fields::field_lines;
use super::time::relative;
use super::{Terminal, pluralize, sanitize_for_terminal, short_commit};

const BOLD: Style = Style::new().bold();

/// Prints the reports of repositories.
pub(crate) fn reports(reports: &[(&str, DriftReport)], terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    if reports.is_empty() {
        return writeln!(out, "no repositories; add one with `windlass repo add NAME URL`");
    }
    for (name, report) in reports {
        write_report(&mut out, name, report, terminal)?;
    }
    if let Some((name, item)) =
        reports.iter().find_map(|(name, report)| Some((name, report.drifted.first()?)))
    {
        let target = format!(
            "{} {} {}",
            sanitize_for_terminal(name),
            sanitize_for_terminal(&item.kind),
            sanitize_for_terminal(&item.name)
        );
        writeln!(out, "\nRestore the state in git:       windlass drift revert {target}")?;
        writeln!(out, "Write the change into git:      windlass drift adopt {target}")?;
        writeln!(
            out,
            "Accept the difference:          windlass drift accept {target} --until 7d --reason TEXT"
        )?;
    }
    Ok(())
}

fn write_report(
    out: &mut impl io::Write,
    name: &str,
    report: &DriftReport,
    terminal: &Terminal,
) -> io::Result<()> {
    let name = sanitize_for_terminal(name);
    let against = match &report.commit_sha {
        Some(commit) => format!(" against {}", short_commit(commit)),
        None => " (never synced)".to_owned(),
    };
    match report.drifted.is_empty() {
        true => {
            let green = AnsiColor::Green.on_default();
            writeln!(out, "{green}✓{green:#} {BOLD}{name}{BOLD:#}{against}: no drift")?;
        }
        false => {
            let yellow = AnsiColor::Yellow.on_default();
            let changed = pluralize(report.drifted.len(), "resource");
            writeln!(out, "{yellow}~{yellow:#} {BOLD}{name}{BOLD:#}{against}: {changed} drifted")?;
        }
    }
    report.drifted.iter().try_for_each(|item| write_item(out, item, terminal))?;
    if !report.pending.is_empty() {
        writeln!(out, "  {} in git pending", pluralize(report.pending.len(), "change"))?;
    }
    for item in &report.accepted {
        let Some(acceptance) = &item.acceptance else { continue };
        let until = acceptance.until.as_deref().map(|until| format!(" until {until}")).unwrap_or_default();
        let (kind, item_name, by) = (
            sanitize_for_terminal(&item.kind),
            sanitize_for_terminal(&item.name),
            sanitize_for_terminal(&acceptance.by),
        );
        writeln!(
            out,
            "  = {kind} {item_name}: accepted by {by}{}: {}",
            sanitize_for_terminal(&until),
            sanitize_for_terminal(&acceptance.reason)
        )?;
    }
    Ok(())
}

fn write_item(out: &mut impl io::Write, item: &DriftItem, terminal: &Terminal) -> io::Result<()> {
    // Told from git's side: what it would have to create was ended by hand, and the other way round.
    let happened = match item.change {
        Action::Create => "was deleted",
        Action::Destroy => "was created",
        Action::Update => "was changed",
    };
    let by = item.changed_by.as_deref().map(|who| format!(" by {who}")).unwrap_or_default();
    let when = item.changed_at.as_deref().map(|when| format!(" {}", relative(when))).unwrap_or_default();
    let yellow = AnsiColor::Yellow.on_default();
    let (kind, name) = (sanitize_for_terminal(&item.kind), sanitize_for_terminal(&item.name));
    writeln!(
        out,
        "  {yellow}{kind} {name}{yellow:#} {happened}{}{}",
        sanitize_for_terminal(&by),
        sanitize_for_terminal(&when)
    )?;
    for line in field_lines(&item.fields, terminal.width.saturating_sub(6)) {
        writeln!(out, "      {}", sanitize_for_terminal(&line))?;
    }
    Ok(())
}

/// Prints what reverting did.
pub(crate) fn reverted(reverted: &Reverted) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{}", sanitize_for_terminal(&reverted.message))?;
    let run = sanitize_for_terminal(&reverted.sync_run_id);
    writeln!(
        out,
        "Review with `windlass run show {run}`, approve with `windlass proposal approve --run {run}`."
    )
}

/// Prints the change that writes the accepted state into git; the patch itself unless it was written to a file.
pub(crate) fn adopted(adopted: &Adopted, patch_file: Option<&Path>) -> io::Result<()> {
    match patch_file {
        Some(file) => super::line(&format!("wrote {}: apply it with `git apply`", file.display()))?,
        None if adopted.branch.is_none() => super::document(&adopted.patch)?,
        None => {}
    }
    match &adopted.branch {
        Some(branch) => {
            let commit = adopted.commit_sha.as_deref().map(short_commit).unwrap_or_default();
            super::line(&format!("pushed {commit} to branch {branch}: review and merge it there"))
        }
        None => Ok(()),
    }
}
