//! The addresses of lists, with their filters and cursor.

use url::form_urlencoded::Serializer;

/// The address of a page with these query parameters. Empty ones are omitted.
pub(super) fn address(path: &str, words: &[(&str, &str)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in words.iter().filter(|(_, value)| !value.is_empty()) {
        query.append_pair(name, value);
    }
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// The value of a query parameter, without spaces around it; empty if there is none.
pub(super) fn word(asked: &Option<String>) -> String {
    asked.as_deref().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parameters_are_omitted_and_the_rest_is_escaped() {
        assert_eq!(address("/app/runs", &[("q", ""), ("cursor", "")]), "/app/runs");
        assert_eq!(address("/app/runs", &[("q", "a b&c"), ("cursor", "7")]), "/app/runs?q=a+b%26c&cursor=7");
        assert_eq!((word(&None), word(&Some(" x ".to_owned()))), (String::new(), "x".to_owned()));
    }
}
