//! Moments for people: how long ago, or how far ahead.

use windlass_core::time::Timestamp;

use super::sanitize_for_terminal;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `5m ago` or `in 3d`; a text that is not a time stays as it is, made safe.
pub(super) fn relative(moment: &str) -> String {
    relative_to(moment, Timestamp::from_millis(jiff::Timestamp::now().as_millisecond()))
}

/// The same, or `never`.
pub(super) fn relative_or_never(moment: Option<&String>) -> String {
    moment.map_or_else(|| "never".to_owned(), |moment| relative(moment))
}

fn relative_to(moment: &str, now: Timestamp) -> String {
    let Some(then) = Timestamp::parse(moment) else { return sanitize_for_terminal(moment) };
    let seconds = (now.as_millis() - then.as_millis()) / 1000;
    match seconds {
        0..=4 => "now".to_owned(),
        5.. => format!("{} ago", span(seconds)),
        _ => format!("in {}", span(-seconds)),
    }
}

fn span(seconds: i64) -> String {
    match seconds {
        ..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h{}m", seconds / HOUR, seconds % HOUR / MINUTE),
        DAY.. => format!("{}d{}h", seconds / DAY, seconds % DAY / HOUR),
    }
    .replace("h0m", "h")
    .replace("d0h", "d")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_by_their_distance() {
        let now = Timestamp::parse("2026-11-16T12:00:00Z").unwrap();
        for (moment, told) in [
            ("2026-11-16T11:59:58.000Z", "now"),
            ("2026-11-16T11:59:00.000Z", "1m ago"),
            ("2026-11-16T09:30:00.000Z", "2h30m ago"),
            ("2026-11-13T12:00:00.000Z", "3d ago"),
            ("2026-11-19T11:00:00.000Z", "in 2d23h"),
            ("soon", "soon"),
        ] {
            assert_eq!(relative_to(moment, now), told);
        }
    }
}
