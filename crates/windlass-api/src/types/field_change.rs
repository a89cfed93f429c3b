//! A field that differs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChange {
    /// Which.
    pub path: String,
    /// The value before.
    pub before: Value,
    /// The value after.
    pub after: Value,
}

impl From<windlass_core::diff::FieldChange> for FieldChange {
    fn from(field: windlass_core::diff::FieldChange) -> FieldChange {
        let windlass_core::diff::FieldChange { path, before, after } = field;
        FieldChange { path, before, after }
    }
}
