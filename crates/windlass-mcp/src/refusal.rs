//! Errors of API calls.

use windlass_api::types::ErrorBody;

/// The error of an API call, in the format of the API.
pub type CallError = Box<ErrorBody>;

/// An error with its code, message and help.
pub(crate) fn refusal(code: &str, message: impl Into<String>, help: impl Into<String>) -> CallError {
    Box::new(ErrorBody {
        code: code.to_owned(),
        message: message.into(),
        help: help.into(),
        details: Vec::new(),
        request_id: String::new(),
    })
}
