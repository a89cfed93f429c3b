//! Options of a server about connections: TLS, proxies in front, and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use windlass_server::{TlsFiles, TrustedNetwork, read_network};

use super::time::read_time;

/// The server's own certificate.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsOptions {
    /// Serve TLS with this certificate: a PEM file with the certificate first, then its chain. The server reloads the
    /// files when they change.
    #[arg(long, env = "WINDLASS_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The certificate's private key: a PEM file.
    #[arg(long, env = "WINDLASS_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

impl TlsOptions {
    /// Both files, if they were named.
    pub(crate) fn files(&self) -> Option<TlsFiles> {
        let (Some(certificate), Some(key)) = (&self.tls_cert, &self.tls_key) else { return None };
        Some(TlsFiles { certificate: certificate.clone(), key: key.clone() })
    }
}

/// Where agents connect.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Agents")]
pub(crate) struct AgentListenOptions {
    /// The address to listen on for agents. They use TLS with certificates of the server's own authority; a balancer in front
    /// must forward TCP. Default: the server does not listen for agents.
    #[arg(long, env = "WINDLASS_AGENT_LISTEN", value_name = "ADDRESS")]
    pub(crate) agent_listen: Option<SocketAddr>,

    /// The URL that agents connect to, such as `https://windlass.example.com:3443`; it is part of what `windlass node enroll`
    /// prints. Default: --agent-listen, if that is an address of this machine alone.
    #[arg(long, env = "WINDLASS_AGENT_URL", value_name = "URL", value_parser = read_agent_url)]
    pub(crate) agent_url: Option<String>,

    /// The maximum number of connections of agents. Default: half of the limit of open files.
    #[arg(long, env = "WINDLASS_MAX_AGENT_CONNECTIONS", value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(16..=1_000_000))]
    pub(crate) max_agent_connections: Option<usize>,
}

/// Reads the origin of an agent listener: `https://host:port`.
fn read_agent_url(text: &str) -> Result<String, String> {
    let origin = text.trim_end_matches('/');
    let host = origin.strip_prefix("https://").unwrap_or_default();
    match host.is_empty() || host.contains(['/', '?', '#', '@']) || host.chars().any(char::is_whitespace) {
        true => Err(format!("`{text}` is no address of an agent listener: write https://host:port")),
        false => Ok(origin.to_owned()),
    }
}

/// Who connects, and how long they may take.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionOptions {
    /// A proxy in front of the server, by address or network (10.0.0.0/8). The server trusts X-Forwarded-For,
    /// X-Forwarded-Proto and Forwarded only from these. May be given more than once.
    #[arg(long, env = "WINDLASS_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = read_network)]
    pub(crate) trusted_proxy: Vec<TrustedNetwork>,

    /// The maximum number of open connections; one client address gets at most a quarter of them. Default: the limit of
    /// open files (ulimit -n) minus 256.
    #[arg(long, env = "WINDLASS_MAX_CONNECTIONS", value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(16..=1_000_000))]
    pub(crate) max_connections: Option<usize>,

    /// How long a client may take to send the head of a request, the TLS handshake included.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = read_time)]
    pub(crate) header_timeout: Duration,

    /// How long a client may take to send a request body or to read a response, plus one second for each KiB.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = read_time)]
    pub(crate) body_timeout: Duration,

    /// How long a connection stays open without a request.
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = read_time)]
    pub(crate) idle_timeout: Duration,
}
