//! For people: excerpts like a compiler's, plans like a review.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use windlass_core::code::{Code, ProblemSeverity};
use windlass_core::content::ContentDifference;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::diff::{Action, Cause};
use windlass_core::display::{DiffLineKind, PlanView, content_lines, field_text, payload_lines, wait_text};
use windlass_core::line_diff::{self, LineChange};
use windlass_core::plan::{self, PolicyOutlook, StepView};
use windlass_core::secret;

use super::{FileTextLookup, Terminal, ValidationResult, pluralize, sanitize_for_terminal};

/// Problems of one kind that are shown with an excerpt; the rest is counted.
const SHOWN_PER_CODE: usize = 20;

/// Resources of a group that are named.
const NAMED_PER_GROUP: usize = 3;

/// Prints what `validate` found: problems to standard error, the result to standard output.
pub(crate) fn problems(
    checked: &ValidationResult<'_>,
    text_of: &FileTextLookup<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    diagnostics(checked.problems, text_of, terminal)?;
    let (errors, warnings) = counts(checked.problems);
    let mut out = anstream::stdout();
    let resources = pluralize(checked.resources, "resource");
    if errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        return writeln!(
            out,
            "{style}✗{style:#} {}, {}",
            pluralize(errors, "error"),
            pluralize(warnings, "warning")
        );
    }
    let style = AnsiColor::Green.on_default().bold();
    let warned = if warnings > 0 { format!(", {}", pluralize(warnings, "warning")) } else { String::new() };
    writeln!(out, "{style}✓{style:#} {resources}{warned}, {}", checked.digest)
}

/// Prints the problems of one file.
pub(crate) fn file_problems(problems: &[Diagnostic], text: &str, terminal: &Terminal) -> io::Result<()> {
    diagnostics(problems, &|_| Some(text), terminal)
}

fn counts(problems: &[Diagnostic]) -> (usize, usize) {
    let errors = problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).count();
    (errors, problems.len() - errors)
}

fn diagnostics(problems: &[Diagnostic], text_of: &FileTextLookup<'_>, terminal: &Terminal) -> io::Result<()> {
    let mut err = anstream::stderr();
    let renderer = Renderer::styled().term_width(terminal.width);
    let mut seen: BTreeMap<Code, usize> = BTreeMap::new();
    for problem in problems {
        let shown = seen.entry(problem.code).or_default();
        *shown += 1;
        if *shown <= SHOWN_PER_CODE {
            writeln!(err, "{}\n", diagnostic(problem, text_of(&problem.file), &renderer))?;
        }
    }
    for (code, shown) in seen.iter().filter(|(_, shown)| **shown > SHOWN_PER_CODE) {
        writeln!(err, "… and {} more `{code}`; --format json lists all\n", shown - SHOWN_PER_CODE)?;
    }
    Ok(())
}

fn diagnostic(problem: &Diagnostic, text: Option<&str>, renderer: &Renderer) -> String {
    let level = match problem.severity {
        ProblemSeverity::Error => Level::ERROR,
        ProblemSeverity::Warning => Level::WARNING,
    };
    let title = level.primary_title(sanitize_for_terminal(&problem.message)).id(problem.code.slug());
    let mut group = Group::with_title(title);
    let file = sanitize_for_terminal(&problem.file);
    let excerpt = text.filter(|_| problem.line > 0).map(|text| excerpt(text, problem));
    if let Some(excerpt) = &excerpt {
        let annotation = AnnotationKind::Primary.span(excerpt.span.clone());
        group = group.element(
            Snippet::source(excerpt.text.as_str())
                .line_start(problem.line)
                .path(file.as_str())
                .annotation(annotation),
        );
    } else if !file.is_empty() {
        group = group.element(annotate_snippets::Origin::path(file.as_str()));
    }
    if let Some(help) = &problem.help {
        group = group.element(Level::HELP.message(sanitize_for_terminal(help)));
    }
    renderer.render(&[group])
}

struct Excerpt {
    text: String,
    span: std::ops::Range<usize>,
}

