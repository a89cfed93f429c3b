//! Ids and search patterns.

use windlass_core::id::Id;

/// A pattern for `LIKE … ESCAPE '\'` that matches the text literally, followed by the pattern `suffix`.
pub(crate) fn like_pattern(text: &str, suffix: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + suffix.len());
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push_str(suffix);
    pattern
}

/// A pattern for `LOWER(column) LIKE … ESCAPE '\'` that finds the text anywhere. It ignores the case of ASCII letters
/// only, because that is what `LOWER` does in both databases.
pub(crate) fn search_pattern(text: &str) -> String {
    format!("%{}", like_pattern(&text.to_ascii_lowercase(), "%"))
}

/// Whether a text could be an id, in any notation of ids.
pub fn looks_like_id(text: &str) -> bool {
    uuid::Uuid::parse_str(text).is_ok()
}

/// A new id: unique, and sorted after earlier ones.
pub fn new_id<T: Id>() -> T {
    T::from_text(unique_text())
}

/// A unique text: for names of files and other uses than ids of rows.
pub fn unique_text() -> String {
    uuid::Uuid::now_v7().to_string()
}
