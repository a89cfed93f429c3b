//! Nodes as their agents see them, for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use windlass_api::types::{
    NodeDetail, NodeDrift, NodeDriftItem, NodeFieldDifference, NodeHostInfo, NodeStatusInfo,
    NodeStatusSummary,
};

use super::table::{Table, state_style};
use super::time::relative;
use super::{Terminal, facts, pluralize, sanitize_for_terminal};

const BOLD: Style = Style::new().bold();

/// Prints nodes.
pub(crate) fn list(nodes: &[NodeStatusInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NAME", "STATUS", "TEMPLATE", "REGION", "AS OF", "REASON"]);
    for node in nodes {
        table.row([
            node.name.clone(),
            node.state.slug().to_owned(),
            node.template.clone(),
            node.region.clone().unwrap_or_default(),
            node.as_of.as_deref().map(relative).unwrap_or_default(),
            node.reason.clone(),
        ]);
    }
    table.leave_out_if_alike("REGION");
    table.print(terminal, "no nodes")
}

/// Prints how many nodes have each status.
pub(crate) fn summary(summary: &NodeStatusSummary, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["GROUP", "NODES", "STATUS", "SUMMARY"]);
    for group in &summary.groups {
        table.row([
            if group.name.is_empty() { "(none)".to_owned() } else { group.name.clone() },
            group.nodes.to_string(),
            group.worst.map(|worst| worst.slug().to_owned()).unwrap_or_default(),
            group.headline.clone(),
        ]);
    }
    table.print(terminal, "no nodes")?;
    super::line(&summary.all.headline)
}

/// Prints a node with its modules and its host.
pub(crate) fn describe(detail: &NodeDetail, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    let node = &detail.node;
    let style = state_style(node.state.slug());
    writeln!(
        out,
        "{BOLD}node {}{BOLD:#}  {style}{}{style:#}",
        sanitize_for_terminal(&node.name),
        sanitize_for_terminal(&node.summary)
    )?;
    writeln!(out, "{}", sanitize_for_terminal(&node.reason))?;
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let labels: Vec<String> = node.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let agent = node.agent.as_ref();
    facts(
        &mut out,
        &[
            ("id", node.id.clone()),
            ("template", node.template.clone()),
            ("region", node.region.clone().unwrap_or_default()),
            ("labels", labels.join(", ")),
            ("assigned", number(node.assigned_generation)),
            ("reached", number(node.reached_generation)),
            ("as of", node.as_of.as_deref().map(relative).unwrap_or_default()),
            ("enrolled", agent.map(|agent| relative(&agent.enrolled_at)).unwrap_or_default()),
            (
                "contact",
                agent.and_then(|agent| agent.last_contact_at.as_deref()).map(relative).unwrap_or_default(),
            ),
            (
                "dropped",
                if detail.events_dropped == 0 { String::new() } else { detail.events_dropped.to_string() },
            ),
        ],
    )?;
    if let Some(host) = &detail.host {
        write_host(&mut out, host)?;
    }
    if !detail.modules.is_empty() {
        writeln!(out, "\n{BOLD}Modules{BOLD:#}")?;
        let mut table = Table::new(&["NAME", "VERSION", "STATUS", "REASON"]);
        for module in &detail.modules {
            table.row([
                module.name.clone(),
                module.version.clone().unwrap_or_default(),
                module.state.slug().to_owned(),
                module.reason.clone().unwrap_or_default(),
            ]);
        }
        table.print(terminal, "")?;
    }
    if node.drifted_items > 0 {
        let items = pluralize(usize::try_from(node.drifted_items).unwrap_or(usize::MAX), "item");
        writeln!(out, "\n{items} drifted: `windlass node drift {}`", sanitize_for_terminal(&node.name))?;
    }
    Ok(())
}

