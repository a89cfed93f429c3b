//! Accepted resources, for people.

use std::io::{self, Write as _};

use anstyle::Style;
use serde_json::Value;
use windlass_api::types::{AuditInfo, EventInfo, ProposalInfo, ResourceInfo};
use windlass_core::display::payload_lines;

use super::proposal::sign;
use super::table::{Table, state_style};
use super::time::relative;
use super::{Terminal, facts, sanitize_for_terminal, short};

const BOLD: Style = Style::new().bold();

/// Everything that is known about one resource.
pub(crate) struct ResourceDescription {
    pub(crate) resource: ResourceInfo,
    pub(crate) proposals: Vec<ProposalInfo>,
    pub(crate) events: Vec<EventInfo>,
    pub(crate) audit: Vec<AuditInfo>,
}

/// Prints resources.
pub(crate) fn list(resources: &[ResourceInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["KIND", "NAME", "OWNER", "GENERATION", "CHANGED", "BY"]);
    for resource in resources {
        table.row([
            resource.kind.clone(),
            resource.name.clone(),
            resource.owner.as_ref().map(|owner| owner.repository_name.clone()).unwrap_or_default(),
            resource.generation.to_string(),
            relative(&resource.updated_at),
            resource.updated_by.clone(),
        ]);
    }
    table.print(terminal, "no resources")
}

/// Prints one resource.
pub(crate) fn one(resource: &ResourceInfo, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    write_resource(&mut out, resource, terminal)
}

fn write_resource(out: &mut impl io::Write, resource: &ResourceInfo, terminal: &Terminal) -> io::Result<()> {
    writeln!(
        out,
        "{BOLD}{} {}{BOLD:#}",
        sanitize_for_terminal(&resource.kind),
        sanitize_for_terminal(&resource.name)
    )?;
    let owner = resource.owner.as_ref().map_or("nobody", |owner| owner.repository_name.as_str());
    facts(
        out,
        &[
            ("id", resource.id.clone()),
            ("owner", owner.to_owned()),
            ("generation", resource.generation.to_string()),
            ("changed", format!("{} by {}", relative(&resource.updated_at), resource.updated_by)),
            ("made", relative(&resource.created_at)),
            ("differs", resource.differs_because.clone().unwrap_or_default()),
            ("digest", resource.digest.clone()),
        ],
    )?;
    write_values(out, "Spec", &resource.spec, terminal)?;
    write_values(out, "Allocated", &resource.allocated, terminal)
}

fn write_values(out: &mut impl io::Write, title: &str, value: &Value, terminal: &Terminal) -> io::Result<()> {
    let lines = payload_lines(value, terminal.width.saturating_sub(2));
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
    lines.iter().try_for_each(|line| writeln!(out, "  {}", sanitize_for_terminal(line)))
}

/// Prints everything about one resource.
pub(crate) fn describe(described: &ResourceDescription, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    write_resource(&mut out, &described.resource, terminal)?;
    if !described.proposals.is_empty() {
        writeln!(out, "\n{BOLD}Open proposals{BOLD:#}")?;
    }
    for proposal in &described.proposals {
        let (sign, style) = sign(proposal.change);
        let (change, status) = (proposal.change, proposal.status);
        let state = state_style(status.slug());
        let (id, why) = (short(&proposal.id), sanitize_for_terminal(&proposal.explanation));
        writeln!(out, "  {id}  {style}{sign} {change}{style:#}  {state}{status}{state:#}  {why}")?;
    }
    if !described.audit.is_empty() {
        writeln!(out, "\n{BOLD}Audit log{BOLD:#}")?;
    }
    for entry in &described.audit {
        let style = state_style(&entry.outcome);
        let (when, outcome) = (relative(&entry.at), sanitize_for_terminal(&entry.outcome));
        writeln!(
            out,
            "  {when}  {} by {}  {style}{outcome}{style:#}",
            sanitize_for_terminal(&entry.action),
            sanitize_for_terminal(&entry.actor)
        )?;
    }
    if !described.events.is_empty() {
        writeln!(out, "\n{BOLD}Events{BOLD:#}")?;
    }
    for event in &described.events {
        let message = sanitize_for_terminal(&event.message).replace('\n', " ");
        writeln!(out, "  {}  {}: {message}", relative(&event.at), sanitize_for_terminal(&event.kind))?;
    }
    Ok(())
}
