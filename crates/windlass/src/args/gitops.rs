//! Syncs, runs, proposals, applying and drift.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
pub(crate) struct SyncOptions {
    /// The repository, by name or id.
    pub(crate) repo: String,

    /// Stay until everything that was proposed is applied, rejected or gone.
    #[arg(long, short)]
    pub(crate) watch: bool,

    /// Go on even if most of what the repository owns would be destroyed. Takes someone who may approve.
    #[arg(long)]
    pub(crate) confirm_mass_destroy: bool,

    /// The commit for which that is meant: any other is stopped again. Left out, that of the run that was stopped last.
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
        /// Its id, or a beginning or end of it that no other has.
        id: String,
    },
    /// Release proposals that are held because a repository's newest run failed. Holds for this failed run only.
    ConfirmFailure {
        /// Its id, or a beginning or end of it that no other has.
        id: String,

        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
}

/// How much of a list.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Paging {
    /// How many to show, 1 to 500.
    #[arg(short = 'n', long, default_value_t = 50, value_name = "COUNT")]
    pub(crate) limit: u16,

    /// Show all, however many there are.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProposalCommand {
    /// List proposals: newest run first, each run's in the order of its plan. Those that are open, unless --status asks for
    /// others.
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
    /// Show a proposal: what would change, what the policy asks for, who approved, what it waits for.
    Show {
        /// Its id, or a beginning or end of it that no other has.
        id: String,
    },
    /// Approve proposals: exactly what is shown, and nothing that changed meanwhile.
    ///
    /// With --run, the whole plan of the run is approved as one, or one group of identical changes in it: also what is not
    /// proposed yet because of the cap. The approval falls as soon as a newer plan has other changes.
    Approve {
        #[command(flatten)]
        which: ProposalSelection,

        /// The digest of the plan that was reviewed, as `windlass run show` tells it. If it is another by now, nothing is
        /// approved.
        #[arg(long, value_name = "DIGEST", requires = "run", conflicts_with = "group")]
        plan: Option<String>,

        /// Only this group of identical changes, by its digest or the beginning of it.
        #[arg(long, value_name = "DIGEST", requires = "run")]
        group: Option<String>,

        /// Destroys in the plan or group are meant. Needed with --yes where there are any.
        #[arg(long, requires = "run")]
        include_destroys: bool,

        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Reject proposals. The next sync proposes them again, unless --until-change.
    Reject {
        #[command(flatten)]
        which: ProposalSelection,

        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,

        /// Do not propose it again before git or the accepted state changes.
        #[arg(long)]
        until_change: bool,

        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Change what a proposal would apply. Approvals given before no longer count.
    ///
    /// Opens $VISUAL or $EDITOR with the resource as YAML. The server checks what you made of it.
    Edit {
        /// Its id, or a beginning or end of it that no other has.
        id: String,

        /// Take it from this file, YAML or JSON, instead of opening an editor; `-` for standard input.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,

        /// Take an earlier edit back.
        #[arg(long, conflicts_with = "file")]
        undo: bool,
    },
}

/// Which proposals are meant.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct ProposalSelection {
    /// Their ids, or beginnings or ends that no others have.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// All of this run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// All that wait for approval.
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ApplyOptions {
    /// Which approved proposals, by id. Left out: all that are approved.
    #[arg(value_name = "ID", conflicts_with = "run")]
    pub(crate) ids: Vec<String>,

    /// Those of this run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Stay until each is applied or cannot be, and tell what is waited for.
    #[arg(long, short)]
    pub(crate) wait: bool,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DriftOptions {
    /// Only of this repository, by name or id. Left out: of all.
    pub(crate) repo: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Option<DriftCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriftCommand {
    /// Propose to make a resource what git says.
    Revert {
        #[command(flatten)]
        target: DriftedResource,
    },
    /// Make a patch, or push a branch, that writes the accepted state into git.
    Adopt {
        /// The repository, by name or id.
        repo: String,

        /// The kind and name of one resource. Left out: all that drifted.
        #[arg(requires = "name")]
        kind: Option<String>,

        /// Its name.
        name: Option<String>,

        /// Push the change to this new branch.
        #[arg(long)]
        branch: Option<String>,

        /// Write the patch to this file, for `git apply`. Left out: it is printed.
        #[arg(long, value_name = "FILE")]
        patch_file: Option<PathBuf>,
    },
    /// Say that a difference is meant.
    Accept {
        #[command(flatten)]
        target: DriftedResource,

        /// Until when: a day such as 2027-01-31, a moment in RFC 3339, or a time from now such as 36h. Left out: for
        /// as long as both sides stay as they are.
        #[arg(long, value_name = "DATE|DURATION")]
        until: Option<String>,

        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Take an acceptance back.
    Unaccept {
        #[command(flatten)]
        target: DriftedResource,
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
