//! Renders a plan as Markdown for a comment on a forge.
//!
//! Text of a repository is never interpreted as markup, a link, a mention or the end of a block. A comment is never
//! larger than [`MAX_MARKDOWN`]; what does not fit is counted.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::content::{DiffLineKind, content_lines};
use super::plan_view::PlanView;
use super::value::{field_text, payload_lines};
use super::{pluralize, sanitize_for_terminal};
use crate::code::ProblemSeverity;
use crate::diff::Action;
use crate::plan::{PolicyOutlook, StepGroup, StepView};
use crate::resource::Kind;

/// Forges limit comments to 65,536 characters; the rest is for text that a bot adds. Counted in bytes, which are never
/// fewer than characters.
pub const MAX_MARKDOWN: usize = 65_000;

/// Reserved for the end of the comment.
const RESERVED_BYTES: usize = 8_000;

/// The limit of the table, so that some of the fields fit as well.
const MAX_TABLE_BYTES: usize = 30_000;

/// The most problems, refusals and names listed; the rest is counted.
const MAX_LISTED: usize = 20;

/// Longer sentences and names are cut.
const MAX_SENTENCE_CHARS: usize = 240;

/// Width of lines inside the diff.
const DIFF_WIDTH: usize = 100;

/// Renders a plan as a comment.
pub fn markdown(planned: &PlanView<'_>) -> String {
    let mut text = heading(planned);
    if has_nothing_to_report(planned) {
        return text;
    }
    write_problems(&mut text, planned);
    if !planned.groups.is_empty() {
        write_table(&mut text, planned);
        write_details(&mut text, planned);
    }
    write_refusals(&mut text, planned);
    write_footer(&mut text, planned);
    text
}

/// Whether there are no changes and nothing to report.
fn has_nothing_to_report(planned: &PlanView<'_>) -> bool {
    planned.is_empty()
        && planned.problems.is_empty()
        && planned.refusals.is_empty()
        && planned.notes.is_empty()
}

fn heading(planned: &PlanView<'_>) -> String {
    let summary = planned.summary;
    match (planned.has_errors(), planned.is_empty()) {
        (true, true) => "### Windlass: no plan, the fleet has errors\n\n".to_owned(),
        (_, true) if has_nothing_to_report(planned) => {
            format!("### Windlass: no changes\n\n{} in sync.\n", pluralize(summary.unchanged, "resource"))
        }
        (_, true) => "### Windlass: no changes\n\n".to_owned(),
        (has_errors, false) => format!(
            "### Windlass plan: {} to create, {} to update, {} to destroy{}\n\n",
            summary.create,
            summary.update,
            summary.destroy,
            if has_errors { " — cannot be applied" } else { "" }
        ),
    }
}

fn write_problems(text: &mut String, planned: &PlanView<'_>) {
    for problem in planned.problems.iter().take(MAX_LISTED) {
        let sign = if problem.severity == ProblemSeverity::Error { "❌" } else { "⚠️" };
        let place = match problem.line {
            0 => String::new(),
            line => format!(" {}", code(&format!("{}:{line}:{}", problem.file, problem.column))),
        };
        let help = problem.help.as_ref().map(|help| format!(" — {}", escape(help))).unwrap_or_default();
        let _ = writeln!(text, "- {sign} **{}**{place} {}{help}", problem.code, escape(&problem.message));
    }
    if planned.problems.len() > MAX_LISTED {
        let _ = writeln!(text, "- … and {} more", planned.problems.len() - MAX_LISTED);
    }
    if !planned.problems.is_empty() {
        text.push('\n');
    }
}

fn write_table(text: &mut String, planned: &PlanView<'_>) {
    let is_foreseen =
        planned.groups.iter().any(|group| group.steps.iter().any(|(_, step)| step.forecast().is_some()));
    let (head, line) = if is_foreseen { (" Then |", "---|") } else { ("", "") };
    let _ = write!(text, "| # | Change | Kind | Resource | After |{head}\n|--:|---|---|---|---|{line}\n");
    let limit = text.len() + MAX_TABLE_BYTES;
    let mut left_out = planned.omitted;
    for group in &planned.groups {
        let mut row = table_row(group);
        if is_foreseen {
            let _ = write!(row, " {} |", outlook_text(group));
        }
        row.push('\n');
        match text.len() + row.len() <= limit {
            true => text.push_str(&row),
            false => left_out += group.steps.len(),
        }
    }
    note_left_out(text, left_out);
}

fn note_left_out(text: &mut String, left_out: usize) {
    if left_out > 0 {
        let more = pluralize(left_out, "more change");
        let _ = writeln!(text, "\n_… and {more}; the whole plan does not fit in a comment._");
    }
}

