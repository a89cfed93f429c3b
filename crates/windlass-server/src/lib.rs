//! The control plane: loops, HTTP and authentication.
//!
//! Loops are load → decide → save: they read rows, call a core function, and write in one transaction. They take no
//! input but rows; a timer or a nudge wakes them, and running one twice changes nothing. Requests write rows and nudge.

mod allowance;
mod apply;
mod ask_again;
mod auth;
mod checkpoint;
mod clock;
mod config;
mod connections;
mod contents;
mod control;
mod control_config;
mod crash;
mod credential_binding;
mod decide;
mod direct;
mod drift;
mod ending;
mod fair_turns;
mod first_start;
mod forge;
#[cfg(test)]
mod gate_machine;
mod gatekeeper;
mod grant;
mod holdings;
mod http;
mod keys;
mod loops;
mod lost_approver;
mod mcp;
mod notify;
mod numbers;
mod offer;
mod oidc;
mod once;
mod payload;
mod preview;
mod quarantine;
mod recover;
mod refusal;
mod regate;
mod server;
mod set_approvals;
mod start;
mod sync;
mod telemetry;
mod tell;
mod web;
mod webhook;
mod world;

pub use checkpoint::{
    CheckpointFault, CheckpointSettings, CheckpointWebhook, WebhookAddressError, check_checkpoints,
    first_fault,
};
pub use config::Config;
pub use connections::{Timeouts, TlsError, TlsFiles};
pub use control_config::{ControlConfig, Gitea, GiteaError, Rhythm, credentials_in, credentials_in_vault};
pub use crash::{
    CRASH_POINTS, NOTIFY_CRASH_POINTS, PLAN_CRASH_POINTS, PREVIEW_CRASH_POINTS, REQUEST_CRASH_POINTS,
};
pub use ipnet::IpNet as TrustedNetwork;
pub use keys::{KeyError, KeySource, RotatedKey, check_key, fingerprint_of, reset_key, rotate_key};
pub use windlass_core::inbound::forwarded::{TrustedProxies, read_network};
pub use windlass_notify::Plain;
pub use windlass_secrets::{Credentials, Login, SettingsError, VaultSettings};
pub use windlass_source::Insecure;

pub use numbers::metrics_page;
#[cfg(feature = "otlp")]
pub use telemetry::{Telemetry, TelemetryError};

pub use first_start::{FirstLogin, FirstStartError};
pub use oidc::{Grant, OidcSettings, OidcSettingsError, Passwords};
pub use recover::{Recovery, RecoveryError, TokenFate, recover_admin};
pub use start::{Running, StartError, make_private, open_lock, start};
