//! Which network addresses the server may connect to on behalf of an account.
//!
//! Members of an account choose repository URLs, forge APIs and notification receivers, but the server's machine opens
//! the connection. It must not reach that machine itself, its link, or the metadata services from which clouds give a
//! machine its credentials. The check uses the address that a name resolved to, so that no spelling of a host bypasses
//! it. Pure: `windlass-outbound` resolves and connects.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The class of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressClass {
    /// A public address.
    Public,
    /// An address in a private network, where git servers often are.
    Private,
    /// This machine.
    Loopback,
    /// An address on the same link.
    LinkLocal,
    /// A cloud metadata service, which hands out a machine's credentials.
    Metadata,
    /// Not the address of a single host: unspecified, multicast, broadcast or reserved.
    Unusable,
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressClass::Public => "a public address",
            AddressClass::Private => "a private address",
            AddressClass::Loopback => "a loopback address",
            AddressClass::LinkLocal => "a link-local address",
            AddressClass::Metadata => "a cloud metadata address",
            AddressClass::Unusable => "not a host address",
        })
    }
}

/// The addresses of metadata services. They include link-local ones, so that an exception for link-local addresses does
/// not cover them.
const METADATA_NETWORKS: [IpAddr; 11] = [
    // AWS, Azure, Google, DigitalOcean, Hetzner, OpenStack and most others; AWS's tasks and pods; Tencent.
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 0, 23)),
    // Alibaba, Azure's wire server, Oracle.
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    // AWS, AWS's pods, Google and Scaleway over IPv6.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)),
];

/// The class of an address that embeds no other.
fn class_of(address: IpAddr) -> AddressClass {
    if METADATA_NETWORKS.contains(&address) {
        return AddressClass::Metadata;
    }
    match address {
        IpAddr::V4(v4) => class_of_v4(v4),
        IpAddr::V6(v6) => class_of_v6(v6),
    }
}

fn class_of_v4(address: Ipv4Addr) -> AddressClass {
    let [first, second, third, _] = address.octets();
    match (first, second, third) {
        (0 | 224.., ..) => AddressClass::Unusable,
        (127, ..) => AddressClass::Loopback,
        (169, 254, _) => AddressClass::LinkLocal,
        // RFC 1918, carrier-grade NAT, IETF protocol assignments, benchmarking.
        (10, ..)
        | (172, 16..=31, _)
        | (192, 168, _)
        | (100, 64..=127, _)
        | (192, 0, 0)
        | (198, 18..=19, _) => AddressClass::Private,
        _ => AddressClass::Public,
    }
}

fn class_of_v6(address: Ipv6Addr) -> AddressClass {
    let first = address.segments()[0];
    match () {
        () if address.is_loopback() => AddressClass::Loopback,
        () if address.is_unspecified() || address.is_multicast() => AddressClass::Unusable,
        () if first & 0xffc0 == 0xfe80 => AddressClass::LinkLocal,
        // Unique local addresses, and the site-local ones before them.
        () if first & 0xfe00 == 0xfc00 || first & 0xffc0 == 0xfec0 => AddressClass::Private,
        () => AddressClass::Public,
    }
}

/// An address, and every IPv4 address that a router, a tunnel or the operating system may interpret it as.
fn embedded_addresses(address: IpAddr) -> Vec<IpAddr> {
    let IpAddr::V6(v6) = address else { return vec![address] };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let joined = |high: u16, low: u16| {
        let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(w, x, y, z))
    };
    let is_plain_v6 = v6.is_loopback() || v6.is_unspecified();
    let mut found = Vec::new();
    match [a, b, c, d, e, f] {
        // IPv4-mapped: the operating system connects to the IPv4 address, and to nothing else.
        [0, 0, 0, 0, 0, 0xffff] => return vec![joined(g, h)],
        // IPv4-compatible (but not :: and ::1), and IPv4-translated.
        [0, 0, 0, 0, 0, 0] if !is_plain_v6 => found.push(joined(g, h)),
        [0, 0, 0, 0, 0xffff, 0] => found.push(joined(g, h)),
        // NAT64: the well-known prefix, and the local one with the address at either of its two places.
        [0x64, 0xff9b, 0, 0, 0, 0] => found.push(joined(g, h)),
        [0x64, 0xff9b, 1, high, middle, low] => {
            let places = [joined(g, h), joined(high, (middle << 8) | (low >> 8))];
            found.extend(places.into_iter().filter(|place| !place.is_unspecified()));
        }
        // 6to4, and Teredo's server and (inverted) client.
        [0x2002, high, low, ..] => found.push(joined(high, low)),
        [0x2001, 0, high, low, ..] => {
            found.push(joined(high, low));
            found.push(joined(!g, !h));
        }
        _ => {}
    }
    // ISATAP, with and without the bit for globally unique addresses.
    if matches!((e, f), (0 | 0x200, 0x5efe)) {
        found.push(joined(g, h));
    }
    found.push(address);
    found
}

