//! Small things all lists share.

use windlass_core::id::Id;

/// Text for a `LIKE … ESCAPE '\'` pattern that matches itself, with something behind it.
pub(crate) fn like_pattern(text: &str, behind: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + behind.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push_str(behind);
    pattern
}

/// Text for a `LOWER(column) LIKE … ESCAPE '\'` that finds the text anywhere. Only ASCII letters have two cases: that is
/// what `LOWER` does in both databases.
pub(crate) fn search_pattern(text: &str) -> String {
    format!("%{}", like_pattern(&text.to_ascii_lowercase(), "%"))
}

/// Whether a text could be an id, in any way that ids are written.
pub fn looks_like_id(text: &str) -> bool {
    uuid::Uuid::parse_str(text).is_ok()
}

/// A new id: unique, and later ones sort behind earlier ones.
pub fn new_id<T: Id>() -> T {
    T::from_text(unique_text())
}

/// A text that nothing else has: for names of files, and for what is no row's id.
pub fn unique_text() -> String {
    uuid::Uuid::now_v7().to_string()
}
