//! SARIF 2.1.0, for code scanning.

use std::io;

use serde_json::{Value, json};
use windlass_core::code::Code;
use windlass_core::diagnostic::Diagnostic;

use super::sanitize_for_terminal;

/// Prints a SARIF log with one run.
pub(crate) fn problems(problems: &[Diagnostic]) -> io::Result<()> {
    super::json::document(&log(problems))
}

fn log(problems: &[Diagnostic]) -> Value {
    let rules: Vec<Value> = Code::ALL
        .iter()
        .map(|code| {
            json!({
                "id": code.slug(),
                "fullDescription": { "text": code.explanation() },
                "defaultConfiguration": { "level": code.severity() },
            })
        })
        .collect();
    let results: Vec<Value> = problems.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "windlass",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(problem: &Diagnostic) -> Value {
    let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    let locations: Vec<Value> = (!problem.file.is_empty())
        .then(|| {
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": uri(&problem.file) },
                "region": { "startLine": problem.line.max(1), "startColumn": problem.column.max(1) },
            } })
        })
        .into_iter()
        .collect();
    json!({
        "ruleId": problem.code,
        "level": problem.severity,
        "message": { "text": sanitize_for_terminal(&format!("{}{help}", problem.message)) },
        "locations": locations,
    })
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    path.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
