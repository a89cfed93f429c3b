//! The origin of a request that passed proxies.
//!
//! A proxy appends the address of its client to `X-Forwarded-For` or `Forwarded`. Anyone can send these headers, so
//! they count only as far as trusted proxies wrote them: from the right, each address is trusted if the one to its
//! right is a trusted proxy. Everything further left is the client's own claim.

use std::net::IpAddr;

use ipnet::IpNet;

/// The most addresses examined in one header. No sensible chain of proxies is longer.
const MAX_HOPS: usize = 32;

/// The proxies whose headers count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Proxies in these networks.
    pub fn new(networks: Vec<IpNet>) -> TrustedProxies {
        TrustedProxies(networks)
    }

    /// Whether an address is that of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }
}

/// Parses a network such as `10.0.0.0/8`, or a single address.
pub fn read_network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let single = || text.parse::<IpAddr>().ok().map(|address| IpNet::from(address.to_canonical()));
    text.parse::<IpNet>()
        .ok()
        .or_else(single)
        .map(|network| network.trunc())
        .ok_or_else(|| format!("`{text}` is not a network: write 10.0.0.0/8, fd00::/8 or one address"))
}

/// The scheme of a request at the server or, behind proxies, at the outermost trusted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpScheme {
    /// Without TLS.
    Http,
    /// Over TLS.
    Https,
}

impl HttpScheme {
    /// The scheme as in URLs.
    pub fn word(self) -> &'static str {
        match self {
            HttpScheme::Http => "http",
            HttpScheme::Https => "https",
        }
    }

    fn read(text: &str) -> Option<HttpScheme> {
        if text.eq_ignore_ascii_case("https") {
            Some(HttpScheme::Https)
        } else if text.eq_ignore_ascii_case("http") {
            Some(HttpScheme::Http)
        } else {
            None
        }
    }
}

/// The forwarding headers of a request: the values of each header, in order.
#[derive(Clone, Debug, Default)]
pub struct ForwardedHeaders<'h> {
    /// `X-Forwarded-For`.
    pub x_forwarded_for: Vec<&'h str>,
    /// `X-Forwarded-Proto`.
    pub x_forwarded_proto: Vec<&'h str>,
    /// `Forwarded`, of RFC 7239.
    pub forwarded: Vec<&'h str>,
}

impl ForwardedHeaders<'_> {
    /// Whether the request has none of them.
    pub fn is_empty(&self) -> bool {
        self.x_forwarded_for.is_empty() && self.x_forwarded_proto.is_empty() && self.forwarded.is_empty()
    }
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The nearest address that is not a trusted proxy.
    pub address: IpAddr,
    /// The scheme that the client used, if the trusted proxy reports it.
    pub scheme: Option<HttpScheme>,
}

/// The origin of a request that arrived from `peer`.
///
/// If both headers exist and lead to different addresses, the client sent one of them through a proxy that only handles
/// the other. Then neither is used.
pub fn origin_of(peer: IpAddr, headers: &ForwardedHeaders<'_>, trusted: &TrustedProxies) -> RequestOrigin {
    let peer = peer.to_canonical();
    if !trusted.contains(peer) {
        return RequestOrigin { address: peer, scheme: None };
    }
    let listed = headers.x_forwarded_for.iter().flat_map(|value| value.split(','));
    let listed: Vec<Option<IpAddr>> = listed.map(read_node).collect();
    let elements = read_elements(&headers.forwarded);
    let nodes: Vec<Option<IpAddr>> = elements.iter().map(|element| element.address).collect();
    let address = match (listed.as_slice(), nodes.as_slice()) {
        (listed, []) => walk(peer, listed, trusted),
        ([], nodes) => walk(peer, nodes, trusted),
        (listed, nodes) => {
            let (one, other) = (walk(peer, listed, trusted), walk(peer, nodes, trusted));
            if one == other { one } else { peer }
        }
    };
    let protocols = headers.x_forwarded_proto.iter().flat_map(|value| value.split(','));
    let told = protocols.map(|text| HttpScheme::read(text.trim())).next_back();
    let scheme = told.unwrap_or_else(|| elements.last().and_then(|element| element.scheme));
    RequestOrigin { address, scheme }
}

/// The nearest address that is not a trusted proxy. An entry that cannot be parsed ends the walk.
fn walk(peer: IpAddr, entries: &[Option<IpAddr>], trusted: &TrustedProxies) -> IpAddr {
    let mut nearest = peer;
    for entry in entries.iter().rev().take(MAX_HOPS) {
        match entry {
            Some(address) if trusted.contains(nearest) => nearest = *address,
            _ => break,
        }
    }
    nearest
}

/// Reads `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7`, `[2001:db8::7]` and `[2001:db8::7]:4711`.
fn read_node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, after) = rest.split_once(']')?;
        let has_port = after.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
        let address: std::net::Ipv6Addr = inside.parse().ok().filter(|_| after.is_empty() || has_port)?;
        return Some(IpAddr::V6(address).to_canonical());
    }
    let alone = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<std::net::SocketAddrV4>().ok().map(|place| IpAddr::V4(*place.ip()));
    alone.or_else(with_port).map(|address| address.to_canonical())
}

