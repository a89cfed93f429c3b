//! Text of files inside messages.

use crate::secret;

/// Shortens text from a file for use inside a message, without the secrets it is known to hold.
pub(crate) fn quoted(text: &str) -> String {
    let text = &*secret::without_secrets(text);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}
