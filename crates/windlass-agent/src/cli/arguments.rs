//! Every option with its help text.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass_agent::AgentTarget;
use windlass_agent::target::host::ServiceManagerKind;

const EXIT_CODES: &str = "\
Exit codes:
  0   success; for `run --once`: the host is in sync
  1   an error; for `apply`: some items failed
  2   `apply --dry-run`, `run --once` and `status`: something differs or failed
  64  invalid command line
  69  the server could not be reached
  75  the agent's binary was replaced and cannot be started from here: start it again
  77  the server revoked the agent";

/// The Windlass agent: makes what was approved for this host true, keeps it true, and reports what it sees.
///
/// Enrol the host once with the line that `windlass node enroll NAME` prints, then let systemd run the agent:
/// `windlass-agent unit > /etc/systemd/system/windlass-agent.service`.
#[derive(Debug, Parser)]
#[command(name = "windlass-agent", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Enrol this host with a key of the server.
    Enroll(EnrollOptions),
    /// Run the agent in the foreground.
    Run(RunOptions),
    /// Show what the agent holds: its identity, its assignment, its last report, and drift.
    Status(StatusOptions),
    /// Apply a node's document by hand, without a server.
    Apply(ApplyOptions),
    /// Print a systemd unit for the agent.
    Unit(StateOption),
    /// Check that this binary can use the state directory. A new version runs this before it takes over.
    SelfCheck(StateOption),
}

/// The host.
#[derive(Clone, Debug, Args)]
pub(crate) struct HostOptions {
    /// Work on this directory tree as if it were a host: services and packages are simulated.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where the agent keeps its identity, its assignment and its blobs [default: /var/lib/windlass-agent, below --root].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// What runs the services of the machine [default: systemd where it runs, else the agent itself].
    #[arg(long, value_name = "MANAGER", conflicts_with = "root")]
    service_manager: Option<ServiceManager>,
}

/// What runs the services of a machine.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ServiceManager {
    /// systemd, over D-Bus.
    Systemd,
    /// The agent itself, as in containers.
    Supervisor,
}

impl HostOptions {
    pub(crate) fn target(&self) -> AgentTarget {
        let services = match self.service_manager {
            Some(ServiceManager::Systemd) => ServiceManagerKind::Systemd,
            Some(ServiceManager::Supervisor) => ServiceManagerKind::Supervisor,
            None => ServiceManagerKind::detect(),
        };
        self.root.clone().map_or(AgentTarget::Machine(services), AgentTarget::Tree)
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(|| self.target().default_state_dir())
    }
}

/// The state directory alone.
#[derive(Clone, Debug, Args)]
pub(crate) struct StateOption {
    /// Where the agent keeps its identity, its assignment and its blobs.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/windlass-agent")]
    state: PathBuf,
}

impl StateOption {
    pub(crate) fn path(&self) -> PathBuf {
        self.state.clone()
    }
}

#[derive(Debug, Args)]
pub(crate) struct EnrollOptions {
    /// The key that `windlass node enroll NAME` printed; `-` reads it from standard input.
    #[arg(value_name = "KEY", env = "WINDLASS_ENROLMENT_KEY", hide_env_values = true)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// Enrol a host that is enrolled already. It gets a new key and waits for an assignment.
    #[arg(long)]
    pub(crate) again: bool,
    /// The address of the server, instead of the one in the key. The key still says whom to trust.
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// The address of the server, instead of the one from enrolment. Whom the agent trusts stays the same.
    #[arg(long, value_name = "URL", env = "WINDLASS_AGENT_SERVER")]
    pub(crate) server: Option<String>,
    /// How often the agent looks at the host, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(5..=86400))]
    interval: u64,
    /// How long after a change that could cut it off (network, firewall, sshd, itself) the agent must have reached its
    /// server, in seconds. Otherwise it takes the change back.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u64).range(10..=86400))]
    confirm_within: u64,
    /// How many megabytes of blobs the agent keeps that no assignment uses any more.
    #[arg(long, value_name = "MB", default_value = "256")]
    pub(crate) cache: u64,
    /// Apply the assignment once, report, and end. Waits a minute for the server.
    #[arg(long)]
    pub(crate) once: bool,
}

impl RunOptions {
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs(self.interval)
    }

    pub(crate) fn confirm_within(&self) -> Duration {
        Duration::from_secs(self.confirm_within)
    }
}

#[derive(Debug, Args)]
pub(crate) struct StatusOptions {
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyOptions {
    /// The node's document as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) document: PathBuf,
    /// A directory with the module packages and the files that they name; they are found by their content.
    #[arg(long, value_name = "DIR")]
    pub(crate) packages: PathBuf,
    #[command(flatten)]
    pub(crate) host: HostOptions,
    /// Only show what would change.
    #[arg(long)]
    pub(crate) dry_run: bool,
}
