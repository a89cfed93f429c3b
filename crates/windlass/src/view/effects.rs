//! What a proposal does to nodes, for people.

use std::io;

use anstyle::{AnsiColor, Style};
use windlass_api::types::{ItemEffect, NodeGroup, ProposalEffects};
use windlass_core::content::FileChange;

use super::fields::field_lines;
use super::{Terminal, pluralize, sanitize_for_terminal};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Writes which nodes change and how, identical ones once.
pub(super) fn write_effects(
    out: &mut impl io::Write,
    effects: &ProposalEffects,
    terminal: &Terminal,
) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Affected nodes{BOLD:#}")?;
    if let Some(problem) = &effects.problem {
        return writeln!(out, "  {}", sanitize_for_terminal(problem));
    }
    if effects.nodes == 0 {
        return writeln!(out, "  no node changes");
    }
    effects.groups.iter().try_for_each(|group| write_group(out, group, terminal))?;
    if effects.more_groups > 0 {
        writeln!(out, "  and {}", pluralize(effects.more_groups, "more group"))?;
    }
    if effects.not_compared > 0 {
        writeln!(out, "  {} more change, not compared in detail", pluralize(effects.not_compared, "node"))?;
    }
    Ok(())
}

fn write_group(out: &mut impl io::Write, group: &NodeGroup, terminal: &Terminal) -> io::Result<()> {
    let names = group.nodes.join(", ");
    let more = if group.count > group.nodes.len() { ", …" } else { "" };
    let what = match group.count {
        1 => "1 node changes".to_owned(),
        count => format!("{count} nodes change alike"),
    };
    writeln!(out, "  {what}: {}{more}", sanitize_for_terminal(&names))?;
    for problem in &group.problems {
        writeln!(out, "    cannot be applied: {}", sanitize_for_terminal(problem))?;
    }
    group.items.iter().try_for_each(|item| write_item(out, item, terminal))?;
    match group.more_items {
        0 => Ok(()),
        more => writeln!(out, "    and {}", pluralize(more, "more item")),
    }
}

fn write_item(out: &mut impl io::Write, item: &ItemEffect, terminal: &Terminal) -> io::Result<()> {
    let (sign, style) = match item.change {
        FileChange::Added => ("+", AnsiColor::Green.on_default()),
        FileChange::Changed => ("~", AnsiColor::Yellow.on_default()),
        FileChange::Removed => ("-", AnsiColor::Red.on_default()),
    };
    let name = sanitize_for_terminal(&format!("{} {}", item.kind, item.name));
    writeln!(out, "    {style}{sign} {name}{style:#}")?;
    if item.change == FileChange::Changed {
        for line in field_lines(&item.fields, terminal.width.saturating_sub(8)) {
            writeln!(out, "        {}", sanitize_for_terminal(&line))?;
        }
    }
    let Some(content) = &item.content else { return Ok(()) };
    if let Some(reason) = &content.not_shown {
        writeln!(out, "        {DIM}{}{DIM:#}", sanitize_for_terminal(reason))?;
    }
    for line in content.lines.iter().flat_map(|lines| lines.lines()) {
        let style = match line.as_bytes().first() {
            Some(b'+') => AnsiColor::Green.on_default(),
            Some(b'-') => AnsiColor::Red.on_default(),
            _ => DIM,
        };
        writeln!(out, "        {style}{}{style:#}", sanitize_for_terminal(line))?;
    }
    Ok(())
}
