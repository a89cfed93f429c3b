//! The command line: every option with its help text. Completions, man pages and the reference come from here.

pub(crate) mod access;
pub(crate) mod addresses;
pub(crate) mod data;
pub(crate) mod enrolment;
pub(crate) mod forge;
pub(crate) mod gitops;
pub(crate) mod keys;
pub(crate) mod listen;
pub(crate) mod module;
pub(crate) mod node;
pub(crate) mod node_render;
pub(crate) mod node_status;
pub(crate) mod notify;
pub(crate) mod oidc;
pub(crate) mod operate;
pub(crate) mod paging;
pub(crate) mod repository;
pub(crate) mod resource;
pub(crate) mod rollout;
pub(crate) mod server;
mod time;
pub(crate) mod vault;
mod word;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

/// GitOps for whole fleets: machines, the SD-WAN between them and Kubernetes clusters.
///
/// Windlass reads fleet.yaml, checks it, compares it with another state and shows what would change, in order and with
/// reasons. With a server, it proposes those changes, applies the approved ones and reports drift: start with `windlass
/// login`.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,

    #[command(flatten)]
    pub(crate) server: server::RootServerOptions,
}

const EXIT_CODES: &str = "\
Exit codes:
  0   success; for `plan` and `drift`: no changes
  1   problems were found, or the server refused the request
  2   `plan` and `drift`: there are changes; `migrate --check`: migrations are pending
  64  invalid command line
  69  the server could not be reached, or you are not signed in";

/// When to use colour. `NO_COLOR` and `CLICOLOR_FORCE` are honoured by `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    pub(crate) fn apply(self) {
        match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a demo on this machine: a server, a repository, a first sync, and agents on three directories.
    Demo(operate::DemoOptions),
    /// Run a server.
    Serve(Box<operate::ServeOptions>),
    /// Back up a server's embedded database while the server runs.
    Backup(operate::BackupOptions),
    /// Restore a backup over a stopped server's embedded database.
    Restore(operate::RestoreOptions),
    /// Migrate the database schema without starting a server.
    ///
    /// A server runs the same migrations when it starts. Back up and stop every server on the database first. With the
    /// embedded database, the command fails while a server runs.
    Migrate(operate::MigrateOptions),
    /// Check a server's data, keys and tools.
    Doctor(operate::DoctorOptions),
    /// Create or repair the administrator's login, on the server's machine, and print a one-time password.
    ///
    /// Works on the data directory or database, whether or not the server runs. Enables the administrator's login,
    /// makes them admin of an account and lifts the sign-in throttle. Ends their sessions and API tokens. Recorded in
    /// the audit log.
    RecoverAdmin(keys::RecoverAdminOptions),
    /// Show, rotate or replace the secret key, on the server's machine.
    #[command(subcommand)]
    Key(keys::KeyCommand),
    /// Check fleets and report all problems at once.
    Validate(ValidateOptions),
    /// Show what would change between two states of a fleet, or on a server, in order.
    Plan(PlanOptions),
    /// Format fleet.yaml and the files it includes, keeping comments.
    Fmt(FmtOptions),
    /// Print the JSON Schema of fleet.yaml, for editors.
    Schema,
    /// Explain a kind, a field or a problem code.
    Explain(ExplainOptions),
    #[command(flatten)]
    Remote(server::RemoteCommand),
    /// Print shell completions.
    Completions(CompletionsOptions),
    /// Write man pages.
    Man(ManOptions),
    /// Write the generated reference pages.
    #[command(hide = true)]
    Reference(ReferenceOptions),
}

#[derive(Debug, Args)]
pub(crate) struct ValidateOptions {
    /// Directories with a fleet.yaml, or files to use in its place.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// How to print problems.
    #[arg(long, value_enum, default_value_t = ProblemFormat::Human)]
    pub(crate) format: ProblemFormat,

    /// The account the fleet must be for, by name or id. May be given more than once.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) account: Vec<String>,

    /// Fail on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How problems are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProblemFormat {
    /// For people, with excerpts.
    Human,
    /// One JSON document.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// GitHub workflow commands, shown as annotations in a pull request.
    Github,
}

#[derive(Debug, Args)]
pub(crate) struct PlanOptions {
    /// The directory with fleet.yaml, or a file to use in its place.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(crate) path: PathBuf,

    /// The state to start from: a directory or file, or a git revision of the repository around PATH.
    #[arg(long, value_name = "PATH|GIT-REVISION")]
    pub(crate) from: Option<String>,

    /// Start from the accepted state on a server instead, and propose nothing. Needs --repository. Without an address:
    /// WINDLASS_SERVER, then the server of the last `windlass login`; in pipelines set WINDLASS_TOKEN too.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub(crate) server: Option<String>,

    /// The repository on the server that PATH belongs to, by name or id. PATH is the directory that is its path prefix.
    #[arg(long, value_name = "NAME")]
    pub(crate) repository: Option<String>,

    /// The plan's name on the server, for example the branch. The server keeps the latest plan of each name.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// How to print the plan.
    #[arg(long, short = 'o', visible_alias = "output", value_enum, default_value_t = PlanFormat::Human)]
    pub(crate) format: PlanFormat,

    /// The account the fleet must be for, by name or id. May be given more than once.
    #[arg(long, value_name = "ACCOUNT")]
    pub(crate) account: Vec<String>,

    /// Plan even if it destroys most of the existing resources.
    #[arg(long)]
    pub(crate) confirm_mass_destroy: bool,

    /// How many changes may be open for approval at a time; the plan shows the number of batches.
    #[arg(
        long,
        value_name = "COUNT",
        env = "POWERNODE_GITOPS_MAX_PROPOSALS_PER_TICK",
        default_value_t = windlass_core::plan::DEFAULT_CAP,
        value_parser = parse_cap,
    )]
    pub(crate) max_proposals_per_tick: usize,
}

fn parse_cap(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(cap) if cap > 0 => Ok(cap),
        _ => Err("write a whole number, at least 1".to_owned()),
    }
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people.
    Human,
    /// One JSON document.
    Json,
    /// Markdown that fits a pull request comment.
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct FmtOptions {
    /// Directories with a fleet.yaml, or files. `-` formats standard input to standard output.
    #[arg(default_value = ".", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Change nothing; list files that are not formatted and exit with 1 if there are any.
    #[arg(long)]
    pub(crate) check: bool,

    /// Change nothing; show what would change, and exit as with --check.
    #[arg(long)]
    pub(crate) diff: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// What to explain: `node`, `node.template`, `bundle.rollout.waves`, `unknown-key`. Default: list all kinds and
    /// codes.
    #[arg(value_name = "KIND[.FIELD]|CODE")]
    pub(crate) topic: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// The shell.
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write one page per command into this directory. Default: print the main page to standard output.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReferenceOptions {
    /// The directory to write to.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: PathBuf,
}