fn table_row(group: &StepGroup<'_>) -> String {
    let (_, step) = group.steps[0];
    let (_, last_step) = group.steps[group.steps.len() - 1];
    let positions = group.positions();
    let resource = match group.steps.len() {
        1 => code(step.name()),
        many => format!("{many}: {} … {}", code(step.name()), code(last_step.name())),
    };
    let after = if group.steps.len() == 1 { escape(&wait_text(step)) } else { String::new() };
    let change = match group.cause.action() {
        Action::Create => "➕ create",
        Action::Update => "✏️ update",
        Action::Destroy => "🗑️ destroy",
    };
    format!("| {positions} | {change} | {} | {resource} | {after} |", group.kind)
}

/// The blockers of a step, shortened.
pub fn wait_text(step: StepView<'_>) -> String {
    let names = step.waits_for();
    match names.len() {
        0..=4 => names.join(", "),
        many => format!("{} and {} more", names[..3].join(", "), many - 3),
    }
}

fn outlook_text(group: &StepGroup<'_>) -> String {
    let all = group.steps.iter().filter_map(|(_, step)| step.forecast());
    let mut words: BTreeSet<PolicyOutlook> = BTreeSet::new();
    let mut waits: Vec<&str> = Vec::new();
    for forecast in all {
        words.insert(forecast.outlook);
        waits.extend(forecast.blocked_by.iter().map(String::as_str));
    }
    let words: Vec<&str> = words.into_iter().map(outlook_word).collect();
    match waits.as_slice() {
        [] => words.join(" or "),
        [first] => format!("{}; blocked: {}", words.join(" or "), escape(first)),
        [first, rest @ ..] => {
            format!("{}; blocked: {} and {} more", words.join(" or "), escape(first), rest.len())
        }
    }
}

const fn outlook_word(outlook: PolicyOutlook) -> &'static str {
    match outlook {
        PolicyOutlook::Auto => "applied automatically",
        PolicyOutlook::Approval => "needs approval",
        PolicyOutlook::Blocked => "blocked by policy",
    }
}

/// Writes the fields, one collapsible block for each kind.
fn write_details(text: &mut String, planned: &PlanView<'_>) {
    let mut kinds: Vec<Kind> = Vec::new();
    for group in planned.groups.iter().filter(|group| group.cause.action() != Action::Destroy) {
        if !kinds.contains(&group.kind) {
            kinds.push(group.kind);
        }
    }
    let mut left_out = 0;
    for kind in kinds {
        left_out += write_kind(text, kind, planned);
    }
    if left_out > 0 {
        let more = pluralize(left_out, "more change");
        let _ = writeln!(text, "\n_… and the fields of {more}; the whole plan does not fit in a comment._");
    }
}

/// Writes the fields of one kind as far as they fit, and returns how many changes were left out.
fn write_kind(text: &mut String, kind: Kind, planned: &PlanView<'_>) -> usize {
    let groups: Vec<&StepGroup<'_>> = planned.groups.iter().filter(|group| group.kind == kind).collect();
    let blocks: Vec<GroupDiff> = groups.iter().map(|group| GroupDiff::of(group, planned)).collect();
    let changes: usize = blocks.iter().map(|block| block.steps).sum();
    let fence = fence_for(blocks.iter().flat_map(|block| [block.fields.as_str(), block.content.as_str()]));
    let open = format!(
        "\n<details><summary>{} of {}</summary>\n\n{fence}diff\n",
        pluralize(changes, "change"),
        kind.plural()
    );
    let close = format!("{fence}\n\n</details>\n");
    let limit = (MAX_MARKDOWN - RESERVED_BYTES).saturating_sub(open.len() + close.len());
    let mut body = String::new();
    let mut left_out = 0;
    for block in &blocks {
        let room = limit.saturating_sub(text.len() + body.len());
        if block.fields.len() > room {
            left_out += block.steps;
            continue;
        }
        body.push_str(&block.fields);
        match block.fields.len() + block.content.len() <= room {
            true => body.push_str(&block.content),
            false if block.fields.len() + DIFF_OMITTED.len() <= room => body.push_str(DIFF_OMITTED),
            false => {}
        }
    }
    if !body.is_empty() {
        text.push_str(&open);
        text.push_str(&body);
        text.push_str(&close);
    }
    left_out
}

/// The difference of a group.
struct GroupDiff {
    fields: String,
    /// The difference in files, which may be large.
    content: String,
    steps: usize,
}

/// The text in place of the difference in files.
const DIFF_OMITTED: &str = "      (the file differences do not fit in a comment)\n";

