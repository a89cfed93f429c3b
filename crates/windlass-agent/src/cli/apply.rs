//! `windlass-agent apply`

use std::io::{self, Write};

use windlass_agent::target::host::{ChangeKind, FieldDifference, ItemOutcome, ItemReport};
use windlass_agent::{OfflineEffects, OfflineInput, apply_offline};
use windlass_core::display::sanitize_for_terminal;

use super::arguments::ApplyOptions;
use super::command_error::CommandError;
use super::exit::Exit;

pub(crate) fn apply(options: &ApplyOptions, output: &mut impl Write) -> Result<Exit, CommandError> {
    let input = OfflineInput {
        document: options.document.clone(),
        packages: options.packages.clone(),
        target: options.host.target(),
        state_dir: options.host.state_dir(),
    };
    let effects = if options.dry_run { OfflineEffects::DryRun } else { OfflineEffects::Apply };
    let report = apply_offline(&input, effects)?;
    let mut text = Vec::new();
    for item in &report.items {
        write_item(item, &mut text)?;
    }
    // What is in files of the host must not steer the terminal.
    for line in String::from_utf8_lossy(&text).lines() {
        writeln!(output, "{}", sanitize_for_terminal(line))?;
    }
    let changed = report.changes().count();
    let verb = if options.dry_run { "would change" } else { "changed" };
    writeln!(output, "{changed} of {} items {verb}.", report.items.len())?;
    Ok(match (report.is_converged(), options.dry_run && changed > 0) {
        (false, _) => Exit::Problems,
        (true, true) => Exit::Differences,
        (true, false) => Exit::Fine,
    })
}

fn write_item(item: &ItemReport, output: &mut impl Write) -> io::Result<()> {
    match &item.outcome {
        ItemOutcome::Unchanged => Ok(()),
        ItemOutcome::Failed(reason) => writeln!(output, "! {} (module {}): {reason}", item.item, item.module),
        ItemOutcome::Skipped { module } => {
            writeln!(
                output,
                "- {} (module {}): skipped, because module {module} failed",
                item.item, item.module
            )
        }
        ItemOutcome::Changed(kind, fields) => {
            let sign = match kind {
                ChangeKind::Create => '+',
                ChangeKind::Update => '~',
                ChangeKind::Remove => '-',
            };
            writeln!(output, "{sign} {} (module {})", item.item, item.module)?;
            fields.iter().try_for_each(|field| write_field(field, output))
        }
    }
}

fn write_field(field: &FieldDifference, output: &mut impl Write) -> io::Result<()> {
    match field {
        FieldDifference::Value { field, observed, desired } => {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "(nothing)".to_owned());
            writeln!(output, "    {field}: {} → {}", shown(observed), shown(desired))
        }
        FieldDifference::Content(content) => {
            for line in content.lines.iter().flat_map(|lines| lines.lines()) {
                writeln!(output, "    {line}")?;
            }
            match &content.not_shown {
                Some(reason) => writeln!(output, "    {reason}"),
                None => Ok(()),
            }
        }
    }
}
