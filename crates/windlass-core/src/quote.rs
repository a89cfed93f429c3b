//! Quotes text of files inside messages.

use crate::secret;

/// Shortens text of a file for a message, with known secrets masked.
pub(crate) fn quoted(text: &str) -> String {
    let text = &*secret::without_secrets(text);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}
