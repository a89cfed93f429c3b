//! What a server is started with.

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

/// Everything that can be configured.
#[derive(Clone, Debug)]
pub struct Config {
    /// What does not depend on how the server is asked.
    pub control: ControlConfig,
    /// Which database.
    pub database: Address,
    /// Where the secret key comes from.
    pub secret_key: KeySource,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The certificate and key with which it speaks TLS itself, if it does.
    pub tls: Option<TlsFiles>,
    /// The proxies whose word counts about where requests come from.
    pub trusted_proxies: TrustedProxies,
    /// How many connections may be open; if not given, as many as the limit of open files allows.
    pub max_connections: Option<usize>,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// Other names by which MCP clients may reach it, beside those that are known: see `mcp::host_names`.
    pub mcp_hosts: Vec<String>,
    /// Through which provider people sign in, if through any.
    pub oidc: Option<OidcSettings>,
    /// The account made at the first start.
    pub first_account: String,
    /// The e-mail address of the administrator made at the first start.
    pub first_admin: String,
    /// How often it is looked whether the TLS certificate was replaced.
    pub certificates_every: Duration,
}

impl Config {
    /// How the server itself is spoken to.
    pub(crate) fn scheme(&self) -> HttpScheme {
        if self.tls.is_some() { HttpScheme::Https } else { HttpScheme::Http }
    }

    /// Where browsers and forges reach a server that listens at an address.
    pub fn origin_at(&self, address: SocketAddr) -> String {
        self.control.public_url.clone().unwrap_or_else(|| format!("{}://{address}", self.scheme().word()))
    }

    /// A server with its data in this directory and everything else as it is by default.
    pub fn in_directory(data_dir: impl Into<PathBuf>) -> Config {
        let control = ControlConfig::in_directory(data_dir);
        Config {
            database: Address::Sqlite(control.data_dir.join("windlass.db")),
            control,
            secret_key: KeySource::DataDirectory,
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
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
