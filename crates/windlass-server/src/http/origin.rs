//! The origin of a request. The audit log, the limits and the cookies all use the one that is determined here.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr};

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap};
use windlass_core::inbound::forwarded::{ForwardedHeaders, HttpScheme, origin_of};

use crate::connections::PeerAddress;
use crate::state::Server;

/// The origin of a request.
#[derive(Clone, Debug)]
pub(crate) struct ClientOrigin {
    /// The client's address. Behind proxies, the one that trusted proxies report.
    pub(crate) address: String,
    /// The scheme that the client used.
    pub(crate) scheme: HttpScheme,
}

/// Determines the origin of a request. A request of an MCP tool already has the origin of the tool's caller.
pub(super) fn of(server: &Server, request: &Request) -> ClientOrigin {
    if let Some(known) = request.extensions().get::<ClientOrigin>() {
        return known.clone();
    }
    let peer = request.extensions().get::<PeerAddress>();
    let address = peer.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.address.ip());
    let headers = forwarded_headers(request.headers());
    let trusted = &server.config().trusted_proxies;
    let found = origin_of(address, &headers, trusted);
    if !headers.is_empty() && !trusted.contains(address) {
        server.warn_of_untrusted_proxy(address);
    }
    let scheme = found.scheme.or(peer.map(|peer| peer.scheme)).unwrap_or(HttpScheme::Http);
    ClientOrigin { address: found.address.to_string(), scheme }
}

/// The address of the client.
pub(crate) fn address_of(request: &Request) -> String {
    request.extensions().get::<ClientOrigin>().map(|origin| origin.address.clone()).unwrap_or_default()
}

/// The scheme for cookies and links: HTTPS if the public URL has it, if the server terminates TLS itself, or if a trusted
/// proxy reports it.
pub(crate) fn scheme_of(server: &Server, extensions: &Extensions) -> HttpScheme {
    let config = server.config();
    let is_public = config.control.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    let is_https = extensions.get::<ClientOrigin>().is_some_and(|origin| origin.scheme == HttpScheme::Https);
    if is_public || config.tls.is_some() || is_https { HttpScheme::Https } else { HttpScheme::Http }
}

/// The scheme for cookies and links, as an extractor for handlers.
pub(crate) struct ClientScheme(pub(crate) HttpScheme);

impl FromRequestParts<Server> for ClientScheme {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<ClientScheme, Infallible> {
        Ok(ClientScheme(scheme_of(server, &parts.extensions)))
    }
}

fn forwarded_headers(headers: &HeaderMap) -> ForwardedHeaders<'_> {
    // A value that is not text counts as an unreadable entry.
    let all = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect();
    ForwardedHeaders {
        x_forwarded_for: all("x-forwarded-for"),
        x_forwarded_proto: all("x-forwarded-proto"),
        forwarded: all("forwarded"),
    }
}
