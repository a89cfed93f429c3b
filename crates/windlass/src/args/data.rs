//! Where a server's data is.

use std::path::PathBuf;

use clap::Args;

/// Where a server's data is.
#[derive(Clone, Debug, Args)]
pub(crate) struct DataOptions {
    /// The directory of the embedded database and the repository mirrors.
    #[arg(long, env = "WINDLASS_DATA_DIR", value_name = "DIR", default_value = "windlass-data")]
    pub(crate) data_dir: PathBuf,

    /// Another database: postgres://user@host/name, or the path of an SQLite file.
    #[arg(long, env = "WINDLASS_DATABASE", value_name = "URL", hide_env_values = true)]
    pub(crate) database: Option<String>,
}
