//! Capitalises the beginning of labels and sentences.

/// An identifier as a label: `Commit sha` for `commit_sha`.
pub(crate) fn title(word: impl AsRef<str>) -> String {
    sentence(&word.as_ref().replace('_', " "))
}

/// A message with a capital letter at its beginning. A name at the beginning stays unchanged.
pub fn sentence(message: &str) -> String {
    let first = message.split_whitespace().next().unwrap_or_default();
    if first.contains(['.', ':', '/', '`']) {
        return message.to_owned();
    }
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
