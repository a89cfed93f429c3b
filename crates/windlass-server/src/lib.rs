//! The control plane over HTTP: start-up, authentication, the API, the web app and MCP, each thin over `windlass-control`.

mod agent_listener;
mod auth;
mod config;
mod connections;
mod erased;
#[cfg(test)]
mod gate_machine;
mod http;
mod limits;
mod mcp;
#[cfg(test)]
mod node_reports;
mod routes;
mod start;
mod state;
mod telemetry;
mod web;

pub use agent_listener::tls::AgentTlsError;
pub use config::Config;
pub use connections::Timeouts;
pub use connections::tls::{TlsError, TlsFiles};
pub use ipnet::IpNet as TrustedNetwork;
pub use start::{RunningServer, StartError, make_private, open_lock, start};
#[cfg(feature = "otlp")]
pub use telemetry::{Telemetry, TelemetryError};
pub use windlass_control::archive::error::ArchiveError;
pub use windlass_control::archive::file::{ArchiveHeader, ArchivePlace, VerifiedArchive, read_archive};
pub use windlass_control::archive::{
    ArchiveChain, ArchiveReport, ArchiveRequest, ServerPlace, archive_audit,
};
pub use windlass_control::ask::first_start::{FirstLogin, FirstStartError};
pub use windlass_control::ask::recover::{Recovery, RecoveryError, TokenHandling, recover_admin};
pub use windlass_control::checkpoint::sign::check_checkpoints;
pub use windlass_control::checkpoint::trust::{CheckpointFault, first_fault};
pub use windlass_control::config::checkpoints::{CheckpointSettings, CheckpointWebhook, WebhookAddressError};
pub use windlass_control::config::gitea::{Gitea, GiteaError};
pub use windlass_control::config::{ControlConfig, Intervals, credentials_in, credentials_in_vault};
pub use windlass_control::crash::{
    CRASH_POINTS, NOTIFY_CRASH_POINTS, PLAN_CRASH_POINTS, PREVIEW_CRASH_POINTS, REQUEST_CRASH_POINTS,
};
pub use windlass_control::keys::KeySource;
pub use windlass_control::keys::change::{RotatedKey, check_key, fingerprint_of, reset_key, rotate_key};
pub use windlass_control::keys::error::KeyError;
pub use windlass_control::metrics::metrics_page;
pub use windlass_core::inbound::forwarded::{TrustedProxies, read_network};
pub use windlass_notify::PlaintextPolicy;
pub use windlass_oidc::settings::{GroupGrantSetting, OidcSettings, OidcSettingsError, PasswordPolicy};
pub use windlass_secrets::{CredentialStore, SettingsError, VaultLogin, VaultSettings};
pub use windlass_source::InsecureUrls;