/// The line of a problem, with secrets masked and made safe for a terminal.
fn excerpt(text: &str, problem: &Diagnostic) -> Excerpt {
    let is_break = |c: char| c == '\n' || c == '\r';
    let start = text[..problem.span.start].rfind(is_break).map_or(0, |found| found + 1);
    let end = text[start..].find(is_break).map_or(text.len(), |found| start + found);
    let from = problem.span.start - start;
    let mut masked = secret::mask_excerpt(text, start..end);
    if matches!(problem.code, Code::SecretInline | Code::SecretSuspected) {
        mask_from(&mut masked, from);
    }
    let to = problem.span.end.clamp(problem.span.start, end.max(problem.span.start)) - start;
    Excerpt { text: sanitize_for_terminal(&masked), span: from..to.max(from) }
}

/// Replaces everything from the secret on.
fn mask_from(line: &mut String, from: usize) {
    let length = line.len();
    line.truncate(from);
    line.push_str(&"*".repeat(length.saturating_sub(from)));
}

/// Prints a plan.
pub(crate) fn plan(
    planned: &PlanView<'_>,
    text_of: &FileTextLookup<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    diagnostics(planned.problems, text_of, terminal)?;
    for note in planned.notes {
        super::note(note)?;
    }
    let mut out = anstream::stdout();
    let bold = Style::new().bold();
    let summary = planned.summary;
    let (errors, _) = counts(planned.problems);
    if planned.is_empty() && errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        return writeln!(out, "{style}✗{style:#} no plan: {}", pluralize(errors, "error"));
    }
    if planned.is_empty() && planned.refusals.is_empty() {
        return writeln!(
            out,
            "{bold}No changes{bold:#}: {} in sync",
            pluralize(summary.unchanged, "resource")
        );
    }
    writeln!(
        out,
        "{bold}Plan for account {}{bold:#}, from {}: {} to create, {} to update, {} to destroy, {} unchanged\n",
        sanitize_for_terminal(planned.account),
        sanitize_for_terminal(planned.from),
        summary.create,
        summary.update,
        summary.destroy,
        summary.unchanged
    )?;
    for group in &planned.groups {
        write_group(&mut out, group, planned, terminal)?;
    }
    if planned.omitted > 0 {
        writeln!(out, "       … and {}", pluralize(planned.omitted, "more change"))?;
    }
    write_refusals(&mut out, planned)?;
    write_footer(&mut out, planned)?;
    if errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        writeln!(out, "{style}✗{style:#} this plan cannot be applied: {}", pluralize(errors, "error"))?;
    }
    Ok(())
}

fn sign(action: Action) -> (&'static str, Style) {
    match action {
        Action::Create => ("+", AnsiColor::Green.on_default()),
        Action::Update => ("~", AnsiColor::Yellow.on_default()),
        Action::Destroy => ("-", AnsiColor::Red.on_default()),
    }
}

fn write_group(
    out: &mut impl io::Write,
    group: &plan::StepGroup<'_>,
    planned: &PlanView<'_>,
    terminal: &Terminal,
) -> io::Result<()> {
    let (sign, style) = sign(group.cause.action());
    let (_, step) = group.steps[0];
    let dim = Style::new().dimmed();
    let positions = group.positions();
    let names: Vec<String> = group.steps.iter().map(|(_, step)| sanitize_for_terminal(step.name())).collect();
    let title = match names.len() {
        1 => format!("{} {}", group.kind, names[0]),
        many if many <= NAMED_PER_GROUP => format!("{} {}", group.kind.plural(), names.join(", ")),
        many => format!(
            "{many} {}: {}, … {}",
            group.kind.plural(),
            names[..NAMED_PER_GROUP - 1].join(", "),
            names[many - 1]
        ),
    };
    let owner = match group.cause {
        Cause::Adopted => " (adopted: it had no owner)",
        Cause::Contested => " (another repository owns it)",
        Cause::Declared | Cause::Edited | Cause::Removed => "",
    };
    writeln!(out, "{dim}{positions:>5}{dim:#}  {style}{sign} {title}{style:#}{owner}")?;
    for line in step_lines(step, terminal.width.saturating_sub(12)) {
        writeln!(out, "         {}", sanitize_for_terminal(&line))?;
    }
    for difference in planned.content_of(step) {
        content(out, difference, "         ")?;
    }
    if let [(_, step)] = group.steps.as_slice()
        && !step.waits_for().is_empty()
    {
        writeln!(out, "         {dim}after {}{dim:#}", sanitize_for_terminal(&wait_text(*step)))?;
    }
    write_foreseen(out, group)
}

