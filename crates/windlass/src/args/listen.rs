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
    /// Speak TLS with this certificate: a PEM file, with the certificates that vouch for it behind it. The server uses a
    /// new one as soon as the files change.
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
    /// A proxy in front of the server, by address or network (10.0.0.0/8). X-Forwarded-For, X-Forwarded-Proto and
    /// Forwarded count only from these. May be given more than once.
    #[arg(long, env = "WINDLASS_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = read_network)]
    pub(crate) trusted_proxy: Vec<TrustedNetwork>,

    /// How many connections may be open at once; one address may have a quarter of them. Default: what the limit of open
    /// files (ulimit -n) allows, less 256.
    #[arg(long, env = "WINDLASS_MAX_CONNECTIONS", value_name = "N",
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(16..=1_000_000))]
    pub(crate) max_connections: Option<usize>,

    /// How long a client may take to send the head of a request, the TLS handshake included.
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = read_time)]
    pub(crate) header_timeout: Duration,

    /// How long a client may take to send the body of a request, or to take an answer, besides one second for each KiB.
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = read_time)]
    pub(crate) body_timeout: Duration,

    /// How long a connection stays open without a request.
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = read_time)]
    pub(crate) idle_timeout: Duration,
}
