//! The state that all HTTP handlers share: the control plane, the connections, and the limits on sign-ins and streams.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_control::control::Control;
use windlass_core::inbound::connections::ConnectionLimits;
use windlass_oidc::Oidc;

use crate::config::Config;
use crate::connections::{Connections, limits_of_process};
use crate::limits::password_permits::PasswordPermits;
use crate::limits::stream_slots::EventStreamSlots;

/// A running server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    control: Control,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: Config,
    password_permits: PasswordPermits,
    connections: Arc<Connections>,
    untrusted_proxy_warned: AtomicBool,
    stream_slots: EventStreamSlots,
    oidc: Option<Oidc>,
}

/// A server has every method of the control plane.
impl Deref for Server {
    type Target = Control;

    fn deref(&self) -> &Control {
        &self.control
    }
}

impl Server {
    pub(crate) fn new(config: Config, control: Control, oidc: Option<Oidc>) -> Server {
        let limits = config.max_connections.map_or_else(limits_of_process, ConnectionLimits::of_total);
        let inner = Inner {
            password_permits: PasswordPermits::default(),
            connections: Arc::new(Connections::new(limits, config.timeouts)),
            untrusted_proxy_warned: AtomicBool::new(false),
            stream_slots: EventStreamSlots::new(limits.total / 2),
            oidc,
            config,
        };
        Server { control, inner: Arc::new(inner) }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Logs once that requests seem to pass a proxy that is not trusted: then all clients behind it count as one address.
    pub(crate) fn warn_of_untrusted_proxy(&self, address: IpAddr) {
        if !self.inner.untrusted_proxy_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %address,
                "requests have forwarding headers, but come from an address that is not a trusted proxy; if it is \
                    your proxy, add it with --trusted-proxy: until then, all clients behind it count as one address"
            );
        }
    }

    /// The open connections.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.inner.connections
    }

    /// The slots for event streams.
    pub(crate) fn stream_slots(&self) -> &EventStreamSlots {
        &self.inner.stream_slots
    }

    /// The permits to verify a password.
    pub(crate) fn password_permits(&self) -> &PasswordPermits {
        &self.inner.password_permits
    }

    /// The single sign-on provider, if there is one.
    pub(crate) fn oidc(&self) -> Option<&Oidc> {
        self.inner.oidc.as_ref()
    }
}
