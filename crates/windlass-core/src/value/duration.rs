//! Durations: `90s`, `5m`, `1h30m`.

use std::fmt;

use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

/// A time limit. At least a second, at most a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timeout {
    /// Whole seconds.
    pub seconds: u32,
}

impl Timeout {
    /// A number of minutes.
    pub const fn minutes(minutes: u32) -> Timeout {
        Timeout { seconds: minutes * 60 }
    }
}

const MAX_SECONDS: u32 = 24 * 60 * 60;

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, minutes, seconds) = (self.seconds / 3600, self.seconds / 60 % 60, self.seconds % 60);
        for (count, unit) in [(hours, "h"), (minutes, "m"), (seconds, "s")] {
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

impl TextValue for Timeout {
    const WHAT: &'static str = "a duration";
    const PATTERN: Option<&'static str> = Some("^([0-9]+h)?([0-9]+m)?([0-9]+s)?$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        seconds(text)
            .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
            .map(|seconds| Timeout { seconds })
            .ok_or_else(|| {
                InvalidText::value(format!("{} is not a duration", quoted(text)))
                    .help("write it like `90s`, `5m` or `1h30m`, from 1s to 24h")
            })
    }
}

fn seconds(text: &str) -> Option<u32> {
    let mut total = 0_u32;
    let mut rest = text;
    for (unit, factor) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((count, after)) = rest.split_once(unit) {
            if count.is_empty() || !count.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            total = total.checked_add(count.parse::<u32>().ok()?.checked_mul(factor)?)?;
            rest = after;
        }
    }
    rest.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_duration_has_one_spelling() {
        for (text, printed) in
            [("300s", "5m"), ("5m", "5m"), ("90m", "1h30m"), ("1h30m", "1h30m"), ("24h", "24h")]
        {
            assert_eq!(Timeout::read(text).unwrap().to_string(), printed);
        }
        for text in ["", "5", "0s", "25h", "m5", "5m1h", "-5m", "99999999999s"] {
            assert!(Timeout::read(text).is_err(), "{text}");
        }
    }
}
