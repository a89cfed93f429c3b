//! Sync runs, for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use windlass_api::types::{ActionInfo, Problem, RunInfo};
use windlass_core::code::ProblemSeverity;
use windlass_core::diff::Action;
use windlass_core::display::payload_lines;
use windlass_core::proposal::Status;
use windlass_core::run::{Movement, RunStatus};

use super::proposal::sign;
use super::table::{Table, state_style, state_word};
use super::time::relative;
use super::{Terminal, facts, pluralize, sanitize_for_terminal, short, short_commit};

const BOLD: Style = Style::new().bold();

/// Names of one kind and change that are shown; the rest is counted.
const NAMED: usize = 8;

/// Proposals and actions that are listed; the rest is counted.
const LISTED: usize = 200;

/// Prints runs.
pub(crate) fn list(runs: &[RunInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table =
        Table::new(&["ID", "REPOSITORY", "STATUS", "COMMIT", "CHANGES", "WHEN", "TRIGGER", "SUBJECT"]);
    for run in runs {
        let subject = run.error.as_ref().map(|error| error.message.clone());
        table.row([
            short(&run.id),
            run.repository_name.clone(),
            state_word(run.status.slug()).to_owned(),
            run.commit_sha.as_deref().map(short_commit).unwrap_or_default(),
            run.diff_count.to_string(),
            relative(&run.created_at),
            run.trigger.to_string(),
            subject.or_else(|| run.commit_subject.clone()).unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no runs; start one with `windlass sync REPO`")
}

/// Prints one run.
pub(crate) fn one(run: &RunInfo, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    let style = state_style(run.status.slug());
    let (name, status) = (sanitize_for_terminal(&run.repository_name), run.status);
    writeln!(
        out,
        "{BOLD}Run {}{BOLD:#} of {name}: {style}{status}{style:#}",
        sanitize_for_terminal(&run.id)
    )?;
    let by = run.commit_author.as_deref().map(|author| format!(" by {author}")).unwrap_or_default();
    let subject = run.commit_subject.as_deref().map(|subject| format!(": {subject}")).unwrap_or_default();
    let commit = run.commit_sha.as_deref().map(|commit| format!("{}{by}{subject}", short_commit(commit)));
    facts(
        &mut out,
        &[
            ("commit", commit.unwrap_or_default()),
            (
                "branch",
                if run.movement == Some(Movement::Rewritten) {
                    "was rewritten".to_owned()
                } else {
                    String::new()
                },
            ),
            (
                "started",
                format!(
                    "{} by {}",
                    relative(&run.created_at),
                    run.requested_by.as_deref().unwrap_or(run.trigger.slug())
                ),
            ),
        ],
    )?;
    write_error(&mut out, run)?;
    write_problems(&mut out, &run.problems)?;
    write_diff(&mut out, run)?;
    write_sets(&mut out, run)?;
    write_proposals(&mut out, run, terminal)?;
    write_actions(&mut out, "Applied", &run.applied_actions)?;
    write_actions(&mut out, "Failed", &run.failed_actions)?;
    write_actions(&mut out, "Skipped", &run.skipped_actions)?;
    write_end(&mut out, run)
}

fn write_error(out: &mut impl io::Write, run: &RunInfo) -> io::Result<()> {
    let Some(error) = &run.error else { return Ok(()) };
    let red = AnsiColor::Red.on_default().bold();
    writeln!(
        out,
        "\n{red}error[{}]{red:#}: {}",
        sanitize_for_terminal(&error.code),
        sanitize_for_terminal(&error.message)
    )?;
    match error.help.is_empty() {
        true => Ok(()),
        false => writeln!(out, "  help: {}", sanitize_for_terminal(&error.help)),
    }
}

fn write_problems(out: &mut impl io::Write, problems: &[Problem]) -> io::Result<()> {
    if !problems.is_empty() {
        writeln!(out, "\n{BOLD}Problems{BOLD:#}")?;
    }
    for problem in problems {
        let style = match problem.severity {
            ProblemSeverity::Error => AnsiColor::Red.on_default().bold(),
            _ => AnsiColor::Yellow.on_default().bold(),
        };
        let place = match problem.line {
            0 => problem.file.clone(),
            line => format!("{}:{line}:{}", problem.file, problem.column),
        };
        let (severity, code) = (problem.severity, sanitize_for_terminal(&problem.code));
        writeln!(
            out,
            "  {}: {style}{severity}[{code}]{style:#}: {}",
            sanitize_for_terminal(&place),
            sanitize_for_terminal(&problem.message)
        )?;
        if let Some(help) = problem.help.as_ref().filter(|help| !help.is_empty()) {
            writeln!(out, "    help: {}", sanitize_for_terminal(help))?;
        }
    }
    Ok(())
}

/// A change and the names of one kind it is made to.
struct ChangeNames {
    kind: String,
    change: Action,
    names: Vec<String>,
}

/// The grouped difference flattened: kind → add, update, delete → names; SD-WAN kinds stand one deeper.
fn grouped(diff: &Value) -> Vec<ChangeNames> {
    let mut found = Vec::new();
    for (kind, changes) in diff.as_object().into_iter().flatten() {
        let Some(entries) = changes.as_object() else { continue };
        if entries.values().any(Value::is_object) {
            found.extend(
                grouped(changes)
                    .into_iter()
                    .map(|group| ChangeNames { kind: format!("{kind}.{}", group.kind), ..group }),
            );
            continue;
        }
        for (word, change) in
            [("add", Action::Create), ("update", Action::Update), ("delete", Action::Destroy)]
        {
            let names = entries.get(word).and_then(Value::as_array).into_iter().flatten();
            let names: Vec<String> = names.map(name_of).collect();
            if !names.is_empty() {
                found.push(ChangeNames { kind: kind.clone(), change, names });
            }
        }
    }
    found
}

fn name_of(item: &Value) -> String {
    let named = item.as_str().or_else(|| item.get("name").and_then(Value::as_str));
    named.map_or_else(|| item.to_string(), str::to_owned)
}

fn write_diff(out: &mut impl io::Write, run: &RunInfo) -> io::Result<()> {
    let groups = grouped(&run.diff);
    if groups.is_empty() {
        let nothing = run.error.is_none() && run.status == RunStatus::Success;
        return if nothing { writeln!(out, "\nNo changes: in sync.") } else { Ok(()) };
    }
    writeln!(out, "\n{BOLD}{}{BOLD:#}", pluralize(run.diff_count, "difference"))?;
    for group in groups {
        let (sign, style) = sign(group.change);
        let shown: Vec<String> =
            group.names.iter().take(NAMED).map(|name| sanitize_for_terminal(name)).collect();
        let more = match group.names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        writeln!(
            out,
            "  {style}{sign} {}{style:#}: {}{more}",
            sanitize_for_terminal(&group.kind),
            shown.join(", ")
        )?;
    }
    Ok(())
}

/// What of the plan can be approved as one, where that is more than one proposal.
fn write_sets(out: &mut impl io::Write, run: &RunInfo) -> io::Result<()> {
    let Some(whole) = run.sets.first().filter(|whole| whole.count > 1) else { return Ok(()) };
    writeln!(out, "\n{BOLD}Plan{BOLD:#} {}", sanitize_for_terminal(&whole.digest))?;
    super::plan_set::write(out, &run.sets)
}

/// Prints that held proposals go on.
pub(crate) fn released(run: &RunInfo) -> io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(
        out,
        "applying resumed for {}, although this run failed",
        sanitize_for_terminal(&run.repository_name)
    )
}

fn write_proposals(out: &mut impl io::Write, run: &RunInfo, terminal: &Terminal) -> io::Result<()> {
    if !run.proposals.is_empty() {
        writeln!(out, "\n{BOLD}{}{BOLD:#}, in order", pluralize(run.proposals.len(), "proposal"))?;
    }
    let dim = Style::new().dimmed();
    for proposal in run.proposals.iter().take(LISTED) {
        let (sign, style) = sign(proposal.change);
        let state = state_style(proposal.status.slug());
        let (kind, name, status) =
            (sanitize_for_terminal(&proposal.kind), sanitize_for_terminal(&proposal.name), proposal.status);
        writeln!(
            out,
            "  {dim}{}{dim:#}  {style}{sign} {kind} {name}{style:#}  {state}{status}{state:#}",
            short(&proposal.id)
        )?;
        if proposal.change == Action::Create && run.proposals.len() <= NAMED {
            for line in payload_lines(&proposal.payload, terminal.width.saturating_sub(16)) {
                writeln!(out, "              {}", sanitize_for_terminal(&line))?;
            }
        }
        proposal.blocked_by.iter().try_for_each(|reason| {
            writeln!(out, "              blocked: {}", sanitize_for_terminal(reason))
        })?;
    }
    write_more(out, run.proposals.len())
}

/// How many more there are than are listed.
fn write_more(out: &mut impl io::Write, all: usize) -> io::Result<()> {
    match all.saturating_sub(LISTED) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more; -o json lists all"),
    }
}

fn write_actions(out: &mut impl io::Write, title: &str, actions: &[ActionInfo]) -> io::Result<()> {
    if !actions.is_empty() {
        writeln!(out, "\n{BOLD}{title}{BOLD:#}")?;
    }
    for action in actions.iter().take(LISTED) {
        let reason = action.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        writeln!(
            out,
            "  {} {}{}",
            sanitize_for_terminal(&action.action),
            sanitize_for_terminal(&action.name),
            sanitize_for_terminal(&reason)
        )?;
    }
    write_more(out, actions.len())
}

fn write_end(out: &mut impl io::Write, run: &RunInfo) -> io::Result<()> {
    if !run.waiting_for.is_empty() {
        writeln!(out, "\n{BOLD}Blocked on{BOLD:#}")?;
        run.waiting_for
            .iter()
            .try_for_each(|reason| writeln!(out, "  - {}", sanitize_for_terminal(reason)))?;
    }
    if run.remaining > 0 {
        writeln!(out, "\n{} not proposed yet.", pluralize(run.remaining, "change"))?;
    }
    let still: usize = run.drift_after_apply.iter().flat_map(grouped).map(|group| group.names.len()).sum();
    if still > 0 {
        writeln!(out, "\n{} left after applying: see `windlass drift`.", pluralize(still, "difference"))?;
    }
    if run.proposals.iter().any(|proposal| proposal.status == Status::PendingApproval) {
        let id = sanitize_for_terminal(&run.id);
        writeln!(
            out,
            "\nReview with `windlass proposal show ID`, approve all with `windlass proposal approve --run {id}`."
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_grouped_difference_is_flattened_with_its_sdwan_kinds() {
        let diff = json!({
            "nodes": {"add": ["a", {"name": "b"}], "update": [], "delete": ["c"]},
            "sdwan": {"networks": {"add": [], "update": ["n"], "delete": []}},
        });
        let told: Vec<String> = grouped(&diff)
            .iter()
            .map(|group| format!("{} {} {}", group.change, group.kind, group.names.join(",")))
            .collect();
        assert_eq!(told, ["create nodes a,b", "destroy nodes c", "update sdwan.networks n"]);
    }

    #[test]
    fn a_difference_of_another_shape_is_nothing_to_tell() {
        for odd in [json!(null), json!([1]), json!({"nodes": 3}), json!({"nodes": {"add": 3}})] {
            assert!(grouped(&odd).is_empty(), "{odd}");
        }
    }
}
