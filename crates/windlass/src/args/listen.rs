//! Options of a server about connections: TLS, proxies in front, and limits.

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
