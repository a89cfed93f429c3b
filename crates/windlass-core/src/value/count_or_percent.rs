//! A part of a group: a percentage or a count.

use std::fmt;

use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

/// How many of a group: `10%` or `3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountOrPercent {
    /// A percentage, rounded up to at least one.
    Percent(u8),
    /// A count.
    Count(u32),
}

impl fmt::Display for CountOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CountOrPercent::Percent(percent) => write!(f, "{percent}%"),
            CountOrPercent::Count(count) => write!(f, "{count}"),
        }
    }
}

impl TextValue for CountOrPercent {
    const WHAT: &'static str = "a count or a percentage";
    const PATTERN: Option<&'static str> = Some("^[0-9]{1,5}%?$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|percent| (1..=100).contains(percent))
                .map(CountOrPercent::Percent),
            None => text.parse().ok().filter(|count| (1..=99_999).contains(count)).map(CountOrPercent::Count),
        };
        share.ok_or_else(|| {
            InvalidText::value(format!("{} is neither a count nor a percentage", quoted(text)))
                .help("write it like `10%` (1% to 100%) or `3` (at least 1)")
        })
    }
}
