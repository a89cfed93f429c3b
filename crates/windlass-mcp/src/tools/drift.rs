//! Drift: what was changed by hand.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;

use crate::brief::{self, Brief};
use crate::call::Call;
use crate::refusal::Refusal;
use crate::tool::{Asked, Told};

const FIELDS: &[&str] =
    &["drift", "repository_id", "commit_sha", "compared_with", "drifted", "pending", "accepted"];

const REST: &str = "`windlass drift` shows all";

/// Looking at a repository's drift.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Report {
    /// The repository, by id or name.
    repository_id: String,
}

impl Asked for Report {
    fn calls(&self) -> Result<Vec<Call>, Refusal> {
        Ok(vec![Call::about(Operation::DriftReport, &self.repository_id)?])
    }

    fn tell(&self, answer: Value) -> Told {
        let number = |key: &str| answer.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        let text = match answer.get("drift").and_then(Value::as_bool) {
            Some(true) => format!("drift: {} changed by hand", number("drifted")),
            _ if number("pending") > 0 => format!("no drift; {} wait for approval", number("pending")),
            _ => "no drift".to_owned(),
        };
        let mut brief = Brief::new(brief::keep(&answer, FIELDS));
        for list in ["drifted", "pending", "accepted"] {
            brief = brief.bound(Some(list), &["fields"], REST).cut(list, REST);
        }
        Told { text, value: Value::Object(brief.done()) }
    }
}
