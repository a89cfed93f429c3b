//! Events, for people.

use std::io::{self, Write as _};

use windlass_api::types::EventInfo;

use super::table::{Table, state_style};
use super::time::relative;
use super::{Terminal, sanitize_for_terminal};

/// Prints events, in the order given.
pub(crate) fn list<'e>(events: impl Iterator<Item = &'e EventInfo>, terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["NUMBER", "WHEN", "SEVERITY", "KIND", "ABOUT", "MESSAGE"]);
    for event in events {
        table.row([
            event.seq.to_string(),
            relative(&event.at),
            event.severity.to_string(),
            event.kind.clone(),
            about(event),
            event.message.clone(),
        ]);
    }
    table.print(terminal, "no events")
}

fn about(event: &EventInfo) -> String {
    match (&event.resource_kind, &event.resource_name) {
        (Some(kind), Some(name)) => format!("{kind}/{name}"),
        _ => String::new(),
    }
}

/// Prints one event as it happens.
pub(crate) fn line(event: &EventInfo) -> io::Result<()> {
    let style = state_style(event.severity.slug());
    let (at, kind) = (sanitize_for_terminal(&event.at), sanitize_for_terminal(&event.kind));
    let about = match about(event) {
        about if about.is_empty() => about,
        about => format!(" {}", sanitize_for_terminal(&about)),
    };
    // A message is one line, whatever it says.
    let message = sanitize_for_terminal(&event.message).replace('\n', " ");
    let mut out = anstream::stdout();
    writeln!(out, "{at} {style}{kind}{style:#}{about}: {message}")?;
    out.flush()
}
