//! When a timer runs, in the five fields of cron.

use std::fmt;

use crate::quote::quoted;
use crate::shape::{InvalidText, TextValue};

/// When a timer runs: minute, hour, day of the month, month and day of the week, as in a crontab.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schedule(String);

/// A field: its name, its lowest and highest number, and the words for its numbers.
struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    words: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { name: "minute", min: 0, max: 59, words: &[] },
    Field { name: "hour", min: 0, max: 23, words: &[] },
    Field { name: "day of the month", min: 1, max: 31, words: &[] },
    Field { name: "month", min: 1, max: 12, words: MONTHS },
    Field { name: "day of the week", min: 0, max: 7, words: WEEKDAYS },
];

impl Schedule {
    /// The five fields, for a crontab.
    pub fn as_cron(&self) -> &str {
        &self.0
    }

    /// The same for `OnCalendar` of a systemd timer.
    pub fn as_on_calendar(&self) -> String {
        let fields: Vec<Vec<u32>> = self
            .0
            .split(' ')
            .zip(&FIELDS)
            .map(|(text, field)| numbers(text, field).unwrap_or_default())
            .collect();
        let list = |index: usize| match self.0.split(' ').nth(index) {
            Some("*") => "*".to_owned(),
            _ => fields[index].iter().map(|number| format!("{number:02}")).collect::<Vec<_>>().join(","),
        };
        let mut weekdays: Vec<u32> = fields[4].iter().map(|day| day % 7).collect();
        weekdays.sort_unstable();
        weekdays.dedup();
        let days: Vec<String> = weekdays.iter().map(|day| capitalised(WEEKDAYS[*day as usize])).collect();
        let prefix = if self.0.ends_with(" *") { String::new() } else { format!("{} ", days.join(",")) };
        format!("{prefix}*-{}-{} {}:{}:00", list(3), list(2), list(1), list(0))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TextValue for Schedule {
    const WHAT: &'static str = "a schedule in the five fields of cron";
    const PATTERN: Option<&'static str> =
        Some("^(@(hourly|daily|weekly|monthly|yearly)|[0-9A-Za-z*,/-]+( +[0-9A-Za-z*,/-]+){4})$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let help = "write minute, hour, day of the month, month and day of the week: `30 3 * * *`";
        let complaint = |message: String| InvalidText::value(message).help(help);
        let text = match text {
            "@hourly" => "0 * * * *",
            "@daily" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            "@yearly" => "0 0 1 1 *",
            other => other,
        };
        let fields: Vec<&str> = text.split(' ').filter(|field| !field.is_empty()).collect();
        if fields.len() != FIELDS.len() {
            return Err(complaint(format!("{} is not a schedule", quoted(text))));
        }
        for (text, field) in fields.iter().zip(&FIELDS) {
            if numbers(text, field).is_none() {
                return Err(complaint(format!("{} is not a {}", quoted(text), field.name)));
            }
        }
        // Cron runs on either day, systemd on days that are both.
        if fields[2] != "*" && fields[4] != "*" {
            let message = "a schedule restricts the day of the month or the day of the week, not both";
            return Err(InvalidText::value(message).help("use two timers"));
        }
        Ok(Schedule(fields.join(" ").to_ascii_lowercase()))
    }
}

/// The numbers of a field in order; `None` if the text is invalid.
fn numbers(text: &str, field: &Field) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse::<u32>().ok().filter(|step| (1..=59).contains(step))?),
            None => (part, 1),
        };
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (field.min, field.max),
            Some((first, last)) => (number(first, field)?, number(last, field)?),
            None if step > 1 => (number(range, field)?, field.max),
            None => (number(range, field)?, number(range, field)?),
        };
        if first > last {
            return None;
        }
        all.extend((first..=last).step_by(step as usize));
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn number(text: &str, field: &Field) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    if let Some(index) = field.words.iter().position(|word| *word == lower) {
        return Some(index as u32 + field.min);
    }
    let is_digits = !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_digits.then(|| text.parse().ok()).flatten()?;
    (field.min..=field.max).contains(&number).then_some(number)
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_fields_become_a_calendar_of_systemd() {
        for (cron, calendar) in [
            ("30 3 * * *", "*-*-* 03:30:00"),
            ("*/15 * * * *", "*-*-* *:00,15,30,45:00"),
            ("0 8-10 * * mon-fri", "Mon,Tue,Wed,Thu,Fri *-*-* 08,09,10:00:00"),
            ("0 0 1 jan,jul *", "*-01,07-01 00:00:00"),
            ("@weekly", "Sun *-*-* 00:00:00"),
            ("5 4 * * 7", "Sun *-*-* 04:05:00"),
        ] {
            assert_eq!(Schedule::read(cron).unwrap().as_on_calendar(), calendar, "{cron}");
        }
    }

    #[test]
    fn what_is_not_a_schedule_is_refused_with_a_reason() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "5-3 * * * *",
            "*/0 * * * *",
            "a * * * *",
        ] {
            assert!(Schedule::read(text).is_err(), "{text}");
        }
        let both = Schedule::read("0 0 1 * mon").unwrap_err();
        assert!(format!("{both:?}").contains("not both"), "{both:?}");
    }
}
