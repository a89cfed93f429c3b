//! Errors, always in the same shape.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every error response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorEnvelope {
    /// The error.
    pub error: ErrorBody,
}

/// The error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// A stable code for scripts.
    pub code: String,
    /// One sentence for people.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// The individual problems, if there are several.
    #[serde(default)]
    pub details: Vec<ErrorDetail>,
    /// The request's id in the server's log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub request_id: String,
}

/// One of several problems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// A stable code for scripts.
    pub code: String,
    /// Where, for example `spec.region`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What is wrong there.
    pub message: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}
