//! The generated reference: one page for fleet.yaml, one for policies, one for the codes. Golden-tested, so it is never out of date.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::code::{Code, Severity};
use crate::explain::{choices, default_text};
use crate::gate::Policy;
use crate::manifest::FleetFile;
use crate::shape::{FieldDescription, Record, RecordDescription};

/// Every section and field of fleet.yaml.
pub fn fleet_page() -> String {
    record_page("fleet.yaml", FleetFile::description())
}

/// Every field of a policy.
pub fn policy_page() -> String {
    record_page("Approval policy", Policy::description())
}

fn record_page(root: &str, record: RecordDescription) -> String {
    let mut page = format!(
        "# {root}\n\nGenerated from the types that read the file; `windlass explain` prints the same.\n\
         Unknown keys are errors everywhere. A field with a default may be left out or left empty.\n",
    );
    let mut written = BTreeSet::new();
    let mut waiting = vec![(root.to_owned(), record)];
    while let Some((title, record)) = waiting.pop() {
        if !written.insert((title.clone(), record.name)) {
            continue;
        }
        write_record(&mut page, &title, &record);
        // Depth first, in the order of the fields.
        for field in record.fields.iter().rev() {
            if let Some(inner) = (field.shape)().record() {
                let title = match title.as_str() {
                    outer if outer == root => field.name.to_owned(),
                    outer => format!("{outer}.{}", field.name),
                };
                waiting.push((title, inner.clone()));
            }
        }
    }
    page
}

fn write_record(page: &mut String, title: &str, record: &RecordDescription) {
    let _ = write!(page, "\n## {title}\n\n{}\n\n", record.text());
    page.push_str("| Field | Type | Default | Meaning | Example |\n|---|---|---|---|---|\n");
    for field in &record.fields {
        let default = default_text(field).map_or("**required**".to_owned(), |default| cell(&default));
        let _ = writeln!(
            page,
            "| `{}` | {} | {default} | {} | `{}` |",
            field.name,
            cell(&(field.shape)().summary()),
            cell(&meaning(field)),
            cell(field.example)
        );
    }
}

fn meaning(field: &FieldDescription) -> String {
    let words: Vec<String> =
        choices(field).iter().map(|choice| format!("`{}`: {}", choice.word, choice.text())).collect();
    match words.is_empty() {
        true => field.text(),
        false => format!("{} {}", field.text(), words.join(" ")),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Every problem code.
pub fn codes_page() -> String {
    let mut page = String::from(
        "# Problem codes\n\nGenerated; `windlass explain CODE` prints the same. Codes never change their meaning.\n",
    );
    for (severity, title) in [(Severity::Error, "Errors"), (Severity::Warning, "Warnings")] {
        let _ = write!(page, "\n## {title}\n\n| Code | Meaning |\n|---|---|\n");
        for code in Code::ALL.iter().filter(|code| code.severity() == severity) {
            let _ = writeln!(page, "| `{code}` | {} |", cell(code.explanation()));
        }
    }
    page
}
