//! The configuration of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use windlass_control::config::ControlConfig;
use windlass_control::keys::KeySource;
use windlass_core::inbound::forwarded::{HttpScheme, TrustedProxies};
use windlass_oidc::settings::OidcSettings;
use windlass_store::Address;

use crate::connections::Timeouts;
use crate::connections::tls::TlsFiles;

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// The settings that do not concern HTTP.
    pub control: ControlConfig,
    /// The database.
    pub database: Address,
    /// The source of the secret key.
    pub secret_key: KeySource,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address to listen on for agents; by default, the server does not listen for agents.
    pub agent_listen: Option<SocketAddr>,
    /// How many connections agents may have. By default, half of the files that the process may open.
    pub max_agent_connections: Option<usize>,
    /// The certificate and key, if the server terminates TLS itself.
    pub tls: Option<TlsFiles>,
    /// The proxies whose forwarding headers count.
    pub trusted_proxies: TrustedProxies,
    /// How many connections may be open. By default, as many as the limit of open files allows.
    pub max_connections: Option<usize>,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// Host names that MCP clients may use, in addition to those that `mcp::host_names` allows.
    pub mcp_hosts: Vec<String>,
    /// The single sign-on provider, if there is one.
    pub oidc: Option<OidcSettings>,
    /// The account that the first start creates.
    pub first_account: String,
    /// The e-mail address of the administrator that the first start creates.
    pub first_admin: String,
    /// How often the server checks whether the TLS certificate was replaced.
    pub certificates_every: Duration,
}

impl Config {
    /// The scheme of the server's own listener.
    pub(crate) fn scheme(&self) -> HttpScheme {
        if self.tls.is_some() { HttpScheme::Https } else { HttpScheme::Http }
    }

    /// The origin at which browsers and forges reach a server that listens on this address.
    pub fn origin_at(&self, address: SocketAddr) -> String {
        self.control.public_url.clone().unwrap_or_else(|| format!("{}://{address}", self.scheme().word()))
    }

    /// The default configuration, with the data in this directory.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> Config {
        let control = ControlConfig::in_directory(data_dir);
        Config {
            database: Address::Sqlite(control.data_dir.join("windlass.db")),
            control,
            secret_key: KeySource::DataDirectory,
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            agent_listen: None,
            max_agent_connections: None,
            tls: None,
            trusted_proxies: TrustedProxies::default(),
            max_connections: None,
            timeouts: Timeouts::default(),
            mcp_hosts: Vec::new(),
            oidc: None,
            first_account: "default".to_owned(),
            first_admin: "admin@localhost".to_owned(),
            certificates_every: Duration::from_secs(5),
        }
    }
}
