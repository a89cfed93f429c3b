//! For people: excerpts like a compiler's, plans like a review.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use anstyle::{AnsiColor, Style};
use windlass_core::code::{Code, Severity};
use windlass_core::diagnostic::Diagnostic;
use windlass_core::diff::{Action, Cause};
use windlass_core::plan::{self, Step};
use windlass_core::secret;

use super::value::{field_text, payload_lines};
use super::{Checked, Planned, Terminal, TextOf, clean, count};

/// Problems of one kind that are shown with an excerpt; the rest is counted.
const SHOWN_PER_CODE: usize = 20;

/// Resources of a group that are named.
const NAMED_PER_GROUP: usize = 3;

/// Prints what `validate` found: problems to standard error, the result to standard output.
pub(crate) fn problems(checked: &Checked<'_>, text_of: &TextOf<'_>, terminal: &Terminal) -> io::Result<()> {
    diagnostics(checked.problems, text_of, terminal)?;
    let (errors, warnings) = counts(checked.problems);
    let mut out = anstream::stdout();
    let resources = count(checked.resources, "resource");
    if errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        return writeln!(out, "{style}✗{style:#} {}, {}", count(errors, "error"), count(warnings, "warning"));
    }
    let style = AnsiColor::Green.on_default().bold();
    let warned = if warnings > 0 { format!(", {}", count(warnings, "warning")) } else { String::new() };
    writeln!(out, "{style}✓{style:#} {resources}{warned}, {}", checked.digest)
}

/// Prints the problems of one file.
pub(crate) fn file_problems(problems: &[Diagnostic], text: &str, terminal: &Terminal) -> io::Result<()> {
    diagnostics(problems, &|_| Some(text), terminal)
}

fn counts(problems: &[Diagnostic]) -> (usize, usize) {
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    (errors, problems.len() - errors)
}

fn diagnostics(problems: &[Diagnostic], text_of: &TextOf<'_>, terminal: &Terminal) -> io::Result<()> {
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
        writeln!(err, "… and {} more `{code}`; --format json tells all\n", shown - SHOWN_PER_CODE)?;
    }
    Ok(())
}

fn diagnostic(problem: &Diagnostic, text: Option<&str>, renderer: &Renderer) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(clean(&problem.message)).id(problem.code.slug());
    let mut group = Group::with_title(title);
    let file = clean(&problem.file);
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
        group = group.element(Level::HELP.message(clean(help)));
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
    Excerpt { text: clean(&masked), span: from..to.max(from) }
}

/// Replaces everything from the secret on.
fn mask_from(line: &mut String, from: usize) {
    let length = line.len();
    line.truncate(from);
    line.push_str(&"*".repeat(length.saturating_sub(from)));
}

/// Prints a plan.
pub(crate) fn plan(planned: &Planned<'_>, text_of: &TextOf<'_>, terminal: &Terminal) -> io::Result<()> {
    diagnostics(planned.problems, text_of, terminal)?;
    let mut out = anstream::stdout();
    let bold = Style::new().bold();
    let summary = planned.plan.summary();
    let (errors, _) = counts(planned.problems);
    if planned.plan.is_empty() && errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        return writeln!(out, "{style}✗{style:#} no plan: {}", count(errors, "error"));
    }
    if planned.plan.is_empty() && planned.plan.refusals.is_empty() {
        return writeln!(
            out,
            "{bold}Nothing to do{bold:#}: {} as declared",
            count(summary.unchanged, "resource")
        );
    }
    writeln!(
        out,
        "{bold}Plan for account {}{bold:#}, from {}: {} to create, {} to update, {} to destroy, {} unchanged\n",
        clean(&planned.plan.account),
        clean(planned.from),
        summary.create,
        summary.update,
        summary.destroy,
        summary.unchanged
    )?;
    for group in plan::groups(planned.plan) {
        write_group(&mut out, &group, terminal)?;
    }
    write_refusals(&mut out, planned)?;
    write_footer(&mut out, planned)?;
    if errors > 0 {
        let style = AnsiColor::Red.on_default().bold();
        writeln!(out, "{style}✗{style:#} this plan cannot be applied: {}", count(errors, "error"))?;
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

fn write_group(out: &mut impl io::Write, group: &plan::Group<'_>, terminal: &Terminal) -> io::Result<()> {
    let (sign, style) = sign(group.cause.action());
    let (_, step) = group.steps[0];
    let dim = Style::new().dimmed();
    let positions = group.positions();
    let names: Vec<String> = group.steps.iter().map(|(_, step)| clean(&step.change.key.name)).collect();
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
    let adopted = if group.cause == Cause::Adopted { " (adopted: nobody owned it)" } else { "" };
    writeln!(out, "{dim}{positions:>5}{dim:#}  {style}{sign} {title}{style:#}{adopted}")?;
    for line in step_lines(step, terminal.width.saturating_sub(12)) {
        writeln!(out, "         {}", clean(&line))?;
    }
    if let [(_, step)] = group.steps.as_slice()
        && !step.waits_for.is_empty()
    {
        writeln!(out, "         {dim}after {}{dim:#}", clean(&wait_text(step)))?;
    }
    Ok(())
}

/// What a step waits for, shortened.
pub(super) fn wait_text(step: &Step) -> String {
    let names: Vec<String> = step.waits_for.iter().take(4).map(ToString::to_string).collect();
    match step.waits_for.len() {
        0..=4 => names.join(", "),
        many => format!("{} and {} more", names[..3].join(", "), many - 3),
    }
}

fn step_lines(step: &Step, width: usize) -> Vec<String> {
    match step.change.action() {
        Action::Create => payload_lines(&step.change.payload(), width),
        Action::Update => step.change.fields().iter().flat_map(|field| field_text(field, width)).collect(),
        Action::Destroy => Vec::new(),
    }
}

fn write_refusals(out: &mut impl io::Write, planned: &Planned<'_>) -> io::Result<()> {
    let style = AnsiColor::Yellow.on_default();
    for refusal in &planned.plan.refusals {
        let resource = clean(&refusal.resource.to_string());
        writeln!(
            out,
            "       {style}! not destroyed: {resource}{style:#}\n         {}",
            clean(&refusal.reason)
        )?;
    }
    Ok(())
}

fn write_footer(out: &mut impl io::Write, planned: &Planned<'_>) -> io::Result<()> {
    let dim = Style::new().dimmed();
    if !planned.provider_configs.is_empty() {
        let names: Vec<String> = planned.provider_configs.iter().map(|config| clean(&config.name)).collect();
        writeln!(out, "\n{dim}Informational, never applied: provider_configs {}{dim:#}", names.join(", "))?;
    }
    if planned.remaining > 0 {
        let runs = planned.plan.steps.len().div_ceil(planned.cap);
        writeln!(out, "\nOne run proposes {} changes: this takes {runs} runs.", planned.cap)?;
    }
    writeln!(out, "\n{dim}Plan {}{dim:#}", planned.plan.digest())
}

/// Prints the lines that formatting changes.
pub(crate) fn text_diff(file: &str, before: &str, after: &str) -> io::Result<()> {
    let diff = similar::TextDiff::from_lines(before, after);
    let (removed, added) = (AnsiColor::Red.on_default(), AnsiColor::Green.on_default());
    let mut out = anstream::stdout();
    let file = clean(file);
    for line in diff.unified_diff().context_radius(3).header(&file, &file).to_string().lines() {
        let line = clean(line);
        match line.as_bytes().first() {
            Some(b'-') => writeln!(out, "{removed}{line}{removed:#}")?,
            Some(b'+') => writeln!(out, "{added}{line}{added:#}")?,
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}
