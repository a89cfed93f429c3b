//! Globs that rules match by.
//!
//! In names `*` stands for anything, because `edge-fabric/edge-01` is one name; in paths it stops at `/` and `**` does
//! not, as in `include`.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use crate::shape::{Complaint, TextValue};
use crate::value::quoted;

/// Longer than any name or path of a fleet needs; bounds what compiling a pattern can cost.
const MAX_PATTERN: usize = 256;

macro_rules! pattern {
    ($(#[doc = $doc:literal])* $name:ident: $what:literal, stops_at_slash: $literal:literal) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            text: String,
            matcher: GlobMatcher,
        }

        impl $name {
            /// Whether this text is meant.
            pub fn matches(&self, text: &str) -> bool {
                self.matcher.is_match(text)
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.text == other.text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.text)
            }
        }

        impl TextValue for $name {
            const WHAT: &'static str = $what;
            const PATTERN: Option<&'static str> = Some("^[^\\u0000]{1,256}$");

            fn read(text: &str) -> Result<Self, Complaint> {
                let refuse = |help: &str| Complaint::value(format!("{} is not a glob", quoted(text))).help(help);
                if text.is_empty() || text.chars().count() > MAX_PATTERN || text.chars().any(char::is_control) {
                    return Err(refuse("use 1 to 256 characters, like `edge-*`"));
                }
                GlobBuilder::new(text)
                    .literal_separator($literal)
                    .build()
                    .map(|glob| $name { text: text.to_owned(), matcher: glob.compile_matcher() })
                    .map_err(|error| refuse(&error.kind().to_string()))
            }
        }
    };
}

pattern! {
    /// A glob over names of resources or repositories.
    NamePattern: "a glob over names", stops_at_slash: false
}

pattern! {
    /// A glob over paths of files, relative to the repository's prefix.
    PathPattern: "a glob over paths", stops_at_slash: true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_crosses_slashes_in_names_and_not_in_paths() {
        let name = |glob: &str, text: &str| NamePattern::read(glob).unwrap().matches(text);
        let path = |glob: &str, text: &str| PathPattern::read(glob).unwrap().matches(text);
        assert!(name("edge-*", "edge-fabric/edge-01"));
        assert!(!name("edge-*", "core-1"));
        assert!(name("{edge,core}-?", "core-1"));
        assert!(!path("prod/*", "prod/eu/nodes.yaml"));
        assert!(path("prod/**", "prod/eu/nodes.yaml"));
        assert!(!path("prod/**", "staging/nodes.yaml"));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for text in ["", "[", "{a", "a\n", &"x".repeat(257)] {
            assert!(NamePattern::read(text).is_err(), "{text:?}");
        }
    }
}
