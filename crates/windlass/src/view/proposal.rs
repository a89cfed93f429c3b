//! Proposals, for people: what would change, who has to agree, what it waits for.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use windlass_api::types::{
    BatchItem, BatchResult, ContentDifference, ErrorBody, GateInfo, ProposalInfo, WaitingChange,
};
use windlass_core::diff::Action;
use windlass_core::display::payload_lines;
use windlass_core::gate::{ConsentState, ContributorRole};
use windlass_core::proposal::Status;

use super::effects::write_effects;
use super::fields::field_lines;
use super::table::{Table, state_style, state_word};
use super::time::relative;
use super::{Terminal, facts, pluralize, refusal, sanitize_for_terminal, short, short_commit};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// All columns of a list fit side by side in terminals of this width.
const WIDE_TERMINAL: usize = 110;

/// Proposals that are told one by one; of more, only how many there are.
const MAX_SHOWN_IN_FULL: usize = 200;

/// What came of one proposal.
pub(crate) struct ApplyOutcome {
    /// The proposal as it is now.
    pub(crate) proposal: ProposalInfo,
    /// Why it cannot be applied now.
    pub(crate) refused: Option<ErrorBody>,
}

/// Prints that a direct change needs approval.
pub(crate) fn waiting(waiting: &WaitingChange) -> io::Result<()> {
    super::line(&sanitize_for_terminal(&waiting.message))?;
    let id = sanitize_for_terminal(&waiting.proposal.id);
    super::note(&format!("`windlass proposal show {id}` shows what blocks it"))
}

/// The sign and colour of a change, as in a plan.
pub(super) fn sign(change: Action) -> (&'static str, Style) {
    match change {
        Action::Create => ("+", AnsiColor::Green.on_default()),
        Action::Destroy => ("-", AnsiColor::Red.on_default()),
        Action::Update => ("~", AnsiColor::Yellow.on_default()),
    }
}

