//! What nodes shall be, for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use windlass_api::types::{NodeRender, RenderedItem, RenderedModule};
use windlass_core::display::{payload_lines, set_fields};

use super::{Terminal, facts, sanitize_for_terminal};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default();

/// Prints what a node shall be: its modules in the order in which they are applied, each with its items.
pub(crate) fn render(node: &NodeRender, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{BOLD}node {}{BOLD:#}", sanitize_for_terminal(&node.name))?;
    let assigned = node.assigned.as_ref().map(|assigned| {
        let is_current = node.digest.as_ref() == Some(&assigned.digest);
        let state = if is_current { "" } else { ", of an earlier document" };
        format!("generation {}{state}", assigned.generation)
    });
    facts(
        &mut out,
        &[("document", node.digest.clone().unwrap_or_default()), ("assigned", assigned.unwrap_or_default())],
    )?;
    for problem in &node.problems {
        writeln!(out, "  {RED}problem{RED:#}  {}", sanitize_for_terminal(problem))?;
    }
    // A node with a problem has no items: its modules say why they are there, and nothing more.
    let shows_items = node.problems.is_empty();
    node.modules.iter().try_for_each(|module| {
        write_title(&mut out, module)?;
        if shows_items && module.items.is_empty() {
            writeln!(out, "  {DIM}nothing on this machine{DIM:#}")?;
        }
        module.items.iter().try_for_each(|item| write_item(&mut out, item, terminal))
    })
}

fn write_title(out: &mut impl io::Write, module: &RenderedModule) -> io::Result<()> {
    let version = module.version.as_deref().map(|version| format!("@{version}")).unwrap_or_default();
    let name = sanitize_for_terminal(&format!("{}{version}", module.name));
    let because = sanitize_for_terminal(&module.because);
    let priority = module.priority;
    writeln!(out, "\n{BOLD}module {name}{BOLD:#}  {DIM}from {because}, priority {priority}{DIM:#}")
}

fn write_item(out: &mut impl io::Write, item: &RenderedItem, terminal: &Terminal) -> io::Result<()> {
    let drift =
        if item.drift == "report" { String::new() } else { format!("  {DIM}drift: {}{DIM:#}", item.drift) };
    writeln!(out, "  {} {}{drift}", sanitize_for_terminal(&item.kind), sanitize_for_terminal(&item.name))?;
    let width = terminal.width.saturating_sub(6);
    for line in payload_lines(&set_fields(&item.fields), width) {
        writeln!(out, "      {}", sanitize_for_terminal(&line))?;
    }
    for setting in &item.settings {
        let text = format!("{} = {} from {}", setting.name, setting.value, setting.origin);
        writeln!(out, "      {DIM}{}{DIM:#}", sanitize_for_terminal(&text))?;
    }
    Ok(())
}
