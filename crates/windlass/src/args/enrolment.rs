//! Options of `windlass node` about enrolment.

use std::time::Duration;

use clap::{Args, Subcommand};
use windlass_core::enrolment::JoinPolicy;

use super::time::read_time;
use super::word::word;

#[derive(Debug, Subcommand)]
pub(crate) enum EnrolmentCommand {
    /// Create a token with which an agent enrols, and print the command to run on the host.
    ///
    /// The token is valid once, for an hour, for this node only. With --selector or --name, it is for several nodes that have no
    /// agent yet, such as those of an autoscaling group; the host is taken for the node that has its host name.
    Enroll(EnrollOptions),
    /// Revoke the agent of a node. Its stream ends and its requests are refused at once; the host stays as it is.
    Revoke(TargetOptions),
    /// List the tokens with which agents can still enrol, or revoke one.
    Tokens {
        /// Revoke the token with this id. Agents that enrolled with it stay.
        #[arg(long, value_name = "ID")]
        revoke: Option<String>,
    },
    /// List nodes that want to join, and approve or reject them.
    #[command(subcommand)]
    Join(JoinCommand),
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct TargetOptions {
    /// The node, by name or id.
    #[arg(value_name = "NODE")]
    pub(crate) node: Option<String>,

    /// A cluster instead of a node.
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) cluster: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct EnrollOptions {
    /// The node, by name or id.
    #[arg(value_name = "NODE", required_unless_present_any = ["cluster", "selector", "name"])]
    pub(crate) node: Option<String>,

    /// A cluster instead of a node.
    #[arg(long, value_name = "CLUSTER", conflicts_with = "node")]
    pub(crate) cluster: Option<String>,

    #[command(flatten)]
    pub(crate) batch: BatchOptions,

    /// What happens when an agent shows the token: `auto` enrols it at once, `approve` waits for a person. Always `approve` if you may
    /// not approve.
    #[arg(long, value_name = "POLICY", value_parser = word::<JoinPolicy>())]
    pub(crate) join: Option<JoinPolicy>,

    /// When the token expires: at most 24h, or 720h with --selector or --name.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = read_time)]
    pub(crate) expires: Duration,
}

#[derive(Args, Debug)]
pub(crate) struct BatchOptions {
    /// A token for every node with this label. May be given more than once.
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = read_label, conflicts_with_all = ["node", "cluster"])]
    pub(crate) selector: Vec<(String, String)>,

    /// A token for every node whose name matches this pattern with `*` and `?`.
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["node", "cluster"])]
    pub(crate) name: Option<String>,

    /// How many agents may enrol with it.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["node", "cluster"])]
    pub(crate) uses: u64,
}

#[derive(Debug, Subcommand)]
pub(crate) enum JoinCommand {
    /// List nodes that want to join.
    List,
    /// Approve that a node joins.
    Approve {
        /// The node, or the id of the join.
        #[arg(value_name = "NODE")]
        which: String,
    },
    /// Reject that a node joins.
    Reject {
        /// The node, or the id of the join.
        #[arg(value_name = "NODE")]
        which: String,
    },
}

fn read_label(text: &str) -> Result<(String, String), String> {
    let label = text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    label.ok_or_else(|| format!("`{text}` is not a label: write key=value"))
}
