//! When a change may be applied: windows on the clock of some place.
//!
//! A window is open while a clock on the wall there shows a time inside it. So an hour that the clock skips in spring
//! is not there, and an hour that it repeats in autumn is there twice; no other reading survives being explained.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Serialize};

use super::empty::refuse_empty;
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::quote::quoted;
use crate::shape::{Decoder, InvalidText, Segment, TextValue, choice, record};
use crate::time::Timestamp;
use crate::yaml::NodeRef;

/// How far ahead an opening is looked for: a week, and two more for weeks in which the clock skips the window.
const HORIZON_DAYS: usize = 22;

choice! {
    /// A day of the week.
    pub enum Weekday {
        /// Monday.
        Mon = "mon",
        /// Tuesday.
        Tue = "tue",
        /// Wednesday.
        Wed = "wed",
        /// Thursday.
        Thu = "thu",
        /// Friday.
        Fri = "fri",
        /// Saturday.
        Sat = "sat",
        /// Sunday.
        Sun = "sun",
    }
}

record! {
    /// A time of the week in which changes may be applied.
    pub struct PolicyWindow {
        /// The days on which the window opens. Default: every day.
        days: BTreeSet<Weekday> = every_day() => "[mon, tue, wed, thu]",
        /// When it opens.
        from: ClockTime = ClockTime::MIDNIGHT => "\"09:00\"",
        /// When it closes, on the next day if this is earlier than `from`.
        to: ClockTime = ClockTime::END_OF_DAY => "\"17:00\"",
        /// The time zone of the window.
        timezone: PolicyTimeZone = PolicyTimeZone::utc() => "Europe/Berlin",
    }
    check PolicyWindow::check
}

fn every_day() -> BTreeSet<Weekday> {
    use Weekday::{Fri, Mon, Sat, Sun, Thu, Tue, Wed};
    BTreeSet::from([Mon, Tue, Wed, Thu, Fri, Sat, Sun])
}

impl Weekday {
    fn of(date: Date) -> Weekday {
        match date.weekday() {
            jiff::civil::Weekday::Monday => Weekday::Mon,
            jiff::civil::Weekday::Tuesday => Weekday::Tue,
            jiff::civil::Weekday::Wednesday => Weekday::Wed,
            jiff::civil::Weekday::Thursday => Weekday::Thu,
            jiff::civil::Weekday::Friday => Weekday::Fri,
            jiff::civil::Weekday::Saturday => Weekday::Sat,
            jiff::civil::Weekday::Sunday => Weekday::Sun,
        }
    }
}

/// When a window opens next, and whose clock says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowOpening {
    /// The moment.
    pub at: Timestamp,
    /// When it closes again.
    pub until: Timestamp,
    zone: PolicyTimeZone,
}

impl fmt::Display for WindowOpening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.zone.local(self.at).strftime("%a %Y-%m-%d %H:%M");
        write!(f, "{local} {} ({})", self.zone, self.at)
    }
}

impl PolicyWindow {
    /// Whether the window is open at this moment.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let local = self.timezone.local(now);
        let minute = ClockTime::of(local.time());
        let opens_on = |date: Date| self.days.contains(&Weekday::of(date));
        let is_before_midnight = minute >= self.from && (self.crosses_midnight() || minute < self.to);
        let is_after_midnight = self.crosses_midnight() && minute < self.to;
        (is_before_midnight && opens_on(local.date()))
            || (is_after_midnight && local.date().yesterday().is_ok_and(opens_on))
    }

    /// When the window opens next after this moment.
    pub fn next_opening(&self, now: Timestamp) -> Option<WindowOpening> {
        let at = self.moments(self.from, now).find(|moment| self.is_open(*moment))?;
        let until = self.moments(self.to, at).find(|moment| !self.is_open(*moment)).unwrap_or(at);
        Some(WindowOpening { at, until, zone: self.timezone.clone() })
    }

    /// The next moments at which a clock there shows a time or is put forward or back: where the clock jumps over the
    /// beginning of a window, the window opens with the jump.
    fn moments(&self, time: ClockTime, now: Timestamp) -> impl Iterator<Item = Timestamp> + use<> {
        let zone = &self.timezone;
        let mut moments = BTreeSet::new();
        let mut date = zone.local(now).date();
        for _ in 0..HORIZON_DAYS {
            let shown = zone.zone.to_ambiguous_timestamp(DateTime::from_parts(date, time.to_time()));
            moments.extend([shown.earlier(), shown.later()].into_iter().filter_map(Result::ok));
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        if let Some(last) = moments.last().copied() {
            let jumps = zone.zone.following(now.to_calendar()).map(|jump| jump.timestamp());
            moments.extend(jumps.take_while(|jump| *jump <= last));
        }
        let moments = moments.into_iter().map(|moment| Timestamp::from_millis(moment.as_millisecond()));
        moments.filter(move |moment| *moment > now)
    }

    fn crosses_midnight(&self) -> bool {
        self.to < self.from
    }

    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let mut complain = |key: &'static str, message: &str, help: &str| {
            let span = node.get(key).unwrap_or(node).span();
            decoder.report_within(Segment::Key(key), Finding::new(Code::BadValue, span, message).help(help));
            false
        };
        if self.from == ClockTime::END_OF_DAY {
            return complain("from", "a window cannot open at 24:00", "write `00:00` of the next day");
        }
        if self.from == self.to {
            let help = "omit `from` and `to` for the whole day";
            return complain("to", "the window opens and closes at the same time", help);
        }
        refuse_empty(&["days"], node, decoder)
    }
}