/// The class of an address, or of the worst one that it may be interpreted as.
pub fn classify(address: IpAddr) -> AddressClass {
    embedded_addresses(address).into_iter().map(class_of).max().unwrap_or(AddressClass::Unusable)
}

/// An exception by the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedAddress {
    /// A host name with any loopback, link-local or private address. Metadata addresses are not covered: they must be
    /// allowed as addresses.
    Name {
        /// The name in lower case, without a dot at the end.
        host: String,
        /// The only port, if one was named.
        port: Option<u16>,
    },
    /// A range of addresses.
    Network {
        /// The range.
        network: IpNet,
        /// The only port, if one was named.
        port: Option<u16>,
    },
}

impl AllowedAddress {
    /// Parses `HOST`, `HOST:PORT`, an IP address with or without a port (IPv6 in brackets then), or a network such as
    /// `127.0.0.0/8`.
    pub fn parse(text: &str) -> Option<AllowedAddress> {
        let text = text.trim();
        if let Ok(network) = text.parse::<IpNet>() {
            return Some(AllowedAddress::Network { network: network.trunc(), port: None });
        }
        let (host, port) = split_port(text)?;
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(AllowedAddress::Network { network: IpNet::from(address), port });
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        let host = normalize_host(host);
        let is_host = !host.is_empty() && !host.starts_with(['-', '.']) && host.chars().all(is_name);
        is_host.then_some(AllowedAddress::Name { host, port })
    }

    /// This machine, over IPv4 and IPv6.
    pub fn loopback() -> [AllowedAddress; 2] {
        let v4 = Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8);
        let v6 = Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128);
        [IpNet::V4(v4), IpNet::V6(v6)].map(|network| AllowedAddress::Network { network, port: None })
    }

    fn covers(&self, host: &str, port: Option<u16>, address: IpAddr) -> bool {
        let fits_port = |named: Option<u16>| named.is_none() || port.is_none() || named == port;
        match self {
            AllowedAddress::Name { host: named, port } => {
                let is_coverable =
                    !matches!(class_of(address), AddressClass::Metadata | AddressClass::Unusable);
                is_coverable && fits_port(*port) && *named == normalize_host(host)
            }
            AllowedAddress::Network { network, port } => fits_port(*port) && network.contains(&address),
        }
    }
}

/// Splits `host`, `host:port`, `[ipv6]` and `[ipv6]:port`; an IPv6 address without brackets has no port.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// A host in the form used for comparison: lower case, without brackets and without a dot at the end.
pub fn normalize_host(host: &str) -> String {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.strip_suffix('.').unwrap_or(bare).to_ascii_lowercase()
}

/// Whether the server may connect to private networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrivateAddresses {
    /// It may: most git servers that are not public are there.
    #[default]
    Allowed,
    /// Only where the operator allows it.
    Refused,
}

/// Which addresses the server may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressRules {
    allowed: Vec<AllowedAddress>,
    private: PrivateAddresses,
}

impl AddressRules {
    /// The default rules with these exceptions.
    pub fn new(allowed: Vec<AllowedAddress>, private: PrivateAddresses) -> AddressRules {
        AddressRules { allowed, private }
    }

    /// The same rules with more exceptions.
    pub fn with_allowed(&self, more: impl IntoIterator<Item = AllowedAddress>) -> AddressRules {
        let mut rules = self.clone();
        rules.allowed.extend(more);
        rules
    }

    /// The rules for a host that the operator named: it may have any address except a metadata address, unless the
    /// operator named that address. The rules for every other host stay the same.
    pub fn for_operator_host(&self, host: &str, port: Option<u16>) -> AddressRules {
        let host = normalize_host(host);
        self.with_allowed([match host.parse::<IpAddr>() {
            Ok(address) => AllowedAddress::Network { network: IpNet::from(address), port },
            Err(_) => AllowedAddress::Name { host, port },
        }])
    }

    /// The same rules, with this machine allowed.
    pub fn with_loopback(&self) -> AddressRules {
        self.with_allowed(AllowedAddress::loopback())
    }

    /// Whether the server may connect to a host that resolved to an address; the error is the class of a refused
    /// address. Without a port, exceptions for a single port apply as well: the caller has checked the port.
    pub fn check(&self, host: &str, port: Option<u16>, address: IpAddr) -> Result<(), AddressClass> {
        let refused = embedded_addresses(address).into_iter().find(|meaning| {
            let is_fine = match class_of(*meaning) {
                AddressClass::Public => true,
                AddressClass::Private => self.private == PrivateAddresses::Allowed,
                _ => false,
            };
            !is_fine && !self.allowed.iter().any(|allowed| allowed.covers(host, port, *meaning))
        });
        match refused {
            Some(meaning) => Err(class_of(meaning)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "address_guard_tests.rs"]
mod tests;
