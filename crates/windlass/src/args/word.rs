//! Arguments that are one word of a closed set: what can be said, and what it means, come from the core's tables.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use windlass_core::states::{self, Spelled};

/// Reads a word of a set.
pub(super) fn word<T: Spelled + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |word: &T| PossibleValue::new(word.spelling()).help(word.meaning().trim_end_matches('.'));
    PossibleValuesParser::new(T::WORDS.iter().map(value)).try_map(|text: String| states::read::<T>(&text))
}