/// The element of one proxy in a `Forwarded` header.
#[derive(Default)]
struct Element {
    address: Option<IpAddr>,
    scheme: Option<HttpScheme>,
}

fn read_elements(values: &[&str]) -> Vec<Element> {
    values.iter().flat_map(|value| split_outside_quotes(value, ',')).map(read_element).collect()
}

fn read_element(text: &str) -> Element {
    let mut element = Element::default();
    for pair in split_outside_quotes(text, ';') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = unquote(value.trim());
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => element.address = read_node(&value),
            "proto" => element.scheme = HttpScheme::read(&value),
            _ => {}
        }
    }
    element
}

/// Splits a text at separators outside of quotes.
fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            found if found == separator && !is_quoted => {
                parts.push(&text[begin..at]);
                begin = at + separator.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// A quoted text without its quotes and escapes; any other text unchanged.
fn unquote(text: &str) -> String {
    let Some(inside) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return text.to_owned();
    };
    let (mut plain, mut characters) = (String::new(), inside.chars());
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.extend(characters.next()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn trusted() -> TrustedProxies {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|text| read_network(text).expect("a network"));
        TrustedProxies::new(networks.into())
    }

    fn listed(peer: &str, values: &[&str]) -> String {
        let headers = ForwardedHeaders { x_forwarded_for: values.to_vec(), ..ForwardedHeaders::default() };
        origin_of(ip(peer), &headers, &trusted()).address.to_string()
    }

    fn forwarded(peer: &str, values: &[&str]) -> RequestOrigin {
        let headers = ForwardedHeaders { forwarded: values.to_vec(), ..ForwardedHeaders::default() };
        origin_of(ip(peer), &headers, &trusted())
    }

    #[test]
    fn only_what_trusted_proxies_wrote_is_believed() {
        assert_eq!(listed("192.0.2.1", &["198.51.100.9"]), "192.0.2.1", "a stranger names nobody else");
        assert_eq!(listed("10.0.0.1", &["198.51.100.9"]), "198.51.100.9");
        assert_eq!(listed("10.0.0.1", &["1.2.3.4, 198.51.100.9"]), "198.51.100.9", "the client's own words");
        assert_eq!(listed("10.0.0.1", &["1.2.3.4", "198.51.100.9, 10.0.0.2"]), "198.51.100.9");
        assert_eq!(listed("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3", "nobody but proxies");
        assert_eq!(listed("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(listed("::ffff:10.0.0.1", &["198.51.100.9"]), "198.51.100.9");
        assert_eq!(listed("fd00::1", &["[2001:db8::7]:4711"]), "2001:db8::7");
    }

    #[test]
    fn an_entry_that_cannot_be_read_ends_the_walk() {
        for bad in ["unknown", "", "_hidden", "198.51.100.9:port", "[::1", "[::1]x", "10.0.0.2.3"] {
            assert_eq!(listed("10.0.0.1", &[&format!("1.2.3.4, {bad}")]), "10.0.0.1", "{bad}");
        }
    }

    #[test]
    fn the_standard_header_is_read_with_quotes_ports_and_protocols() {
        let found =
            forwarded("10.0.0.1", &["for=1.2.3.4, For=\"[2001:db8::7]:4711\";proto=https;by=10.0.0.1"]);
        assert_eq!(found, RequestOrigin { address: ip("2001:db8::7"), scheme: Some(HttpScheme::Https) });
        let found = forwarded("10.0.0.1", &["for=\"1.2.3.4, for=5.6.7.8\";proto=http"]);
        assert_eq!(
            found,
            RequestOrigin { address: ip("10.0.0.1"), scheme: Some(HttpScheme::Http) },
            "one quoted text"
        );
        let found = forwarded("192.0.2.1", &["for=1.2.3.4;proto=https"]);
        assert_eq!(found, RequestOrigin { address: ip("192.0.2.1"), scheme: None });
    }

    #[test]
    fn two_headers_that_disagree_are_both_disbelieved() {
        let both = |standard| ForwardedHeaders {
            x_forwarded_for: vec!["198.51.100.9"],
            x_forwarded_proto: vec!["http, https"],
            forwarded: vec![standard],
        };
        let found = origin_of(ip("10.0.0.1"), &both("for=1.2.3.4"), &trusted());
        assert_eq!(found, RequestOrigin { address: ip("10.0.0.1"), scheme: Some(HttpScheme::Https) });
        let found = origin_of(ip("10.0.0.1"), &both("for=198.51.100.9"), &trusted());
        assert_eq!(found.address, ip("198.51.100.9"));
    }

    #[test]
    fn networks_are_read_in_both_spellings() {
        assert_eq!(
            read_network("10.1.2.3/8").map(|network| network.to_string()).as_deref(),
            Ok("10.0.0.0/8")
        );
        assert_eq!(read_network("fd00::1").map(|network| network.to_string()).as_deref(), Ok("fd00::1/128"));
        assert!(read_network("proxy.example.com").is_err());
    }
}