fn write_host(out: &mut impl io::Write, host: &NodeHostInfo) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Host{BOLD:#}")?;
    facts(
        out,
        &[
            ("hostname", host.hostname.clone().unwrap_or_default()),
            ("os", host.os.clone().unwrap_or_default()),
            ("kernel", host.kernel.clone().unwrap_or_default()),
            ("cpu", host.architecture.clone().unwrap_or_default()),
            ("started", host.booted_at.as_deref().map(relative).unwrap_or_default()),
            ("agent", host.agent_version.clone()),
        ],
    )
}

/// Prints how a node differs from what is assigned.
pub(crate) fn drift(drift: &NodeDrift) -> io::Result<()> {
    let mut out = anstream::stdout();
    let node = sanitize_for_terminal(&drift.node);
    writeln!(out, "{BOLD}node {node}{BOLD:#}  {}", sanitize_for_terminal(&drift.reason))?;
    drift.items.iter().try_for_each(|item| write_item(&mut out, item))?;
    if drift.left_out > 0 {
        writeln!(out, "  … and {} more", drift.left_out)?;
    }
    if let Some(item) = drift.items.iter().find(|item| item.acceptance.is_none()) {
        let target = sanitize_for_terminal(&format!("{} {} {}", drift.node, item.kind, item.name));
        writeln!(out, "\nApply what is assigned again:   windlass drift node revert {node}")?;
        writeln!(out, "Write the change into git:      windlass drift node adopt {target}")?;
        writeln!(
            out,
            "Accept the difference:          windlass drift node accept {target} --until 7d --reason TEXT"
        )?;
    }
    Ok(())
}

fn write_item(out: &mut impl io::Write, item: &NodeDriftItem) -> io::Result<()> {
    let yellow = AnsiColor::Yellow.on_default();
    let named = sanitize_for_terminal(&format!("{} {}", item.kind, item.name));
    let about = sanitize_for_terminal(&format!("module {}, since {}", item.module, relative(&item.since)));
    writeln!(out, "  {yellow}{named}{yellow:#} ({about})")?;
    if let Some(acceptance) = &item.acceptance {
        let until = acceptance.until.as_deref().map(|until| format!(" until {until}")).unwrap_or_default();
        let line = format!("accepted by {}{until}: {}", acceptance.by, acceptance.reason);
        writeln!(out, "      = {}", sanitize_for_terminal(&line))?;
    }
    if let Some(problem) = &item.problem {
        writeln!(out, "      {}", sanitize_for_terminal(problem))?;
    }
    item.fields.iter().try_for_each(|field| write_field(out, field))
}

fn write_field(out: &mut impl io::Write, field: &NodeFieldDifference) -> io::Result<()> {
    let name = sanitize_for_terminal(&field.field);
    let Some(diff) = &field.diff else {
        let shown = |value: &Option<String>| sanitize_for_terminal(value.as_deref().unwrap_or("nothing"));
        let note = field.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
        let (observed, desired) = (shown(&field.observed), shown(&field.desired));
        return writeln!(
            out,
            "      {name}: {observed} on the host, {desired} assigned{}",
            sanitize_for_terminal(&note)
        );
    };
    writeln!(out, "      {name}: - on the host, + assigned")?;
    for line in diff.lines() {
        let style = match line.as_bytes().first() {
            Some(b'-') => AnsiColor::Red.on_default(),
            Some(b'+') => AnsiColor::Green.on_default(),
            _ => Style::new(),
        };
        writeln!(out, "        {style}{}{style:#}", sanitize_for_terminal(line))?;
    }
    Ok(())
}

/// Prints the nodes that drifted, below the drift of repositories.
pub(crate) fn drifted(nodes: &[NodeStatusInfo]) -> io::Result<()> {
    let mut out = anstream::stdout();
    let yellow = AnsiColor::Yellow.on_default();
    for node in nodes {
        writeln!(
            out,
            "{yellow}~{yellow:#} {BOLD}node {}{BOLD:#}: {}",
            sanitize_for_terminal(&node.name),
            sanitize_for_terminal(&node.reason)
        )?;
    }
    if let Some(node) = nodes.first() {
        writeln!(
            out,
            "\nShow what differs on a node:    windlass node drift {}",
            sanitize_for_terminal(&node.name)
        )?;
    }
    Ok(())
}