/// A time on the clock, to the minute. `24:00` is the end of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClockTime {
    minutes: u16,
}

impl ClockTime {
    const MIDNIGHT: ClockTime = ClockTime { minutes: 0 };
    const END_OF_DAY: ClockTime = ClockTime { minutes: 24 * 60 };

    fn of(time: Time) -> ClockTime {
        let part = |value: i8| u16::try_from(value).expect("hours and minutes are never negative");
        ClockTime { minutes: part(time.hour()) * 60 + part(time.minute()) }
    }

    /// The time as calendars know it; the end of the day, where no window opens, is the midnight of some day.
    fn to_time(self) -> Time {
        let part = |value: u16| i8::try_from(value).expect("hours and minutes are small");
        Time::constant(part(self.minutes / 60 % 24), part(self.minutes % 60), 0, 0)
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.minutes / 60, self.minutes % 60)
    }
}

impl TextValue for ClockTime {
    const WHAT: &'static str = "a time as HH:MM";
    const PATTERN: Option<&'static str> = Some("^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let digits = |part: &str| {
            (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| part.parse::<u16>().ok())?
        };
        let minutes = text
            .split_once(':')
            .and_then(|(hours, minutes)| Some((digits(hours)?, digits(minutes)?)))
            .filter(|(hours, minutes)| *hours < 24 && *minutes < 60 || (*hours, *minutes) == (24, 0));
        minutes.map(|(hours, minutes)| ClockTime { minutes: hours * 60 + minutes }).ok_or_else(|| {
            InvalidText::value(format!("{} is not a time", quoted(text)))
                .help("write it like \"09:00\" or \"17:30\", up to \"24:00\"")
        })
    }
}

/// A time zone by its IANA name, from the database that is built in: the machine's own is never asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTimeZone {
    zone: TimeZone,
}

static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

impl PolicyTimeZone {
    fn utc() -> PolicyTimeZone {
        PolicyTimeZone { zone: TimeZone::UTC }
    }

    fn local(&self, moment: Timestamp) -> DateTime {
        self.zone.to_datetime(moment.to_calendar())
    }
}

impl fmt::Display for PolicyTimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.zone.iana_name().unwrap_or("UTC"))
    }
}

impl Serialize for PolicyTimeZone {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PolicyTimeZone {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PolicyTimeZone, D::Error> {
        let name = String::deserialize(deserializer)?;
        PolicyTimeZone::read(&name).map_err(|_| serde::de::Error::custom("it is not a time zone"))
    }
}

impl TextValue for PolicyTimeZone {
    const WHAT: &'static str = "a time zone";
    const PATTERN: Option<&'static str> = Some("^[A-Za-z0-9_+/-]{1,64}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let complaint = || {
            InvalidText::value(format!("{} is not a time zone", quoted(text)))
                .help("write its IANA name, like `Europe/Berlin` or `UTC`")
        };
        if text.is_empty() || text.len() > 64 {
            return Err(complaint());
        }
        if text.eq_ignore_ascii_case("utc") {
            return Ok(PolicyTimeZone::utc());
        }
        let zone = ZONES.get(text).ok().filter(|zone| zone.iana_name().is_some());
        zone.map(|zone| PolicyTimeZone { zone }).ok_or_else(complaint)
    }
}
