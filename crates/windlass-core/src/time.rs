//! Timestamps. The core never reads a clock; callers pass the time in.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since 1970 in UTC. Written as RFC 3339: `2026-11-16T00:32:26.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The time this many milliseconds after 1970. Times outside of the calendar's range become its first or last one.
    pub fn from_millis(millis: i64) -> Timestamp {
        // The calendar accepts milliseconds only up to its last whole second.
        let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        Timestamp(millis.clamp(first * 1000, last * 1000))
    }

    /// Milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// The time later by a duration.
    pub fn plus(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.0.saturating_add(millis))
    }

    /// The time earlier by a duration.
    pub fn minus(self, duration: Duration) -> Timestamp {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(self.0.saturating_sub(millis))
    }

    /// The time since `earlier`; zero if this is not later.
    pub fn elapsed_since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Parses RFC 3339.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let moment: jiff::Timestamp = text.trim().parse().ok()?;
        Some(Timestamp::from_millis(moment.as_millisecond()))
    }

    /// The same time for calendars and time zones.
    pub fn to_calendar(self) -> jiff::Timestamp {
        jiff::Timestamp::from_millisecond(self.0).expect("kept within what a calendar can name")
    }
}

/// Parses a date in HTTP format: `Mon, 16 Nov 2026 07:00:00 GMT`.
pub fn parse_http_date(text: &str) -> Option<Timestamp> {
    let moment = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
    Some(Timestamp::from_millis(moment.timestamp().as_millisecond()))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.to_calendar())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not an RFC 3339 time")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339_and_reads_back() {
        let moment = Timestamp::from_millis(1_763_251_200_123);
        assert_eq!(moment.to_string(), "2025-11-16T00:00:00.123Z");
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        assert_eq!(Timestamp::parse("yesterday"), None);
        let date = parse_http_date("Sun, 16 Nov 2025 00:00:00 GMT");
        assert_eq!(date, Timestamp::parse("2025-11-16T00:00:00Z"));
    }

    #[test]
    fn no_arithmetic_leaves_the_calendar() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last.plus(Duration::MAX), last);
        let _ = last.to_string();
        assert_eq!(last.elapsed_since(last.plus(Duration::from_secs(1))), Duration::ZERO);
        let _ = Timestamp::from_millis(i64::MIN).minus(Duration::MAX).to_string();
    }
}
