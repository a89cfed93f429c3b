//! Errors, always in the same shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEnvelope {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// A stable word for scripts.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// Each problem by itself, when there are several.
    #[serde(default)]
    pub details: Vec<ErrorDetail>,
    /// The request, to find it in the server's log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

/// One of several problems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// A stable word for scripts.
    pub code: String,
    /// Where, for example `spec.region`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What is wrong there.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}
