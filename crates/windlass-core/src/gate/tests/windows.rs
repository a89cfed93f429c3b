//! Windows on real clocks: midnight, summer time, zones.

use proptest::prelude::*;

use super::{PolicyWindow, at, policy};
use crate::time::Timestamp;

fn window(fields: &str) -> PolicyWindow {
    let policy = policy(&format!("rules: [{{name: a, action: block, windows: [{{{fields}}}]}}]"));
    policy.rules[0].windows[0].clone()
}

fn check(fields: &str, cases: &[(&str, bool)]) {
    let window = window(fields);
    for (moment, is_open) in cases {
        assert_eq!(window.is_open(at(moment)), *is_open, "{fields} at {moment}");
    }
}

fn opens(fields: &str, now: &str, expected: &str) {
    let opening = window(fields).next_opening(at(now)).unwrap();
    assert_eq!(opening.at, at(expected), "{fields} after {now}: {opening}");
}

const OFFICE: &str = "days: [mon, tue, wed, thu], from: \"09:00\", to: \"17:00\", timezone: Europe/Berlin";
const NIGHT: &str = "days: [sat], from: \"22:00\", to: \"04:00\", timezone: Europe/Berlin";

#[test]
fn a_window_follows_the_clock_of_its_place_through_the_year() {
    check(
        OFFICE,
        &[
            // Winter, an hour ahead of UTC; the 16th is a Monday.
            ("2026-11-16T07:59:59.999Z", false),
            ("2026-11-16T08:00:00Z", true),
            ("2026-11-16T15:59:59.999Z", true),
            ("2026-11-16T16:00:00Z", false),
            // Summer, two hours ahead.
            ("2026-07-06T07:00:00Z", true),
            ("2026-07-06T15:00:00Z", false),
            // A Friday.
            ("2026-11-20T10:00:00Z", false),
        ],
    );
}

#[test]
fn a_window_across_midnight_belongs_to_the_day_it_opens_on() {
    check(
        NIGHT,
        &[
            ("2026-11-14T20:59:00Z", false),
            ("2026-11-14T21:00:00Z", true),
            ("2026-11-15T02:59:00Z", true),
            ("2026-11-15T03:00:00Z", false),
            // Sunday night is not Saturday night.
            ("2026-11-15T22:00:00Z", false),
            ("2026-11-14T01:00:00Z", false),
        ],
    );
}

#[test]
fn a_skipped_hour_is_not_there_and_a_repeated_one_is_there_twice() {
    // On 29 March 2026 clocks in Berlin go from 02:00 to 03:00, on 25 October from 03:00 back to 02:00.
    let skipped = "from: \"02:15\", to: \"02:45\", timezone: Europe/Berlin";
    check(skipped, &[("2026-03-28T01:30:00Z", true), ("2026-03-29T01:30:00Z", false)]);
    let repeated = &[
        ("2026-10-25T00:30:00Z", true),
        ("2026-10-25T01:00:00Z", false),
        ("2026-10-25T01:30:00Z", true),
        ("2026-10-25T02:30:00Z", false),
    ];
    check(skipped, repeated);
    opens(skipped, "2026-03-29T00:00:00Z", "2026-03-30T00:15:00Z");
    opens(skipped, "2026-10-25T00:45:00Z", "2026-10-25T01:15:00Z");
    // The clock jumps into the middle of this one.
    opens(
        "from: \"02:15\", to: \"05:00\", timezone: Europe/Berlin",
        "2026-03-29T00:00:00Z",
        "2026-03-29T01:00:00Z",
    );
    // The only Sunday window of the week is skipped, so the next is a week later.
    opens(&format!("days: [sun], {skipped}"), "2026-03-23T00:00:00Z", "2026-04-05T00:15:00Z");
}

#[test]
fn the_next_opening_is_told_in_the_clock_of_the_place() {
    opens(OFFICE, "2026-11-19T16:00:00Z", "2026-11-23T08:00:00Z");
    opens(OFFICE, "2026-11-16T00:00:00Z", "2026-11-16T08:00:00Z");
    opens(NIGHT, "2026-11-15T03:00:00Z", "2026-11-21T21:00:00Z");
    let told = window(OFFICE).next_opening(at("2026-03-27T12:00:00Z")).unwrap().to_string();
    assert_eq!(told, "Mon 2026-03-30 09:00 Europe/Berlin (2026-03-30T07:00:00.000Z)");
}

#[test]
fn the_whole_day_ends_at_midnight_and_windows_need_no_clock_of_their_own() {
    check(
        "days: [sun]",
        &[("2026-11-15T00:00:00Z", true), ("2026-11-15T23:59:59Z", true), ("2026-11-16T00:00:00Z", false)],
    );
    check(
        "from: \"18:00\", to: \"00:00\"",
        &[("2026-11-15T23:59:00Z", true), ("2026-11-16T00:00:00Z", false)],
    );
    check(
        "from: \"18:00\", to: \"24:00\"",
        &[("2026-11-15T23:59:00Z", true), ("2026-11-16T00:00:00Z", false)],
    );
}

#[test]
fn the_ends_of_the_calendar_do_no_harm() {
    for millis in [i64::MIN, i64::MAX] {
        for fields in [OFFICE, NIGHT, "timezone: Pacific/Apia"] {
            let window = window(fields);
            let now = Timestamp::from_millis(millis);
            let _ = (window.is_open(now), window.next_opening(now).map(|opening| opening.to_string()));
        }
    }
}

proptest! {
    #[test]
    fn the_next_opening_is_open_and_nothing_before_it_is(
        minute in 29_000_000_i64..30_600_000,
        day in 0_usize..7,
        from in 0_u16..1440,
        to in 0_u16..1440,
        zone in 0_usize..5,
    ) {
        prop_assume!(from != to);
        let day = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"][day];
        let zone = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"][zone];
        let clock = |minutes: u16| format!("\"{:02}:{:02}\"", minutes / 60, minutes % 60);
        let fields = format!("days: [{day}], from: {}, to: {}, timezone: {zone}", clock(from), clock(to));
        let window = window(&fields);
        let now = Timestamp::from_millis(minute * 60_000);
        let opening = window.next_opening(now).unwrap().at;
        prop_assert!(opening > now && window.is_open(opening), "{fields}");
        // Minute by minute: once closed, it stays closed until the opening that was told.
        let mut moment = now;
        let mut was_open = window.is_open(now);
        while moment < opening {
            let is_open = window.is_open(moment);
            prop_assert!(was_open || !is_open, "{fields} opens at {moment}, before {opening}");
            was_open = is_open;
            moment = moment.plus(std::time::Duration::from_secs(60));
        }
    }
}
