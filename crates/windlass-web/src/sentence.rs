//! Beginnings of lines and sentences.

/// A word of ours as the beginning of a line: `Commit sha` for `commit_sha`.
pub(crate) fn title(word: impl AsRef<str>) -> String {
    sentence(&word.as_ref().replace('_', " "))
}

/// A message as the beginning of a sentence. A name that it begins with stays as it is.
pub fn sentence(message: &str) -> String {
    let first = message.split_whitespace().next().unwrap_or_default();
    if first.contains(['.', ':', '/', '`']) {
        return message.to_owned();
    }
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
