//! Notifications, for people.

use std::io::{self, Write as _};

use anstyle::AnsiColor;
use windlass_api::types::{DeliveryInfo, ProviderTest};

use super::table::Table;
use super::time::relative;
use super::{Terminal, sanitize_for_terminal};

/// Prints what came of a test.
pub(crate) fn tested(tested: &ProviderTest) -> io::Result<()> {
    let (sign, style) = match tested.ok {
        true => ("✓", AnsiColor::Green.on_default()),
        false => ("✗", AnsiColor::Red.on_default().bold()),
    };
    writeln!(anstream::stdout(), "{style}{sign}{style:#} {}", sanitize_for_terminal(&tested.message))
}

/// Prints the log.
pub(crate) fn list(deliveries: &[DeliveryInfo], terminal: &Terminal) -> io::Result<()> {
    let mut table = Table::new(&["ID", "WHEN", "PROVIDER", "STATUS", "TRIES", "EVENT", "MESSAGE", "PROBLEM"]);
    for delivery in deliveries {
        table.row([
            delivery.id.clone(),
            relative(&delivery.created_at),
            delivery.provider.clone(),
            delivery.state.to_string(),
            delivery.attempts.to_string(),
            delivery.event_kind.clone(),
            delivery.message.clone(),
            delivery.last_error.clone().unwrap_or_default(),
        ]);
    }
    table.print(terminal, "no notifications; configure them with alerts: `windlass explain alerts`")
}

/// Prints that a notification is tried again.
pub(crate) fn again(delivery: &DeliveryInfo) -> io::Result<()> {
    super::line(&format!("{} will be resent through {}", delivery.id, delivery.provider))
}
