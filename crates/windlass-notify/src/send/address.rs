//! Where nothing may be sent: places from which a machine in a cloud learns its own secrets, and this machine itself.
//!
//! Names are resolved here and nowhere else, and what was checked is what is spoken to: a name that leads elsewhere a
//! moment later gains nothing. Private networks are allowed, because Alertmanager and mail servers live there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::Host;

use super::target::SendError;

/// Whether receivers may be spoken to without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// No.
    Refused,
    /// Yes, but only on this machine.
    OnThisMachine,
}

/// Addresses at which clouds tell a machine its secrets and that are not link-local.
const METADATA: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// What is wrong with sending to an address, if anything is.
pub(super) fn forbidden(address: IpAddr, plain: Plain) -> Option<&'static str> {
    let address = unwrapped(address);
    if METADATA.contains(&address) {
        return Some("where clouds keep secrets of machines");
    }
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let is_nobody = match address {
        IpAddr::V4(address) => address.octets()[0] == 0 || address.is_broadcast() || address.is_multicast(),
        IpAddr::V6(address) => address.is_unspecified() || address.is_multicast(),
    };
    match () {
        () if is_link_local => Some("a link-local address"),
        () if is_nobody => Some("no address of a receiver"),
        () if address.is_loopback() && plain == Plain::Refused => Some("this machine itself"),
        () => None,
    }
}

/// The address that is meant: IPv4 can be written as IPv6 in several ways.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let joined = |high: u16, low: u16| {
        let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(w, x, y, z))
    };
    match [a, b, c, d, e, f] {
        // ::ffff:a.b.c.d, and the older ::a.b.c.d, but not :: and ::1.
        [0, 0, 0, 0, 0, 0xffff] => joined(g, h),
        [0, 0, 0, 0, 0, 0] if g != 0 => joined(g, h),
        // NAT64 and 6to4.
        [0x64, 0xff9b, 0, 0, 0, 0] => joined(g, h),
        [0x2002, high, low, ..] => joined(high, low),
        _ => address,
    }
}

/// Every address of a host, or why nothing is sent there.
pub(super) async fn resolve(host: Host<&str>, port: u16, plain: Plain) -> Result<Vec<SocketAddr>, SendError> {
    let name = host.to_string();
    let found: Vec<SocketAddr> = match host {
        Host::Ipv4(address) => vec![SocketAddr::from((address, port))],
        Host::Ipv6(address) => vec![SocketAddr::from((address, port))],
        Host::Domain(domain) => {
            let found = tokio::net::lookup_host((domain, port)).await;
            found.map_err(|_| SendError::NotFound { host: name.clone() })?.collect()
        }
    };
    if found.is_empty() {
        return Err(SendError::NotFound { host: name });
    }
    match found.iter().find_map(|address| forbidden(address.ip(), plain)) {
        Some(what) => Err(SendError::Forbidden { host: name, what }),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_hold_secrets_of_machines_are_not_spoken_to_however_they_are_written() {
        for text in [
            "169.254.169.254",
            "169.254.170.2",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "100.100.100.200",
            "168.63.129.16",
            "0.0.0.0",
            "0.1.2.3",
            "::",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
        ] {
            let address = text.parse().unwrap();
            assert!(forbidden(address, Plain::OnThisMachine).is_some(), "{text}");
        }
        for text in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            let address = text.parse().unwrap();
            assert!(forbidden(address, Plain::Refused).is_some(), "{text}");
            assert!(forbidden(address, Plain::OnThisMachine).is_none(), "{text}");
        }
        for text in ["10.0.0.7", "192.168.1.1", "fd12::7", "203.0.113.7", "2001:db8::1"] {
            assert!(forbidden(text.parse().unwrap(), Plain::Refused).is_none(), "{text}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_refused_like_its_address() {
        let refused = resolve(Host::Domain("localhost"), 443, Plain::Refused).await.unwrap_err();
        let what = "this machine itself";
        assert_eq!(refused, SendError::Forbidden { host: "localhost".to_owned(), what });
        let refused = resolve(Host::Ipv4(Ipv4Addr::new(169, 254, 169, 254)), 80, Plain::OnThisMachine).await;
        assert!(matches!(refused, Err(SendError::Forbidden { .. })), "{refused:?}");
    }
}