/// Prints proposals: newest run first, each run's in the order of its plan, because that is how they are reviewed.
pub(crate) fn list(proposals: &[ProposalInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table =
        Table::new(&["ID", "CHANGE", "KIND", "NAME", "STATUS", "REPOSITORY", "OPENED", "BLOCKED BY"]);
    for proposal in in_plan_order(proposals) {
        table.row([
            short(&proposal.id),
            proposal.change.to_string(),
            proposal.kind.clone(),
            proposal.name.clone(),
            state_word(proposal.status.slug()).to_owned(),
            proposal.repository_name.clone(),
            relative(&proposal.opened_at),
            first_and_more(&proposal.blocked_by),
        ]);
    }
    if terminal.width < WIDE_TERMINAL {
        table.leave_out_if_alike("REPOSITORY");
    }
    if proposals.iter().all(|proposal| proposal.blocked_by.is_empty()) {
        table.leave_out_if_alike("BLOCKED BY");
    }
    table.print(terminal, "no matching proposals")
}

/// Runs stay in the order in which they come; within each, the plan's.
fn in_plan_order(proposals: &[ProposalInfo]) -> Vec<&ProposalInfo> {
    let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
    for proposal in proposals {
        let next = runs.len();
        runs.entry(&proposal.run_id).or_insert(next);
    }
    let mut ordered: Vec<&ProposalInfo> = proposals.iter().collect();
    ordered.sort_by_key(|proposal| (runs.get(proposal.run_id.as_str()), proposal.position, &proposal.id));
    ordered
}

/// The first of several reasons, and how many more there are; `proposal show` tells them all.
fn first_and_more(reasons: &[String]) -> String {
    match reasons {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => format!("{first} +{}", more.len()),
    }
}

/// Prints one proposal.
pub(crate) fn one(proposal: &ProposalInfo, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    write_title(&mut out, proposal)?;
    let at = match (&proposal.file, proposal.line) {
        (Some(file), Some(line)) => format!(" in {file}:{line}"),
        (Some(file), None) => format!(" in {file}"),
        _ => String::new(),
    };
    let is_direct = proposal.repository_id.is_empty();
    let author = proposal.author.as_deref().map(|author| format!(" by {author}")).unwrap_or_default();
    facts(
        &mut out,
        &[
            ("id", proposal.id.clone()),
            ("why", proposal.explanation.clone()),
            ("commit", commit_line(proposal, &author, &at)),
            ("people", people_line(proposal)),
            (if is_direct { "source" } else { "repository" }, proposal.repository_name.clone()),
            ("reason", proposal.direct_reason.clone().unwrap_or_default()),
            ("run", proposal.run_id.clone()),
            ("opened", relative(&proposal.opened_at)),
            (
                "expires",
                if proposal.closed_at.is_none() { relative(&proposal.expires_at) } else { String::new() },
            ),
            ("edited by", proposal.edited_by.clone().unwrap_or_default()),
            ("digest", proposal.digest.clone()),
        ],
    )?;
    writeln!(out, "\n{BOLD}Changes{BOLD:#}")?;
    write_change(&mut out, proposal, terminal)?;
    if let Some(effects) = &proposal.effects {
        write_effects(&mut out, effects, terminal)?;
    }
    write_waits(&mut out, proposal)?;
    write_decision(&mut out, proposal)
}

/// The commit with its author and place; nothing for a direct change.
fn commit_line(proposal: &ProposalInfo, author: &str, at: &str) -> String {
    match proposal.commit_sha.is_empty() {
        true => String::new(),
        false => format!("{}{author}{at}", short_commit(&proposal.commit_sha)),
    }
}

/// Everyone else who had a hand in it, and whether someone may be missing.
fn people_line(proposal: &ProposalInfo) -> String {
    let others =
        proposal.contributors.iter().filter(|contributor| contributor.role != ContributorRole::Author);
    let told: Vec<String> = others
        .map(|contributor| format!("{} ({})", contributor.person, contributor.role.slug().replace('_', "-")))
        .collect();
    let gap = proposal.contributors_gap.iter().map(|gap| format!("may be incomplete: {gap}"));
    told.into_iter().chain(gap).collect::<Vec<_>>().join(", ")
}

fn write_title(out: &mut impl io::Write, proposal: &ProposalInfo) -> io::Result<()> {
    let (sign, style) = sign(proposal.change);
    let state = state_style(proposal.status.slug());
    let (change, kind, name) =
        (proposal.change, sanitize_for_terminal(&proposal.kind), sanitize_for_terminal(&proposal.name));
    writeln!(out, "{style}{sign} {change} {kind} {name}{style:#}  {state}{}{state:#}", proposal.status)
}

/// What would change, field by field as in a plan. Nothing is cut: what is approved must be readable.
fn write_change(out: &mut impl io::Write, proposal: &ProposalInfo, terminal: &Terminal) -> io::Result<()> {
    let width = terminal.width.saturating_sub(4);
    let effective = proposal.edited_payload.as_ref().unwrap_or(&proposal.payload);
    let lines = match proposal.change {
        Action::Update if !proposal.fields.is_empty() => field_lines(&proposal.fields, width),
        Action::Destroy => std::iter::once("deletes:".to_owned())
            .chain(payload_lines(effective, width).into_iter().map(|line| format!("  {line}")))
            .collect(),
        _ => payload_lines(effective, width),
    };
    lines.iter().try_for_each(|line| writeln!(out, "    {}", sanitize_for_terminal(line)))?;
    for difference in proposal.content.iter().filter_map(ContentDifference::to_core) {
        super::human::content(out, &difference, "    ")?;
    }
    if proposal.edited_payload.is_none() {
        return Ok(());
    }
    let by = proposal.edited_by.as_deref().unwrap_or("someone");
    writeln!(out, "    {DIM}edited by {}; in git:", sanitize_for_terminal(by))?;
    payload_lines(&proposal.payload, width.saturating_sub(2))
        .iter()
        .try_for_each(|line| writeln!(out, "      {}", sanitize_for_terminal(line)))?;
    write!(out, "{DIM:#}")
}

fn write_waits(out: &mut impl io::Write, proposal: &ProposalInfo) -> io::Result<()> {
    // What comes first in the plan is often what it is blocked by: told once.
    let is_new = |first: &&String| !proposal.blocked_by.iter().any(|reason| reason.contains(first.as_str()));
    let reasons: Vec<&String> =
        proposal.blocked_by.iter().chain(proposal.waits_for.iter().filter(is_new)).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Blocked by{BOLD:#}")?;
    reasons.iter().try_for_each(|reason| writeln!(out, "  - {}", sanitize_for_terminal(reason)))
}

fn write_decision(out: &mut impl io::Write, proposal: &ProposalInfo) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Decision{BOLD:#}")?;
    if let Some(gate) = &proposal.gate {
        write_gate(out, gate)?;
    }
    for approval in &proposal.approvals {
        let reason = approval.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let counts = if approval.counts { "" } else { " (lapsed: approved another revision)" };
        let (who, when) = (sanitize_for_terminal(&approval.approver), relative(&approval.at));
        writeln!(out, "  approved by {who} {when}{counts}{}", sanitize_for_terminal(&reason))?;
    }
    if let Some(by) = &proposal.decided_by {
        let when = proposal.decided_at.as_deref().map(relative).unwrap_or_default();
        writeln!(out, "  decided by {} {when}", sanitize_for_terminal(by))?;
    }
    if let Some(reason) = &proposal.reason {
        writeln!(out, "  {}", sanitize_for_terminal(reason))?;
    }
    match proposal.status {
        Status::PendingApproval => {
            writeln!(out, "\nApprove with `windlass proposal approve {}`.", short(&proposal.id))
        }
        Status::Approved => writeln!(out, "\nApply now with `windlass apply {}`.", short(&proposal.id)),
        _ => Ok(()),
    }
}

fn write_gate(out: &mut impl io::Write, gate: &GateInfo) -> io::Result<()> {
    let style = state_style(gate.consent.slug());
    let rule = gate.rule.as_deref().map_or_else(|| "the default".to_owned(), |rule| format!("rule {rule}"));
    let (consent, rule) = (gate.consent, sanitize_for_terminal(&rule));
    writeln!(
        out,
        "  consent {style}{consent}{style:#}, by {rule}: {} of {} approvals",
        gate.have, gate.need
    )?;
    for reason in gate.reasons.iter().chain(&gate.holds) {
        writeln!(out, "  - {}", sanitize_for_terminal(reason))?;
    }
    match &gate.why_not_you {
        Some(reason) => writeln!(out, "  you cannot approve: {}", sanitize_for_terminal(reason)),
        None => Ok(()),
    }
}

/// Prints what is about to be decided: each change in full, because that is what the decision binds to.
pub(crate) fn reviewed(proposals: &[ProposalInfo], terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    for proposal in proposals.iter().take(MAX_SHOWN_IN_FULL) {
        write!(out, "{DIM}{}{DIM:#}  ", short(&proposal.id))?;
        write_title(&mut out, proposal)?;
        write_change(&mut out, proposal, terminal)?;
    }
    match proposals.len().saturating_sub(MAX_SHOWN_IN_FULL) {
        0 => Ok(()),
        more => {
            writeln!(
                out,
                "and {more} more: see `windlass proposal list --all` and `windlass proposal show ID`"
            )
        }
    }
}

/// Prints what became of one proposal that was decided.
pub(crate) fn decided(proposal: &ProposalInfo) -> io::Result<()> {
    let mut out = anstream::stdout();
    write_title(&mut out, proposal)?;
    match &proposal.gate {
        Some(gate) if gate.consent == ConsentState::Needed => {
            writeln!(out, "  {} of {} approvals", gate.have, gate.need)
        }
        _ => Ok(()),
    }
}

/// Prints what became of each of several.
pub(crate) fn batch(result: &BatchResult, proposals: &[ProposalInfo]) -> io::Result<()> {
    let mut out = anstream::stdout();
    let name_of = |id: &str| {
        let found = proposals.iter().find(|proposal| proposal.id == id);
        found.map_or_else(|| id.to_owned(), |found| format!("{} {} {}", found.change, found.kind, found.name))
    };
    // Of many, those that were refused are what is news.
    let is_told = |item: &&BatchItem| result.results.len() <= MAX_SHOWN_IN_FULL || item.error.is_some();
    for item in result.results.iter().filter(is_told).take(MAX_SHOWN_IN_FULL) {
        let status = item.status.map_or("unknown", Status::slug);
        let state = state_style(status);
        writeln!(
            out,
            "{}  {state}{}{state:#}",
            sanitize_for_terminal(&name_of(&item.id)),
            sanitize_for_terminal(status)
        )?;
        if let Some(error) = &item.error {
            refusal(&mut out, error, "  ")?;
        }
    }
    writeln!(out, "{} done, {} refused", result.done, result.refused)
}

/// What an approved proposal waits for, in a few words.
pub(crate) fn waits_for(proposal: &ProposalInfo) -> String {
    let holds = proposal.gate.iter().flat_map(|gate| &gate.holds);
    let reasons: Vec<String> =
        proposal.blocked_by.iter().chain(holds).chain(&proposal.waits_for).cloned().collect();
    let what = format!("{} {} {}", proposal.change, proposal.kind, proposal.name);
    match (proposal.status, reasons.is_empty()) {
        (Status::PendingApproval, true) => format!("{what}: pending approval"),
        (_, true) => format!("{what}: {}", proposal.status),
        (_, false) => format!("{what}: blocked: {}", reasons.join("; ")),
    }
}

/// Prints what came of applying.
pub(crate) fn applied(outcomes: &[ApplyOutcome]) -> io::Result<()> {
    let mut out = anstream::stdout();
    for outcome in outcomes {
        write_title(&mut out, &outcome.proposal)?;
        if let Some(error) = &outcome.refused {
            refusal(&mut out, error, "  ")?;
        }
        match outcome.proposal.status {
            Status::Applied | Status::AppliedManually => {}
            Status::PendingApproval | Status::Approved => {
                writeln!(out, "  {}", sanitize_for_terminal(&waits_for(&outcome.proposal)))?;
            }
            _ => writeln!(
                out,
                "  {}",
                sanitize_for_terminal(outcome.proposal.reason.as_deref().unwrap_or_default())
            )?,
        }
    }
    let done = outcomes.iter().filter(|outcome| outcome.proposal.status == Status::Applied).count();
    writeln!(out, "{} of {} applied", done, pluralize(outcomes.len(), "change"))
}
