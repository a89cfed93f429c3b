//! What everything that speaks HTTP shares: the control plane, and who is connected and signs in.

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
    password_turns: PasswordPermits,
    connections: Arc<Connections>,
    untrusted_proxy_told: AtomicBool,
    stream_places: EventStreamSlots,
    oidc: Option<Oidc>,
}

/// What is asked of the control plane can be asked of the server.
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
            password_turns: PasswordPermits::default(),
            connections: Arc::new(Connections::new(limits, config.timeouts)),
            untrusted_proxy_told: AtomicBool::new(false),
            stream_places: EventStreamSlots::new(limits.total / 2),
            oidc,
            config,
        };
        Server { control, inner: Arc::new(inner) }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Says, once, that requests seem to come through a proxy that is not trusted: then everybody behind it is one address.
    pub(crate) fn warn_of_untrusted_proxy(&self, address: IpAddr) {
        if !self.inner.untrusted_proxy_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %address,
                "requests have forwarding headers, but come from an address that is not a trusted proxy; if it is \
                    your proxy, add it with --trusted-proxy: until then, all clients behind it count as one address"
            );
        }
    }

    /// Every open connection.
    pub(crate) fn connections(&self) -> &Arc<Connections> {
        &self.inner.connections
    }

    /// Room for streams of events.
    pub(crate) fn stream_places(&self) -> &EventStreamSlots {
        &self.inner.stream_places
    }

    /// Turns to have a password verified.
    pub(crate) fn password_turns(&self) -> &PasswordPermits {
        &self.inner.password_turns
    }

    /// The provider through which people sign in.
    pub(crate) fn oidc(&self) -> Option<&Oidc> {
        self.inner.oidc.as_ref()
    }
}
