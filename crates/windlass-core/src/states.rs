//! Closed sets of words: states, causes, reasons. Each set is one table, `states!`, from which everything that spells
//! or explains a word is generated: the database, the API and its schema, the CLI, the web app and the reference.

use std::fmt;

use serde::de::{self, Deserializer, Visitor};

/// A closed set of words, as its table declares it.
pub trait Spelled: Copy + PartialEq + 'static {
    /// The name of the set in the API's schema and in the reference.
    const NAME: &'static str;
    /// What the set describes.
    const ABOUT: &'static str;
    /// All words.
    const WORDS: &'static [Self];

    /// The spelling in the API and the database.
    fn spelling(self) -> &'static str;

    /// What the word means.
    fn meaning(self) -> &'static str;
}

/// A word that is not in the set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is unknown; known are {known}")]
pub struct UnknownWord {
    /// The word, shortened.
    pub word: String,
    /// The words of the set, for display.
    pub known: String,
}

/// A longer word is shortened in messages.
const MAX_WORD_CHARS: usize = 80;

/// Parses a word of a set.
pub fn read<T: Spelled>(word: &str) -> Result<T, UnknownWord> {
    let found = T::WORDS.iter().copied().find(|known| known.spelling() == word);
    found.ok_or_else(|| UnknownWord { word: word.chars().take(MAX_WORD_CHARS).collect(), known: list::<T>() })
}

/// All words of a set, for display: `` `a`, `b` or `c` ``.
pub fn list<T: Spelled>() -> String {
    let words: Vec<String> = T::WORDS.iter().map(|word| format!("`{}`", word.spelling())).collect();
    match words.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// Deserializes a word of a set.
pub(crate) fn deserialize<'de, T: Spelled, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Word<T>(std::marker::PhantomData<T>);

    impl<T: Spelled> Visitor<'_> for Word<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "one of {}", list::<T>())
        }

        // The unknown word may be a secret sent by mistake, so the error does not repeat it.
        fn visit_str<E: de::Error>(self, word: &str) -> Result<T, E> {
            read(word).map_err(|unknown| E::custom(format!("expected one of {}", unknown.known)))
        }
    }

    deserializer.deserialize_str(Word(std::marker::PhantomData))
}

/// Declares a closed set of words: an enum whose variants have one spelling and one meaning everywhere; with a second literal
/// each, also one label for people.
///
/// ```text
/// states! {
///     /// Where a proposal is in its life.
///     Status as ProposalStatus {                // `as`: what schemas call it, where the Rust name alone says too little
///         /// Someone has to decide.
///         PendingApproval "pending_approval" "Awaiting approval",
///     }
/// }
/// ```
macro_rules! states {
    ($(#[doc = $about:literal])* $name:ident $(as $schema:ident)? {
        $($(#[doc = $doc:literal])* $variant:ident $slug:literal,)*
    }) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
        }

        impl $name {
            /// Every state.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The spelling in the API and the database.
            pub const fn slug(self) -> &'static str {
                match self { $($name::$variant => $slug),* }
            }

            /// The state of this spelling.
            pub fn from_slug(slug: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|state| state.slug() == slug)
            }
        }

        impl $crate::states::Spelled for $name {
            const NAME: &'static str = $crate::states::states!(@name $name $($schema)?);
            const ABOUT: &'static str = concat!($($about),*).trim_ascii();
            const WORDS: &'static [$name] = $name::ALL;

            fn spelling(self) -> &'static str {
                self.slug()
            }

            fn meaning(self) -> &'static str {
                match self { $($name::$variant => concat!($($doc),*).trim_ascii()),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.slug())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::states::UnknownWord;

            fn from_str(word: &str) -> Result<$name, Self::Err> {
                $crate::states::read(word)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.slug())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                $crate::states::deserialize(deserializer)
            }
        }
    };

    ($(#[doc = $about:literal])* $name:ident $(as $schema:ident)? {
        $($(#[doc = $doc:literal])* $variant:ident $slug:literal $label:literal,)*
    }) => {
        $crate::states::states! {
            $(#[doc = $about])*
            $name $(as $schema)? {
                $($(#[doc = $doc])* $variant $slug,)*
            }
        }

        impl $name {
            /// What people read.
            pub const fn label(self) -> &'static str {
                match self { $($name::$variant => $label),* }
            }
        }
    };

    (@name $name:ident $schema:ident) => { stringify!($schema) };
    (@name $name:ident) => { stringify!($name) };
}

pub(crate) use states;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::Status;
    use crate::run::Stage;

    #[test]
    fn a_table_defines_spelling_meaning_and_label() {
        assert_eq!((Status::NAME, Status::ABOUT), ("ProposalStatus", "The status of a proposal."));
        assert_eq!(Stage::NAME, "Stage");
        let pending = Status::PendingApproval;
        assert_eq!((pending.meaning(), pending.label()), ("Open; needs approval.", "Awaiting approval"));
        for status in Status::WORDS {
            assert_eq!(read::<Status>(status.spelling()), Ok(*status));
            assert_eq!(status.to_string().parse(), Ok(*status));
            let json = serde_json::to_value(status).expect("a text");
            assert_eq!(json, status.slug());
            assert_eq!(serde_json::from_value::<Status>(json).ok(), Some(*status));
        }
        assert_eq!(format!("[{:8}]", Stage::Queued), "[queued  ]");
    }

    #[test]
    fn an_unknown_word_is_rejected_with_a_list_of_the_known_ones() {
        let known = "known are `queued`, `fetching`, `comparing` or `finished`";
        let error = "idle".parse::<Stage>().expect_err("no such stage");
        assert_eq!(error.to_string(), format!("\"idle\" is unknown; {known}"));
        let error = serde_json::from_str::<Stage>("\"idle\"").expect_err("no such stage").to_string();
        assert!(error.contains("expected one of `queued`") && !error.contains("idle"), "{error}");
        let error = serde_json::from_str::<Stage>("7").expect_err("no word");
        assert!(error.to_string().contains("one of `queued`"), "{error}");
        assert_eq!(read::<Stage>(&"x".repeat(500)).expect_err("no such stage").word.len(), MAX_WORD_CHARS);
    }
}
