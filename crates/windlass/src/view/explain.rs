//! `windlass explain` for people.

use std::io::{self, Write as _};

use anstyle::{AnsiColor, Style};
use windlass_core::explain::{Topic, choices, default_text};
use windlass_core::shape::{FieldDescription, RecordDescription};

use super::Terminal;

const BOLD: Style = Style::new().bold();

/// Prints what can be asked for.
pub(crate) fn list(topics: &[(&'static str, String)], terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    let width = topics.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in topics {
        write!(out, "{BOLD}{name:width$}{BOLD:#}  ")?;
        write_wrapped(&mut out, text, width + 2, terminal.width)?;
    }
    writeln!(
        out,
        "\nFor a field: `windlass explain node.template`; for a code: `windlass explain unknown-key`."
    )
}

/// Prints one topic.
pub(crate) fn topic(topic: &Topic, terminal: &Terminal) -> io::Result<()> {
    let mut out = anstream::stdout();
    match topic {
        Topic::Record { title, record } => {
            writeln!(out, "{BOLD}{title}{BOLD:#}")?;
            write_record(&mut out, record, terminal.width)
        }
        Topic::Field { title, field } => write_field_topic(&mut out, title, field, terminal.width),
        Topic::Code(code) => {
            writeln!(out, "{BOLD}{code}{BOLD:#} ({})", code.severity())?;
            write!(out, "  ")?;
            write_wrapped(&mut out, code.explanation(), 2, terminal.width)
        }
    }
}

fn write_record(out: &mut impl io::Write, record: &RecordDescription, width: usize) -> io::Result<()> {
    write!(out, "  ")?;
    write_wrapped(out, &record.text(), 2, width)?;
    writeln!(out)?;
    for field in &record.fields {
        write_field(out, field, width)?;
    }
    Ok(())
}

fn write_field(out: &mut impl io::Write, field: &FieldDescription, width: usize) -> io::Result<()> {
    let green = AnsiColor::Green.on_default();
    let dim = Style::new().dimmed();
    let need = match default_text(field) {
        None => "required".to_owned(),
        Some(default) => format!("default: {default}"),
    };
    writeln!(out, "  {green}{}{green:#}  {dim}{} ({need}){dim:#}", field.name, (field.shape)().summary())?;
    write!(out, "      ")?;
    write_wrapped(out, &field.text(), 6, width)
}

fn write_field_topic(
    out: &mut impl io::Write,
    title: &str,
    field: &FieldDescription,
    width: usize,
) -> io::Result<()> {
    let shape = (field.shape)();
    writeln!(out, "{BOLD}{title}{BOLD:#}  {}", shape.summary())?;
    write!(out, "  ")?;
    write_wrapped(out, &field.text(), 2, width)?;
    for choice in choices(field) {
        write!(out, "    {BOLD}{}{BOLD:#}: ", choice.word)?;
        write_wrapped(out, &choice.text(), 6, width)?;
    }
    match default_text(field) {
        None => writeln!(out, "\n  Required.")?,
        Some(default) => writeln!(out, "\n  Default: {default}")?,
    }
    writeln!(out, "  Example: {}: {}", field.name, field.example)?;
    if let Some(record) = shape.record() {
        writeln!(out)?;
        write_record(out, record, width)?;
    }
    Ok(())
}

/// Writes a paragraph whose first line begins at column `indent`.
fn write_wrapped(out: &mut impl io::Write, text: &str, indent: usize, width: usize) -> io::Result<()> {
    let mut column = indent;
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            write!(out, "\n{:indent$}", "")?;
            column = indent;
        } else if index > 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += length;
    }
    writeln!(out)
}
