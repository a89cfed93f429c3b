//! `windlass notify`.

use clap::Subcommand;
use windlass_core::delivery::DeliveryState;

use super::paging::Paging;
use super::word::word;

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Send a test message through a provider now. Exits with 1 if it did not arrive.
    Test {
        /// The provider's name or id.
        provider: String,
    },
    /// List notifications and their delivery states, newest first.
    Log {
        /// Only through this provider.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,

        /// Only in this state.
        #[arg(long, value_parser = word::<DeliveryState>(), value_name = "STATE")]
        state: Option<DeliveryState>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Resend a notification that was not delivered.
    Retry {
        /// Its id, as `windlass notify log` shows it.
        id: String,
    },
}
