//! `windlass notify`.

use clap::{Subcommand, ValueEnum};

use super::gitops::Paging;

#[derive(Debug, Subcommand)]
pub(crate) enum NotifyCommand {
    /// Send a test message through a provider now. Exits with 1 if it did not arrive.
    Test {
        /// The provider's name or id.
        provider: String,
    },
    /// List notifications and what became of them, newest first.
    Log {
        /// Only through this provider.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,

        /// Only in this state.
        #[arg(long, value_enum, value_name = "STATE")]
        state: Option<DeliveryWord>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Try a notification again that has not arrived.
    Retry {
        /// Its id, as `windlass notify log` shows it.
        id: String,
    },
}

/// What became of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeliveryWord {
    /// It is to be sent, at once or again.
    Pending,
    /// It arrived.
    Sent,
    /// It was given up.
    Failed,
    /// There were too many; a digest tells of it.
    Suppressed,
}

impl DeliveryWord {
    /// The word in the API.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            DeliveryWord::Pending => "pending",
            DeliveryWord::Sent => "sent",
            DeliveryWord::Failed => "failed",
            DeliveryWord::Suppressed => "suppressed",
        }
    }
}
