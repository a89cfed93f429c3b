//! Options about the secret key, and of the commands that work on a server's data on its own machine.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::data::DataOptions;
use super::time::read_time_or_none;

/// Where the secret key comes from.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeyOptions {
    /// Read the secret key from this file instead of secret.key in the data directory: for several servers on one
    /// database. Other users must not be able to read it. Alternatively, WINDLASS_SECRET_KEY holds the key itself.
    #[arg(long, env = "WINDLASS_SECRET_KEY_FILE", value_name = "FILE")]
    pub(crate) secret_key_file: Option<PathBuf>,
}

/// Commands about the secret key.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Print the key's fingerprint and whether it is the key of this database.
    Show {
        #[command(flatten)]
        at: KeyLocation,
    },
    /// Create a new key; the old key stays valid for the overlap.
    ///
    /// Servers use the new key from their next start. During the overlap, sessions stay valid and the server accepts
    /// webhooks with the old secrets: replace each webhook's secret at its forge by then. `windlass repo webhook NAME`
    /// prints the new ones.
    Rotate {
        /// How long the old key stays valid; `0s` if it may be compromised.
        #[arg(long, value_name = "TIME", default_value = "168h", value_parser = read_time_or_none)]
        overlap: Duration,

        #[command(flatten)]
        at: KeyLocation,
    },
    /// Replace a lost key.
    ///
    /// Stop every server first. All sessions end, every webhook's secret changes immediately, and everyone who verifies
    /// the audit log with the old public key needs the new one.
    Reset {
        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,

        #[command(flatten)]
        at: KeyLocation,
    },
}

/// Which server's key.
#[derive(Clone, Debug, Args)]
pub(crate) struct KeyLocation {
    #[command(flatten)]
    pub(crate) data: DataOptions,

    #[command(flatten)]
    pub(crate) key: KeyOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverAdminOptions {
    /// The e-mail address of the installation's administrator. Default: the current administrator, else admin@localhost.
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: Option<String>,

    /// The account they become an admin of. Default: an account they are in, else the oldest.
    #[arg(long = "in-account", value_name = "NAME")]
    pub(crate) in_account: Option<String>,

    /// Keep their API tokens valid.
    #[arg(long)]
    pub(crate) keep_tokens: bool,

    #[command(flatten)]
    pub(crate) data: DataOptions,
}
