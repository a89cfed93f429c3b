//! Globs that rules match by.
//!
//! In names `*` stands for anything, because `edge-fabric/edge-01` is one name; in paths it stops at `/` and `**` does
//! not, as in `include`. A repository's plain name is no glob: it stands for the repository that had this name when the
//! policy was saved, whatever it or another one is called later.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};

use super::identity::RepositoryIdentity;
use crate::id::RepositoryId;
use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

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

            fn read(text: &str) -> Result<Self, InvalidText> {
                let refuse = |help: &str| InvalidText::value(format!("{} is not a glob", quoted(text))).help(help);
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
    /// A glob over names.
    NamePattern: "a glob over names", stops_at_slash: false
}

pattern! {
    /// A glob over paths of files, relative to the repository's prefix.
    PathPattern: "a glob over paths", stops_at_slash: true
}

/// Characters that make a text a glob.
const GLOB_CHARACTERS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// Which repositories a rule is about: one of them by its name, or all whose names fit a glob.
#[derive(Clone, Debug)]
pub struct RepositoryPattern {
    glob: NamePattern,
    /// The id of the repository that a plain name stands for; none before [`Self::bind`], or if there is none.
    bound: Option<RepositoryId>,
}

impl RepositoryPattern {
    /// The plain name, if it is one.
    pub fn plain_name(&self) -> Option<&str> {
        let text = self.glob.text.as_str();
        (!text.contains(GLOB_CHARACTERS)).then_some(text)
    }

    /// Says which repository the plain name stands for.
    pub(super) fn bind(&mut self, id: Option<&RepositoryId>) {
        self.bound = id.cloned();
    }

    /// The id of the repository that a plain name stands for.
    pub(super) fn bound(&self) -> Option<&RepositoryId> {
        self.bound.as_ref()
    }

    /// The same pattern under the name that its repository has now.
    pub(super) fn rename(&mut self, name: &str) {
        if let Ok(glob) = NamePattern::read(name) {
            self.glob = glob;
        }
    }

    /// Whether this repository is meant.
    pub fn matches(&self, repository: &RepositoryIdentity<'_>) -> bool {
        match self.plain_name() {
            Some(_) => self.bound.as_ref() == Some(repository.id),
            None => self.glob.matches(repository.name),
        }
    }
}

impl PartialEq for RepositoryPattern {
    fn eq(&self, other: &Self) -> bool {
        self.glob == other.glob
    }
}

impl fmt::Display for RepositoryPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.glob.fmt(f)
    }
}

impl TextValue for RepositoryPattern {
    const WHAT: &'static str = "a repository's name, or a glob over names";
    const PATTERN: Option<&'static str> = NamePattern::PATTERN;

    fn read(text: &str) -> Result<Self, InvalidText> {
        Ok(RepositoryPattern { glob: NamePattern::read(text)?, bound: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::tests::lasting;

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
    fn a_plain_name_means_one_repository_and_a_glob_whatever_has_such_a_name() {
        let repository = |id, name| RepositoryIdentity { id: lasting(id), name };
        let mut plain = RepositoryPattern::read("fleet").unwrap();
        assert!(!plain.matches(&repository("1", "fleet")), "a name that stands for none means none");
        plain.bind(Some(lasting("1")));
        assert!(plain.matches(&repository("1", "renamed")));
        assert!(!plain.matches(&repository("2", "fleet")));
        let glob = RepositoryPattern::read("fleet*").unwrap();
        assert!(glob.matches(&repository("2", "fleet-eu")) && !glob.matches(&repository("1", "renamed")));
        assert_eq!((plain.plain_name(), glob.plain_name()), (Some("fleet"), None));
    }

    #[test]
    fn what_is_no_glob_is_refused() {
        for text in ["", "[", "{a", "a\n", &"x".repeat(257)] {
            assert!(NamePattern::read(text).is_err(), "{text:?}");
        }
    }
}
