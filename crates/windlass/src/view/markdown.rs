//! Markdown that fits a pull request comment.

use std::fmt::Write as _;
use std::io;

use windlass_core::code::Severity;
use windlass_core::diff::Action;
use windlass_core::plan::{self, Group};

use super::human::wait_text;
use super::value::{field_text, payload_lines};
use super::{Planned, clean, count};

/// Forges cut comments at 65,536 characters; this leaves room for what a bot puts around it.
const MAX_LENGTH: usize = 60_000;

/// Width of lines inside the diff.
const WIDTH: usize = 100;

/// Prints a plan.
pub(crate) fn plan(planned: &Planned<'_>) -> io::Result<()> {
    super::text(&render(planned))
}

fn render(planned: &Planned<'_>) -> String {
    let summary = planned.plan.summary();
    let mut text = String::new();
    if planned.plan.is_empty() && planned.problems.is_empty() {
        return format!(
            "### Windlass: nothing to do\n\n{} as declared.\n",
            count(summary.unchanged, "resource")
        );
    }
    let has_errors = windlass_core::diagnostic::has_errors(planned.problems);
    let _ = match (has_errors, planned.plan.is_empty()) {
        (true, true) => writeln!(text, "### Windlass: no plan, the fleet has errors\n"),
        (_, true) => writeln!(text, "### Windlass: nothing to do\n"),
        (_, false) => writeln!(
            text,
            "### Windlass plan: {} to create, {} to update, {} to destroy{}\n",
            summary.create,
            summary.update,
            summary.destroy,
            if has_errors { " — cannot be applied" } else { "" }
        ),
    };
    write_problems(&mut text, planned);
    let groups = plan::groups(planned.plan);
    if !groups.is_empty() {
        text.push_str("| # | Change | Kind | Resource | After |\n|--:|---|---|---|---|\n");
        let left_out = write_within(&mut text, &groups, MAX_LENGTH / 2, table_row);
        note_left_out(&mut text, left_out);
        write_details(&mut text, &groups);
    }
    for refusal in &planned.plan.refusals {
        let _ = writeln!(
            text,
            "\n> **Not destroyed:** {} — {}",
            code(&refusal.resource.to_string()),
            escape(&refusal.reason)
        );
    }
    write_footer(&mut text, planned);
    text
}

fn write_problems(text: &mut String, planned: &Planned<'_>) {
    for problem in planned.problems.iter().take(20) {
        let sign = if problem.severity == Severity::Error { "❌" } else { "⚠️" };
        let place = match problem.line {
            0 => String::new(),
            line => format!(" {}", code(&format!("{}:{line}:{}", problem.file, problem.column))),
        };
        let help = problem.help.as_ref().map(|help| format!(" — {}", escape(help))).unwrap_or_default();
        let _ = writeln!(text, "- {sign} **{}**{place} {}{help}", problem.code, escape(&problem.message));
    }
    if planned.problems.len() > 20 {
        let _ = writeln!(text, "- … and {} more", planned.problems.len() - 20);
    }
    if !planned.problems.is_empty() {
        text.push('\n');
    }
}

/// Writes rows while they fit and returns how many groups were left out.
fn write_within(
    text: &mut String,
    groups: &[Group<'_>],
    limit: usize,
    row: fn(&Group<'_>) -> String,
) -> usize {
    for (index, group) in groups.iter().enumerate() {
        let row = row(group);
        if text.len() + row.len() > limit {
            return groups.len() - index;
        }
        text.push_str(&row);
    }
    0
}

fn note_left_out(text: &mut String, left_out: usize) {
    if left_out > 0 {
        let _ = writeln!(
            text,
            "\n_… and {} more; the whole plan does not fit a comment._",
            count(left_out, "row")
        );
    }
}

fn table_row(group: &Group<'_>) -> String {
    let (_, step) = group.steps[0];
    let (_, last_step) = group.steps[group.steps.len() - 1];
    let positions = group.positions();
    let resource = match group.steps.len() {
        1 => code(&step.change.key.name),
        many => format!("{many}: {} … {}", code(&step.change.key.name), code(&last_step.change.key.name)),
    };
    let after = if group.steps.len() == 1 { escape(&wait_text(step)) } else { String::new() };
    let change = match group.cause.action() {
        Action::Create => "➕ create",
        Action::Update => "✏️ update",
        Action::Destroy => "🗑️ destroy",
    };
    format!("| {positions} | {change} | {} | {resource} | {after} |\n", group.kind)
}

fn write_details(text: &mut String, groups: &[Group<'_>]) {
    let body = groups.iter().map(diff_block).collect::<Vec<_>>();
    let fence = fence_for(&body);
    let _ = write!(text, "\n<details><summary>Fields</summary>\n\n{fence}diff\n");
    let mut left_out = 0;
    for block in &body {
        if text.len() + block.len() > MAX_LENGTH {
            left_out += 1;
            continue;
        }
        text.push_str(block);
    }
    let _ = writeln!(text, "{fence}");
    note_left_out(text, left_out);
    text.push_str("\n</details>\n");
}

fn diff_block(group: &Group<'_>) -> String {
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
    let mut text = format!("{sign} {} {}{more}\n", group.kind, clean(&step.change.key.name));
    let lines = match group.cause.action() {
        Action::Create => payload_lines(&step.change.payload(), WIDTH),
        Action::Update => step.change.fields().iter().flat_map(|field| field_text(field, WIDTH)).collect(),
        Action::Destroy => Vec::new(),
    };
    for line in lines {
        let _ = writeln!(text, "{sign}     {}", clean(&line).replace('\n', " "));
    }
    text
}

/// A fence longer than any run of backticks inside, so that nothing inside can end it.
fn fence_for(blocks: &[String]) -> String {
    let longest =
        blocks.iter().flat_map(|block| block.split(|c| c != '`').map(str::len).max()).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn write_footer(text: &mut String, planned: &Planned<'_>) {
    if !planned.provider_configs.is_empty() {
        let names: Vec<String> = planned.provider_configs.iter().map(|config| code(&config.name)).collect();
        let _ = writeln!(text, "\nInformational, never applied: provider_configs {}.", names.join(", "));
    }
    if planned.remaining > 0 {
        let runs = planned.plan.steps.len().div_ceil(planned.cap);
        let _ = writeln!(text, "\nOne run proposes {} changes: this takes {runs} runs.", planned.cap);
    }
    let _ = writeln!(
        text,
        "\n<sub>Account {}, from {}, plan `{}`</sub>",
        code(&planned.plan.account),
        code(planned.from),
        planned.plan.digest()
    );
}

/// Text from a repository as inline code. Backticks would end it and bars would end a table's cell.
fn code(text: &str) -> String {
    format!("`{}`", clean(text).replace('`', "'").replace('|', "\\|").replace('\n', " "))
}

/// Text from a repository as prose: nothing in it is markup, a mention or a link.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '\n' => escaped.push(' '),
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // A zero-width space keeps the forge from notifying people.
            '@' => escaped.push_str("@\u{200b}"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_text_is_never_markup() {
        assert_eq!(escape("<img> [x](y) @all *b*"), "\\<img\\> \\[x\\](y) @\u{200b}all \\*b\\*");
        assert_eq!(code("a`b|c\nd"), "`a'b\\|c d`");
        assert_eq!(fence_for(&["x ```` y".to_owned()]), "`````");
    }
}
