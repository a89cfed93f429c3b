//! Moments as people write them.

use windlass_core::time::Timestamp;

use crate::exit::CommandError;

/// A moment in RFC 3339, from what people write: that, a day, or a time from now.
pub(super) fn moment(text: &str, now: Timestamp) -> Result<String, CommandError> {
    let from_now = || {
        let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            "w" => 7 * 24 * 3600,
            _ => return None,
        };
        let count: u64 = count.parse().ok()?;
        Some(now.plus(std::time::Duration::from_secs(count.checked_mul(seconds)?)))
    };
    let end_of_day = || Timestamp::parse(&format!("{text}T23:59:59Z"));
    let found = Timestamp::parse(text).or_else(end_of_day).or_else(from_now);
    found.map(|moment| moment.to_string()).ok_or_else(|| {
        let help = "write a date such as 2027-01-31, a time such as 2027-01-31T12:00:00Z, or a duration such as 36h \
            or 7d";
        CommandError::usage(format!("`{text}` is not a time"), help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_people_do() {
        let now = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        for (text, expected) in [
            ("2027-01-31", "2027-01-31T23:59:59.000Z"),
            ("2027-01-31T12:00:00+01:00", "2027-01-31T11:00:00.000Z"),
            ("36h", "2026-11-18T00:00:00.000Z"),
            ("7d", "2026-11-23T12:00:00.000Z"),
        ] {
            assert_eq!(moment(text, now).unwrap(), expected);
        }
        for text in ["", "soon", "d", "-3d", "é", "2027-13-01"] {
            assert!(moment(text, now).is_err(), "{text}");
        }
    }
}
