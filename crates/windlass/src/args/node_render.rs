//! Options of `windlass node render`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct RenderOptions {
    /// The node, by name or id.
    pub(crate) name: String,

    /// Read the fleet in this directory instead of asking a server.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
