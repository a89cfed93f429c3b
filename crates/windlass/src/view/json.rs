//! For machines: stable JSON documents.

use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::json;

use super::{Checked, Planned};

/// Prints a document as it is made, without holding its text.
pub(crate) fn document(value: &impl Serialize) -> io::Result<()> {
    let mut out = io::BufWriter::with_capacity(64 << 10, io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()
}

/// Prints what `validate` found.
pub(crate) fn problems(checked: &Checked<'_>) -> io::Result<()> {
    document(&json!({
        "problems": checked.problems,
        "resources": checked.resources,
        "digest": checked.digest,
    }))
}

/// Prints a plan.
pub(crate) fn plan(planned: &Planned<'_>) -> io::Result<()> {
    let names: Vec<&str> = planned.provider_configs.iter().map(|config| config.name.as_str()).collect();
    let plan = planned.plan.document();
    document(
        &plan
            .with("problems", json!(planned.problems))
            .with("from", json!(planned.from))
            .with("max_proposals_per_tick", json!(planned.cap))
            .with("remaining", json!(planned.remaining))
            .with("informational", json!({ "provider_configs": names })),
    )
}
