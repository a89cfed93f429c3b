//! Connections that the server makes.
//!
//! Every host that is connected to is resolved here, and each of its addresses is checked against the operator's rules
//! (`windlass_core::address_guard`) before anything connects. What was checked is what is connected to: no name is
//! resolved a second time, so a name that leads elsewhere a moment later gains nothing. Every HTTP client of the server
//! is made here, with the same policy: no redirects, no referer, bounded time to connect.

mod guard;
mod http;

pub use guard::{AddressGuard, Lookup, ResolveError};
pub use http::{
    Http, HttpClientError, HttpOptions, Proxies, TlsTrust, causes_of, refusal_of, refused_certificate,
};
