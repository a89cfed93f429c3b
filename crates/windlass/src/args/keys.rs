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
    /// database. Others may not read it. WINDLASS_SECRET_KEY holds the key itself instead.
    #[arg(long, env = "WINDLASS_SECRET_KEY_FILE", value_name = "FILE")]
    pub(crate) secret_key_file: Option<PathBuf>,
}

/// Commands about the secret key.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Print the key's fingerprint and whether the database is used with it.
    Show {
        #[command(flatten)]
        at: KeyLocation,
    },
    /// Make a new key; the one before is accepted for a while longer.
    ///
    /// Servers use the new key from their next start on. Until the overlap is over, sessions go on and webhooks with the
    /// old secrets are accepted: replace each webhook's secret at its forge by then. `windlass repo webhook NAME` prints
    /// the new ones.
    Rotate {
        /// How long the key before is still accepted; `0s` if someone else may have it.
        #[arg(long, value_name = "TIME", default_value = "168h", value_parser = read_time_or_none)]
        overlap: Duration,

        #[command(flatten)]
        at: KeyLocation,
    },
    /// Give an installation whose key is lost a new one.
    ///
    /// Stop every server first. All sessions end, every webhook's secret changes at once, and whoever verifies the audit
    /// log with the old public key needs the new one.
    Reset {
        /// Do not ask.
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
    /// Who administers the installation from now on. Left out: the administrator there is, else admin@localhost.
    #[arg(long, value_name = "EMAIL")]
    pub(crate) email: Option<String>,

    /// The account they become an admin of. Left out: one they are in, else the oldest.
    #[arg(long = "in-account", value_name = "NAME")]
    pub(crate) in_account: Option<String>,

    /// Leave their API tokens good.
    #[arg(long)]
    pub(crate) keep_tokens: bool,

    #[command(flatten)]
    pub(crate) data: DataOptions,
}
