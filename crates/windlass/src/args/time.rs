//! Reading times.

use std::time::Duration;

/// Reads `90s`, `5m`, `72h`.
pub(super) fn read_time(text: &str) -> Result<Duration, String> {
    let duration = read_time_or_none(text)?;
    if duration.is_zero() {
        Err(format!("`{text}` is zero: write a duration such as 90s, 5m or 72h"))
    } else {
        Ok(duration)
    }
}

/// Reads the same, and `0s`.
pub(super) fn read_time_or_none(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration: write 90s, 5m or 72h");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let duration = match &text[digits.len()..] {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.saturating_mul(60)),
        "h" => Duration::from_secs(number.saturating_mul(3600)),
        _ => return Err(wrong()),
    };
    Ok(duration)
}
