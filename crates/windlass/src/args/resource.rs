//! Accepted resources, their export, and events.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::paging::Paging;

#[derive(Args, Debug)]
pub(crate) struct GetOptions {
    /// The kind, for example `node` or `nodes`; `all` for every kind.
    pub(crate) kind: String,

    /// The name of one resource. Default: list all.
    pub(crate) name: Option<String>,

    /// Only those with this text in their name.
    #[arg(short, long = "query", value_name = "TEXT")]
    pub(crate) query: Option<String>,

    /// Only those this repository owns, by name or id; `none` for those without an owner.
    #[arg(long)]
    pub(crate) repo: Option<String>,

    #[command(flatten)]
    pub(crate) paging: Paging,
}

#[derive(Args, Debug)]
pub(crate) struct DescribeOptions {
    /// The kind, for example `node`.
    pub(crate) kind: String,

    /// Its name: `edge-tokyo-01`; `network/name` for peers and virtual IPs, `node:module` for assignments.
    pub(crate) name: String,
}

#[derive(Args, Debug)]
pub(crate) struct SetOptions {
    /// The kind, for example `node`.
    pub(crate) kind: String,

    /// Its name.
    pub(crate) name: String,

    /// Fields to set: `region=eu-west-1`, `labels.tier=edge`, `lan_subnets=[10.0.0.0/24]`. Values are YAML; an empty
    /// value resets the field to its default.
    #[arg(value_name = "FIELD=VALUE", required_unless_present = "file", conflicts_with = "file")]
    pub(crate) fields: Vec<String>,

    /// Read the whole spec from this file, YAML or JSON; `-` for standard input. Omitted fields are reset to their
    /// defaults.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Create the resource if it does not exist.
    #[arg(long)]
    pub(crate) create: bool,

    /// The reason, recorded in the audit log and shown to approvers.
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DeleteOptions {
    /// The kind, for example `node`.
    pub(crate) kind: String,

    /// Its name.
    pub(crate) name: String,

    /// Skip the confirmation prompt.
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// The reason, recorded in the audit log and shown to approvers.
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ExportOptions {
    /// Only what this repository owns, by name or id.
    #[arg(long)]
    pub(crate) repo: Option<String>,

    /// How sections are written.
    #[arg(long, value_enum, default_value_t = ExportForm::List)]
    pub(crate) form: ExportForm,

    /// Write to this file. Default: standard output.
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    pub(crate) file: Option<PathBuf>,

    /// Write fleet.yaml into this directory, and the files it includes if the fleet is too large for one file.
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,

    /// Replace an existing file.
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Write values that look like secrets instead of masking them. Needs system.fleet.export_secrets; recorded in the
    /// audit log.
    #[arg(long)]
    pub(crate) show_secrets: bool,
}

/// How sections of a fleet.yaml are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// As lists whose items carry the name.
    List,
    /// As maps keyed by name.
    Map,
}

impl ExportForm {
    /// The word in the API.
    pub(crate) fn word(self) -> &'static str {
        match self {
            ExportForm::List => "list",
            ExportForm::Map => "map",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct EventsOptions {
    /// After the list, print new events as they happen. Reconnects and continues after a lost connection.
    #[arg(long, short)]
    pub(crate) follow: bool,

    /// Only of this kind; `gitops.` for all kinds with that prefix.
    #[arg(long)]
    pub(crate) kind: Option<String>,

    /// Only of this sync run.
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    /// Only about this repository, by name or id.
    #[arg(long)]
    pub(crate) repo: Option<String>,

    /// Only about this resource.
    #[arg(long, value_name = "KIND/NAME")]
    pub(crate) resource: Option<String>,

    /// How many past events to show.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(crate) limit: u16,
}
