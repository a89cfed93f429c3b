//! Syncs, runs, proposals, applying and drift.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::node_status::NodeDriftCommand;
use super::paging::Paging;

#[derive(Args, Debug)]
pub(crate) struct SyncOptions {
    /// The repository, by name or id.
    pub(crate) repo: String,

    /// Wait until every proposal of the run is applied or closed.
    #[arg(long, short)]
    pub(crate) watch: bool,

    /// Propose the changes even if they destroy most of what the repository owns. Needs permission to approve.
    #[arg(long)]
    pub(crate) confirm_mass_destroy: bool,

    /// The only commit that --confirm-mass-destroy covers. Default: the commit of the run that was last stopped.
    #[arg(long, value_name = "SHA", requires = "confirm_mass_destroy")]
    pub(crate) commit: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunCommand {
    /// List sync runs, newest first.
    List {
        /// Only of this repository, by name or id.
        #[arg(long)]
        repo: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Show what a run found, proposed and applied.
    Show {
        /// The id, or a unique prefix or suffix of it.
        id: String,
    },
    /// Resume applying proposals that are on hold because this run, the repository's newest, failed.
    ConfirmFailure {
        /// The id, or a unique prefix or suffix of it.
        id: String,

        /// The reason, recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProposalCommand {
    /// List open proposals, or those that --status selects: newest run first, then in plan order.
    List {
        /// States, separated by commas: open, pending (pending_approval), approved, applied, failed, rejected,
        /// superseded, withdrawn, expired, by-hand (applied_manually).
        #[arg(long, default_value = "open")]
        status: String,

        /// Only of this repository, by name or id.
        #[arg(long)]
        repo: Option<String>,

        /// Only of this run.
        #[arg(long, value_name = "ID")]
        run: Option<String>,

        /// Only of this kind of resource.
        #[arg(long)]
        kind: Option<String>,

        /// Only resources with this text in their name.
        #[arg(short, long = "query", value_name = "TEXT")]
        query: Option<String>,

        #[command(flatten)]
        paging: Paging,
    },
    /// Show a proposal: its changes, the policy's requirements, approvals and what blocks it.
    Show {
        /// The id, or a unique prefix or suffix of it.
        id: String,
    },
    /// Approve proposals, at exactly the revision that is shown.
    ///
    /// With --run, approves the run's whole plan, or with --group one group of identical changes in it, including
    /// changes not proposed yet because of the cap. The approval lapses as soon as a newer plan has other changes.
    Approve {
        #[command(flatten)]
        which: ProposalSelection,

        /// The digest of the plan you reviewed, from `windlass run show`. If the plan has changed since, nothing is
        /// approved.
        #[arg(long, value_name = "DIGEST", requires = "run", conflicts_with = "group")]
        plan: Option<String>,

        /// Only this group of identical changes, by its digest or a prefix of it.
        #[arg(long, value_name = "DIGEST", requires = "run")]
        group: Option<String>,

        /// Also approve destroys. Required with --yes if the plan or group has any.
        #[arg(long, requires = "run")]
        include_destroys: bool,

        /// The reason, recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
    /// Reject proposals. The next sync proposes them again, unless --until-change.
    Reject {
        #[command(flatten)]
        which: ProposalSelection,

        /// The reason, recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Do not propose again until git or the accepted state changes.
        #[arg(long)]
        until_change: bool,

        /// Skip the confirmation prompt.
        #[arg(long, short)]
        yes: bool,
    },
    /// Edit what a proposal applies. Earlier approvals lapse.
    ///
    /// Opens the resource as YAML in $VISUAL or $EDITOR. The server validates the result.
    Edit {
        /// The id, or a unique prefix or suffix of it.
        id: String,

        /// Read the edited resource from this file, YAML or JSON, instead of opening an editor; `-` for standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,

        /// Discard an earlier edit.
        #[arg(long, conflicts_with = "file")]
        undo: bool,
    },
}

/// Which proposals are meant.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct ProposalSelection {
    /// Their ids, or unique prefixes or suffixes of them.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// All proposals of this run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// All proposals pending approval.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ApplyOptions {
    /// The approved proposals to apply, by id. Default: all approved proposals.
    #[arg(value_name = "ID", conflicts_with = "run")]
    pub(crate) ids: Vec<String>,

    /// Only proposals of this run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Wait until each proposal is applied or closed, and show what blocks it.
    #[arg(long, short)]
    pub(crate) wait: bool,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DriftOptions {
    /// Only this repository, by name or id. Default: all repositories.
    pub(crate) repo: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Option<DriftCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriftCommand {
    /// Propose to restore a resource to its state in git.
    Revert {
        #[command(flatten)]
        target: DriftedResource,
    },
    /// Write the accepted state into git, as a patch or a pushed branch.
    Adopt {
        /// The repository, by name or id.
        repo: String,

        /// The kind of one resource. Default: all drifted resources.
        #[arg(requires = "name")]
        kind: Option<String>,

        /// Its name.
        name: Option<String>,

        /// Push the change to this new branch.
        #[arg(long)]
        branch: Option<String>,

        /// Write the patch to this file, for `git apply`. Default: standard output.
        #[arg(long, value_name = "FILE")]
        patch_file: Option<PathBuf>,
    },
    /// Accept a difference, so that it no longer counts as drift.
    Accept {
        #[command(flatten)]
        target: DriftedResource,

        /// Until when: a date such as 2027-01-31, an RFC 3339 time, or a duration such as 36h. Default: until either
        /// side changes.
        #[arg(long, value_name = "DATE|DURATION")]
        until: Option<String>,

        /// The reason, recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// End an acceptance.
    Unaccept {
        #[command(flatten)]
        target: DriftedResource,
    },
    /// Revert, adopt or accept the drift of a node's host.
    Node {
        #[command(subcommand)]
        command: NodeDriftCommand,
    },
}

/// Which drifted resource is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct DriftedResource {
    /// The repository, by name or id.
    pub(crate) repo: String,

    /// The resource's kind.
    pub(crate) kind: String,

    /// Its name.
    pub(crate) name: String,
}
