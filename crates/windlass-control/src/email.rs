//! E-mail addresses.

use crate::refusal::Refusal;

/// Normalises an address and checks it just enough to distinguish people: text, `@`, text, at most 254 bytes, no
/// whitespace or control characters.
pub fn check_email(email: &str) -> Result<String, Refusal> {
    let email = email.trim().to_lowercase();
    let (name, host) = email.split_once('@').unwrap_or_default();
    let is_plain = email.len() <= 254 && !email.chars().any(|c| c.is_whitespace() || c.is_control());
    if name.is_empty() || host.is_empty() || !is_plain {
        let message = "not a valid e-mail address";
        return Err(Refusal::unprocessable("bad-value", message, "write for example ada@example.com"));
    }
    Ok(email)
}