impl GroupDiff {
    fn of(group: &StepGroup<'_>, planned: &PlanView<'_>) -> GroupDiff {
        let (_, step) = group.steps[0];
        let mut content = String::new();
        for (mark, line) in planned.content_of(step).into_iter().flat_map(content_lines) {
            let sign = match mark {
                DiffLineKind::Added => '+',
                DiffLineKind::Removed => '-',
                DiffLineKind::Head | DiffLineKind::Note | DiffLineKind::Place | DiffLineKind::Same => ' ',
            };
            // A fence must be longer than any run of backticks inside, and files may contain any.
            let line = sanitize_for_terminal(&line).replace('\n', " ").replace("```", "'''");
            let _ = writeln!(content, "{sign}     {line}");
        }
        GroupDiff { fields: diff_block(group), content, steps: group.steps.len() }
    }
}

fn diff_block(group: &StepGroup<'_>) -> String {
    let (_, step) = group.steps[0];
    let sign = match group.cause.action() {
        Action::Create => '+',
        Action::Update => '!',
        Action::Destroy => '-',
    };
    let more = match group.steps.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let mut text =
        format!("{sign} {} {}{more}\n", group.kind, sanitize_for_terminal(step.name()).replace('\n', " "));
    let lines = match group.cause.action() {
        Action::Create => payload_lines(&step.payload(), DIFF_WIDTH),
        Action::Update => step.fields().iter().flat_map(|field| field_text(field, DIFF_WIDTH)).collect(),
        Action::Destroy => Vec::new(),
    };
    for line in lines {
        let _ = writeln!(text, "{sign}     {}", sanitize_for_terminal(&line).replace('\n', " "));
    }
    text
}

/// A fence longer than any run of backticks inside, so that no content can end it.
fn fence_for<'b>(blocks: impl Iterator<Item = &'b str>) -> String {
    let longest = blocks.flat_map(|block| block.split(|c| c != '`').map(str::len).max()).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn write_refusals(text: &mut String, planned: &PlanView<'_>) {
    for (resource, reason) in planned.refusals.iter().take(MAX_LISTED) {
        // A paragraph for each, because adjacent quotes are merged.
        let line = format!("\n> **Not destroyed:** {} — {}\n", code(resource), escape(reason));
        if text.len() + line.len() <= MAX_MARKDOWN - RESERVED_BYTES / 2 {
            text.push_str(&line);
        }
    }
    if planned.refusals.len() > MAX_LISTED {
        let _ = writeln!(text, "\n> … and {} more", planned.refusals.len() - MAX_LISTED);
    }
}

fn write_footer(text: &mut String, planned: &PlanView<'_>) {
    for note in planned.notes.iter().take(3) {
        let _ = writeln!(text, "\n⚠️ {}", escape(note));
    }
    if !planned.provider_configs.is_empty() {
        let names: Vec<String> = planned.provider_configs.iter().take(8).map(|name| code(name)).collect();
        let more = match planned.provider_configs.len().saturating_sub(8) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ =
            writeln!(text, "\nInformational, never applied: provider_configs {}{more}.", names.join(", "));
    }
    if planned.remaining > 0 {
        let runs = planned.changes().div_ceil(planned.cap);
        let _ = writeln!(
            text,
            "\nAt most {} changes are open at a time: this plan takes {runs} batches.",
            planned.cap
        );
    }
    let _ = writeln!(
        text,
        "\n<sub>Account {}, from {}, plan `{}`</sub>",
        code(planned.account),
        code(planned.from),
        planned.digest
    );
}

fn shortened(text: &str) -> String {
    let text = sanitize_for_terminal(text).replace('\n', " ");
    match text.chars().count() > MAX_SENTENCE_CHARS {
        true => text.chars().take(MAX_SENTENCE_CHARS).chain(['…']).collect(),
        false => text,
    }
}

/// Text of a repository as inline code. A backtick would end it, and a bar would end a table cell.
fn code(text: &str) -> String {
    format!("`{}`", shortened(text).replace('`', "'").replace('|', "\\|"))
}

/// Text of a repository as prose, in which nothing is interpreted as markup, a mention or a link.
fn escape(text: &str) -> String {
    let shortened = shortened(text);
    let mut escaped = String::with_capacity(shortened.len());
    for c in shortened.chars() {
        match c {
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // A zero-width space prevents a mention.
            '@' => escaped.push_str("@\u{200b}"),
            c => escaped.push(c),
        }
    }
    // It also prevents automatic links.
    escaped.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_text_is_never_markup() {
        assert_eq!(escape("<img> [x](y) @all *b*"), "\\<img\\> \\[x\\](y) @\u{200b}all \\*b\\*");
        assert_eq!(escape("see https://evil.example"), "see https:\u{200b}//evil.example");
        assert_eq!(code("a`b|c\nd"), "`a'b\\|c d`");
        assert_eq!(fence_for(["x ```` y"].into_iter()), "`````");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(code(&"a".repeat(1000)).chars().count(), MAX_SENTENCE_CHARS + 3);
    }
}