/// Prints what differs in the files that a resource names, each line behind the same indentation.
pub(super) fn content(
    out: &mut impl io::Write,
    difference: &ContentDifference,
    indent: &str,
) -> io::Result<()> {
    let (removed, added) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    for (mark, line) in content_lines(difference) {
        let style = match mark {
            DiffLineKind::Head => bold,
            DiffLineKind::Note | DiffLineKind::Place => dim,
            DiffLineKind::Added => added,
            DiffLineKind::Removed => removed,
            DiffLineKind::Same => Style::new(),
        };
        writeln!(out, "{indent}{style}{}{style:#}", sanitize_for_terminal(&line))?;
    }
    Ok(())
}

/// What would become of the steps where it is not that someone approves them. Said once for those that fare alike.
fn write_foreseen(out: &mut impl io::Write, group: &plan::StepGroup<'_>) -> io::Result<()> {
    let mut told: BTreeMap<String, usize> = BTreeMap::new();
    for forecast in group.steps.iter().filter_map(|(_, step)| step.forecast()) {
        let outlook = match forecast.outlook {
            PolicyOutlook::Approval => None,
            PolicyOutlook::Auto => Some("would be applied automatically".to_owned()),
            PolicyOutlook::Blocked => Some(format!("would be blocked: {}", forecast.reasons.join("; "))),
        };
        let waits = forecast.blocked_by.iter().map(|wait| format!("would be blocked: {wait}"));
        for line in outlook.into_iter().chain(waits) {
            *told.entry(line).or_default() += 1;
        }
    }
    let style = AnsiColor::Yellow.on_default();
    for (line, steps) in told {
        let of = if steps < group.steps.len() { format!(" ({steps} of them)") } else { String::new() };
        writeln!(out, "         {style}{}{style:#}{of}", sanitize_for_terminal(&line))?;
    }
    Ok(())
}

fn step_lines(step: StepView<'_>, width: usize) -> Vec<String> {
    match step.cause().action() {
        Action::Create => payload_lines(&step.payload(), width),
        Action::Update => step.fields().iter().flat_map(|field| field_text(field, width)).collect(),
        Action::Destroy => Vec::new(),
    }
}

fn write_refusals(out: &mut impl io::Write, planned: &PlanView<'_>) -> io::Result<()> {
    let style = AnsiColor::Yellow.on_default();
    for (resource, reason) in &planned.refusals {
        let resource = sanitize_for_terminal(resource);
        writeln!(
            out,
            "       {style}! not destroyed: {resource}{style:#}\n         {}",
            sanitize_for_terminal(reason)
        )?;
    }
    Ok(())
}

fn write_footer(out: &mut impl io::Write, planned: &PlanView<'_>) -> io::Result<()> {
    let dim = Style::new().dimmed();
    if !planned.provider_configs.is_empty() {
        let names: Vec<String> =
            planned.provider_configs.iter().map(|name| sanitize_for_terminal(name)).collect();
        writeln!(out, "\n{dim}Informational, never applied: provider_configs {}{dim:#}", names.join(", "))?;
    }
    if planned.remaining > 0 {
        let runs = planned.changes().div_ceil(planned.cap);
        writeln!(
            out,
            "\nAt most {} changes are open at a time: this plan takes {runs} batches.",
            planned.cap
        )?;
    }
    writeln!(out, "\n{dim}Plan {}{dim:#}", planned.digest)
}

/// Prints the lines that formatting changes.
pub(crate) fn text_diff(file: &str, before: &str, after: &str) -> io::Result<()> {
    let (removed, added) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let mut out = anstream::stdout();
    let file = sanitize_for_terminal(file);
    writeln!(out, "{removed}--- {file}{removed:#}")?;
    writeln!(out, "{added}+++ {file}{added:#}")?;
    let (before, after) = (line_diff::split(before), line_diff::split(after));
    for hunk in line_diff::hunks(&before, &after, 3) {
        writeln!(out, "{}", hunk.header(0))?;
        for change in hunk.lines() {
            let (sign, text) = (change.sign(), change.text(&before, &after));
            let line = sanitize_for_terminal(text.trim_end_matches('\n'));
            match change {
                LineChange::Removed(_) => writeln!(out, "{removed}{sign}{line}{removed:#}")?,
                LineChange::Added(_) => writeln!(out, "{added}{sign}{line}{added:#}")?,
                LineChange::Same { .. } => writeln!(out, "{sign}{line}")?,
            }
            if !text.ends_with('\n') {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
    }
    Ok(())
}
