//! How much of a list a command shows.

use clap::Args;

/// How much of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Paging {
    /// How many to show, 1 to 500.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "COUNT")]
    pub(crate) limit: u16,

    /// Show all, without a limit.
    #[arg(long)]
    pub(crate) all: bool,
}
