//! `windlass rollout`.

use clap::{Args, Subcommand};

use super::paging::Paging;

#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    /// List rollouts, newest first.
    List {
        /// Only in these states, separated by commas; `open` for all that are not over.
        #[arg(long, value_name = "STATES")]
        status: Option<String>,

        /// Only those that reach this node.
        #[arg(long, value_name = "NAME")]
        node: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Show how far a rollout is: its waves, and the nodes that failed. Exits with 1 if it stopped.
    Show {
        /// The id, or a unique prefix or suffix of it.
        id: String,

        /// List the nodes in these states, separated by commas; `all` for every node.
        #[arg(long, value_name = "STATES")]
        nodes: Option<String>,

        /// Follow it until it stops or is over. Exits with 1 unless it is complete then.
        #[arg(long, short)]
        watch: bool,
    },
    /// Pause a rollout: no further node gets the change.
    Pause(RolloutDecision),
    /// Resume a rollout that was paused or stopped. Nodes that have failed so far do not stop it again.
    Resume(RolloutDecision),
    /// Abort a rollout: nodes that it did not reach keep what they have.
    Abort(RolloutDecision),
    /// Give the change to every node of a rollout now.
    Promote(RolloutDecision),
}

/// A decision about a rollout.
#[derive(Args, Debug)]
pub(crate) struct RolloutDecision {
    /// The id, or a unique prefix or suffix of it.
    pub(crate) id: String,

    /// The reason, recorded in the audit log.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,

    /// Skip the confirmation prompt.
    #[arg(long, short)]
    pub(crate) yes: bool,
}
