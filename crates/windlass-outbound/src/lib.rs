//! Connections that the server opens.
//!
//! Every host name is resolved here, and each of its addresses is checked against the operator's rules
//! (`windlass_core::address_guard`) before a connection is opened. The client connects to the addresses that were
//! checked: no name is resolved a second time, so changing a DNS record after the check has no effect. Every HTTP
//! client of the server is built here, with the same policy: no redirects, no referer, a time limit for connecting.

mod guard;
mod http;

pub use guard::{AddressGuard, Lookup, ResolveError};
pub use http::{
    Http, HttpClientError, HttpOptions, Proxies, TlsTrust, causes_of, refusal_of, refused_certificate,
};
