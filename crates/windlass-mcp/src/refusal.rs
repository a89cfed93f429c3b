//! Why something was not done, as the API says it.

use windlass_api::types::ErrorBody;

/// Why something was not done: what the API said, or would say.
pub type CallError = Box<ErrorBody>;

/// Something that is not done, and what to do about it.
pub(crate) fn refusal(code: &str, message: impl Into<String>, help: impl Into<String>) -> CallError {
    Box::new(ErrorBody {
        code: code.to_owned(),
        message: message.into(),
        help: help.into(),
        details: Vec::new(),
        request_id: String::new(),
    })
}
