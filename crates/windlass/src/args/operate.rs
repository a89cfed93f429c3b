//! Options of the commands that run a server and look after its data.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::addresses::AddressOptions;
use super::data::DataOptions;
use super::forge::ForgeOptions;
use super::keys::KeyOptions;
use super::listen::{AgentListenOptions, ConnectionOptions, TlsOptions};
use super::oidc::OidcOptions;
use super::time::read_time;
use super::vault::VaultOptions;

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) data: DataOptions,

    /// The address to listen on. Before other machines connect, set --tls-cert and --tls-key or use a TLS proxy.
    #[arg(long, env = "WINDLASS_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,

    /// The URL that browsers use, if a TLS proxy is in front, such as `https://windlass.example.com`.
    #[arg(long, env = "WINDLASS_PUBLIC_URL", value_name = "URL", value_parser = read_public_url)]
    pub(crate) public_url: Option<String>,

    #[command(flatten)]
    pub(crate) agents: AgentListenOptions,

    /// A further host name that MCP clients may use, in addition to localhost, the listening address and the host of
    /// --public-url. May be given more than once.
    #[arg(long, env = "WINDLASS_MCP_ALLOWED_HOSTS", value_name = "NAME", value_delimiter = ',')]
    pub(crate) mcp_allowed_host: Vec<String>,

    /// The directory of the repositories' credentials: a directory per credential with one file per key, or PATH.json.
    /// `{account}` in it stands for the account's name.
    #[arg(long, env = "WINDLASS_CREDENTIALS_DIR", value_name = "DIR")]
    pub(crate) credentials_dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) key: KeyOptions,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) connections: ConnectionOptions,

    #[command(flatten)]
    pub(crate) vault: VaultOptions,

    #[command(flatten)]
    pub(crate) forge: ForgeOptions,

    #[command(flatten)]
    pub(crate) oidc: OidcOptions,

    /// Also accept http:// and file:// repositories. For tests and demonstrations.
    #[arg(long)]
    pub(crate) allow_insecure_git: bool,

    /// Also send notifications to this machine, without TLS. For tests and demonstrations.
    #[arg(long)]
    pub(crate) allow_insecure_notifications: bool,

    #[command(flatten)]
    pub(crate) addresses: AddressOptions,
    /// Append each signed checkpoint of the audit log to this file, as a line of JSON.
    #[arg(long, env = "WINDLASS_AUDIT_CHECKPOINTS_FILE", value_name = "FILE")]
    pub(crate) audit_checkpoints_file: Option<PathBuf>,

    /// Send each signed checkpoint of the audit log to this address, as JSON: https, or http on this machine.
    #[arg(long, env = "WINDLASS_AUDIT_CHECKPOINTS_WEBHOOK", value_name = "URL", hide_env_values = true)]
    pub(crate) audit_checkpoints_webhook: Option<String>,

    /// The longest time until a new audit log entry is covered by a signed checkpoint. The server also signs one every
    /// 1000 entries.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = read_time)]
    pub(crate) audit_checkpoint_interval: Duration,

    /// How many proposals one sync may open.
    #[arg(long, env = "POWERNODE_GITOPS_MAX_PROPOSALS_PER_TICK", value_name = "N", default_value_t = 25,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub(crate) max_proposals_per_tick: usize,

    /// How often to check the accepted state for manual changes.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = read_time)]
    pub(crate) drift_interval: Duration,

    /// How long a proposal stays open before it expires.
    #[arg(long, value_name = "TIME", default_value = "72h", value_parser = read_time)]
    pub(crate) proposal_lifetime: Duration,

    /// The account created at the first start.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) first_account: String,

    /// The e-mail address of the administrator created at the first start.
    #[arg(long, value_name = "EMAIL", default_value = "admin@localhost")]
    pub(crate) first_admin: String,

    #[command(flatten)]
    pub(crate) log: LogOptions,

    /// Send traces to this collector, as OTLP over HTTP, such as `http://127.0.0.1:4318`.
    #[cfg(feature = "otlp")]
    #[arg(long, env = "WINDLASS_OTLP_ENDPOINT", value_name = "URL")]
    pub(crate) otlp_endpoint: Option<String>,
}

/// How a server logs.
#[derive(Clone, Debug, Args)]
pub(crate) struct LogOptions {
    /// What to log: error, warn, info, debug, or a filter such as `info,access=warn`. Default: info; for the demo
    /// warn, and nothing of its agents.
    #[arg(long, env = "WINDLASS_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// How to write the log.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object on each line.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// The address to listen on; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,

    /// The directory for the demo's data. If it has the data of an earlier demo, that demo continues with its agents.
    /// Default: a temporary directory, removed at exit.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) log: LogOptions,
}

#[derive(Debug, Args)]
pub(crate) struct BackupOptions {
    /// The file to write. It must not exist.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreOptions {
    /// A file that `windlass backup` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) data: DataOptions,

    #[command(flatten)]
    pub(crate) key: KeyOptions,
}

#[derive(Debug, Args)]
pub(crate) struct MigrateOptions {
    /// List pending migrations without running them. Exits with 2 if there are any, with 0 if the schema is up to date,
    /// and with 1 if the database is newer than this program or the recorded checksums do not match.
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) data: DataOptions,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    #[command(flatten)]
    pub(crate) data: DataOptions,

    #[command(flatten)]
    pub(crate) key: KeyOptions,

    #[command(flatten)]
    pub(crate) tls: TlsOptions,

    #[command(flatten)]
    pub(crate) vault: VaultOptions,
}

/// Reads `https://host[:port]`: an origin, because pages are at its root.
fn read_public_url(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/');
    let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
    match host {
        Some(host) if !host.is_empty() && host.chars().all(is_host) => Ok(origin.to_ascii_lowercase()),
        _ => Err(format!("`{text}` is not the origin of a site: write https://windlass.example.com")),
    }
}
