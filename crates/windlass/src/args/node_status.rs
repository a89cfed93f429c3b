//! Nodes as their agents see them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::paging::Paging;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeStatusCommand {
    /// List nodes with their status and why they are not in sync.
    ///
    /// Exits with 2 if a listed node has drifted or failed.
    List {
        /// Only with these statuses, separated by commas: converged, applying, drifted, failed, offline,
        /// unknown.
        #[arg(long)]
        state: Option<String>,

        /// Only of this template.
        #[arg(long)]
        template: Option<String>,

        /// Only in this region.
        #[arg(long)]
        region: Option<String>,

        /// Only with this label: KEY=VALUE, or KEY for any value.
        #[arg(long, value_name = "KEY[=VALUE]")]
        label: Option<String>,

        /// Only with this text in their name.
        #[arg(short, long = "query", value_name = "TEXT")]
        query: Option<String>,

        /// Count instead of listing, by template, region or label:KEY.
        #[arg(long, value_name = "WHAT")]
        by: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Show a node's status and its reason, its modules and its host.
    Describe {
        /// The node, by name or id.
        name: String,
    },
    /// Show how a node's host differs from what is assigned.
    ///
    /// Exits with 2 if anything differs that nobody accepted.
    Drift {
        /// The node, by name or id.
        name: String,
    },
    /// Show what a node's agent reported: what it applied, refused, corrected.
    Logs {
        /// The node, by name or id.
        name: String,

        /// After the list, print new events as they happen.
        #[arg(long, short)]
        follow: bool,

        /// How many past events to show.
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
        limit: u16,
    },
    /// Ask a node's agent to look now and to report everything.
    Observe {
        /// The node, by name or id.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum NodeDriftCommand {
    /// Have the node's agent apply everything that is assigned to it again.
    Revert {
        /// The node, by name or id.
        node: String,
    },
    /// Print the patch that makes git declare a file as it is on the host.
    Adopt {
        #[command(flatten)]
        item: NodeItem,

        /// Write the patch to this file, for `git apply`. Default: standard output.
        #[arg(long, value_name = "FILE")]
        patch_file: Option<PathBuf>,
    },
    /// Accept the drift of an item, so that it no longer counts.
    Accept {
        #[command(flatten)]
        item: NodeItem,

        /// Until when: a date such as 2027-01-31, an RFC 3339 time, or a duration such as 36h. Default: until the item
        /// changes again.
        #[arg(long, value_name = "DATE|DURATION")]
        until: Option<String>,

        /// The reason, recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// End the acceptance of an item.
    Unaccept {
        #[command(flatten)]
        item: NodeItem,
    },
}

/// Which item of a node is meant, as `windlass node drift` lists it.
#[derive(Args, Clone, Debug)]
pub(crate) struct NodeItem {
    /// The node, by name or id.
    pub(crate) node: String,

    /// The item's type, such as path or service.
    pub(crate) kind: String,

    /// Its name or path.
    pub(crate) name: String,
}
