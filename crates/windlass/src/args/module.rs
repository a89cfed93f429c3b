//! Versions of modules.

use clap::{Subcommand, ValueEnum};

/// A state to promote a version to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromoteTo {
    /// Built, not tested.
    Built,
    /// Being tested.
    Staging,
    /// Tested successfully.
    Blessed,
    /// In use.
    Live,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModuleCommand {
    /// List the versions of a module, newest first, with their states and how many resources use each.
    Versions {
        /// The module.
        name: String,
    },
    /// Promote a version: resources whose pins follow it get proposals.
    ///
    /// The change passes the approval policy like every other change, and becomes a proposal if it needs approval. An
    /// earlier state is possible too, with a reason.
    Promote {
        /// The module.
        name: String,

        /// The version, for example 1.26.0.
        version: String,

        /// The new state.
        #[arg(long, value_enum, default_value = "live", value_name = "STATE")]
        to: PromoteTo,

        /// The reason, recorded in the audit log and shown to approvers. Required for an earlier state.
        #[arg(long)]
        reason: Option<String>,
    },
    /// Retire a version: pins to states no longer select it. It is kept while anything uses it.
    Retire {
        /// The module.
        name: String,

        /// The version, for example 1.26.0.
        version: String,

        /// The reason, recorded in the audit log and shown to approvers.
        #[arg(long)]
        reason: Option<String>,
    },
}
