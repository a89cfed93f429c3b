//! Addresses, networks, endpoints and URLs.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use super::checked_text;
use crate::quote::quoted;
use crate::secret;
use crate::shape::{InvalidText, TextValue};

/// A network in CIDR notation, without host bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cidr(pub IpNet);

impl Cidr {
    /// Whether the network contains the address.
    pub fn contains(&self, address: &IpAddress) -> bool {
        self.0.contains(&address.0)
    }

    /// Whether the two networks overlap.
    pub fn overlaps(&self, other: &Cidr) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TextValue for Cidr {
    const WHAT: &'static str = "a network in CIDR notation";
    const PATTERN: Option<&'static str> = Some("^[0-9a-fA-F:.]+/[0-9]{1,3}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let not_a_network = || {
            InvalidText::value(format!("{} is not a network", quoted(text)))
                .help("write it like `10.20.0.0/16` or `fd12:3456:789a::/64`")
        };
        if !text.contains('/') {
            return Err(not_a_network());
        }
        let network: IpNet = text.parse().map_err(|_| not_a_network())?;
        if network.trunc() != network {
            return Err(InvalidText::value(format!("{} has bits set beyond its prefix", quoted(text)))
                .help(format!("the network is `{}`", network.trunc())));
        }
        Ok(Cidr(network))
    }
}

/// An IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IpAddress(pub IpAddr);

impl fmt::Display for IpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl TextValue for IpAddress {
    const WHAT: &'static str = "an IP address";
    const PATTERN: Option<&'static str> = Some("^[0-9a-fA-F:.]+$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        text.parse().map(IpAddress).map_err(|_| {
            InvalidText::value(format!("{} is not an IP address", quoted(text)))
                .help("write it like `10.20.0.7` or `fd12:3456:789a::7`, without a prefix length")
        })
    }
}

/// A host and port that others can reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerEndpoint {
    host: String,
    port: u16,
}

impl fmt::Display for PeerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl TextValue for PeerEndpoint {
    const WHAT: &'static str = "host:port";
    const PATTERN: Option<&'static str> = Some("^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9.-]+):[0-9]{1,5}$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let complaint = || {
            InvalidText::value(format!("{} is not host:port", quoted(text)))
                .help("write it like `203.0.113.7:51820`, `hub.example.com:51820` or `[2001:db8::7]:51820`")
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(complaint)?;
        let port = port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(complaint)?;
        let host = match host.strip_prefix('[') {
            Some(inner) => {
                let inner = inner.strip_suffix(']').ok_or_else(complaint)?;
                inner.parse::<std::net::Ipv6Addr>().map_err(|_| complaint())?.to_string()
            }
            None if host.contains(':') => return Err(complaint()),
            None => host.to_ascii_lowercase(),
        };
        let is_name = super::Hostname::read(&host).is_ok();
        if is_name || host.parse::<IpAddr>().is_ok() {
            Ok(PeerEndpoint { host, port })
        } else {
            Err(complaint())
        }
    }
}

checked_text! {
    /// An https URL without credentials.
    HttpsUrl: "an https URL", Some("^(https|oci)://[^\\s@]+$"), check_url
}

checked_text! {
    /// The SHA-256 fingerprint of a key.
    KeyFingerprint: "a key fingerprint", Some("^sha256:[0-9a-f]{64}$"), check_fingerprint
}

fn check_url(text: &str) -> Result<(), InvalidText> {
    if secret::without_secrets(text) != text {
        // The text is not repeated: it contains a credential.
        return Err(
            InvalidText::value("the URL contains credentials").help("store them in Vault, not in the URL")
        );
    }
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("oci://"));
    let Some(rest) = rest else {
        return Err(InvalidText::value(format!("{} is not an https URL", quoted(text)))
            .help("begin with `https://` (or `oci://` for a chart registry)"));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let ends_well = !host.is_empty() && !host.starts_with('-');
    if !ends_well || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(InvalidText::value(format!("{} is not an https URL", quoted(text)))
            .help("write it like `https://control.example.com`"));
    }
    Ok(())
}

fn check_fingerprint(text: &str) -> Result<(), InvalidText> {
    let hex = text.strip_prefix("sha256:").unwrap_or_default();
    if hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Ok(());
    }
    Err(InvalidText::value(format!("{} is not a fingerprint", quoted(text)))
        .help("write `sha256:` and 64 lower-case hex digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_told_apart_from_addresses_and_host_bits() {
        assert!(Cidr::read("10.0.0.0/8").is_ok());
        assert_eq!(Cidr::read("FD12::/64").unwrap().to_string(), "fd12::/64");
        assert_eq!(Cidr::read("10.0.0.1/8").unwrap_err().help.unwrap(), "the network is `10.0.0.0/8`");
        assert!(Cidr::read("10.0.0.1").is_err());
    }

    #[test]
    fn endpoints_read_names_addresses_and_brackets() {
        for (text, printed) in [
            ("203.0.113.7:51820", "203.0.113.7:51820"),
            ("Hub.example:1", "hub.example:1"),
            ("[2001:DB8::7]:51820", "[2001:db8::7]:51820"),
        ] {
            assert_eq!(PeerEndpoint::read(text).unwrap().to_string(), printed);
        }
        for text in ["hub", "hub:0", "hub:70000", "2001:db8::7:51820", "-x:1", "a b:1"] {
            assert!(PeerEndpoint::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls_with_credentials_are_refused_without_repeating_them() {
        let complaint = HttpsUrl::read("https://user:hunter2@example.com").unwrap_err();
        assert!(!format!("{complaint:?}").contains("hunter2"));
        let complaint = HttpsUrl::read("http://user:hunter2@example.com").unwrap_err();
        assert!(!format!("{complaint:?}").contains("hunter2"));
        assert!(HttpsUrl::read("http://example.com").is_err());
        assert!(HttpsUrl::read("oci://registry.example.com/charts").is_ok());
    }
}
