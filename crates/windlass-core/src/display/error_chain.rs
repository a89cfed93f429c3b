//! Errors with their causes, for display.

/// An error with its causes, each once.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the file")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("permission denied")]
    struct Inner;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot start: {0}")]
    struct Repeats(#[source] Outer);

    #[test]
    fn every_cause_is_told_once() {
        assert_eq!(error_chain(&Outer(Inner)), "cannot open the file: permission denied");
        assert_eq!(
            error_chain(&Repeats(Outer(Inner))),
            "cannot start: cannot open the file: permission denied"
        );
        assert_eq!(error_chain(&Inner), "permission denied");
    }
}
