//! Every spelling of an address that the server must not connect to.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::prelude::*;

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap_or_else(|_| panic!("{text} is not an address"))
}

#[test]
fn loopback_link_local_and_metadata_addresses_are_refused_in_every_notation() {
    use AddressClass::{LinkLocal, Loopback, Metadata, Unusable};
    let table: &[(&str, AddressClass)] = &[
        ("127.0.0.1", Loopback),
        ("127.9.9.9", Loopback),
        ("::1", Loopback),
        ("::ffff:127.0.0.1", Loopback),
        ("::127.0.0.1", Loopback),
        ("::ffff:0:127.0.0.1", Loopback),
        ("64:ff9b::127.0.0.1", Loopback),
        ("64:ff9b:1::127.0.0.1", Loopback),
        ("64:ff9b:1:7f00:0:100::", Loopback),
        ("2002:7f00:1::", Loopback),
        ("2001:0:7f00:1::f7f7:f7f7", Loopback),
        ("2001:0:808:808::80ff:fffe", Loopback),
        ("fe80::5efe:127.0.0.1", LinkLocal),
        ("2001:db8::200:5efe:127.0.0.1", Loopback),
        ("169.254.1.1", LinkLocal),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("::ffff:169.254.1.1", LinkLocal),
        ("169.254.169.254", Metadata),
        ("169.254.170.2", Metadata),
        ("::ffff:169.254.169.254", Metadata),
        ("::169.254.169.254", Metadata),
        ("64:ff9b::169.254.169.254", Metadata),
        ("2002:a9fe:a9fe::1", Metadata),
        ("fe80::5efe:169.254.169.254", Metadata),
        ("fd00:ec2::254", Metadata),
        ("fd00:ec2::23", Metadata),
        ("fd20:ce::254", Metadata),
        ("fd00:42::42", Metadata),
        ("100.100.100.200", Metadata),
        ("168.63.129.16", Metadata),
        ("192.0.0.192", Metadata),
        ("0.0.0.0", Unusable),
        ("0.1.2.3", Unusable),
        ("::", Unusable),
        ("::ffff:0.0.0.0", Unusable),
        ("255.255.255.255", Unusable),
        ("240.0.0.1", Unusable),
        ("224.0.0.1", Unusable),
        ("ff02::1", Unusable),
    ];
    let rules = AddressRules::default();
    for (text, class) in table {
        assert_eq!(classify(ip(text)), *class, "{text}");
        assert!(rules.check("host", Some(443), ip(text)).is_err(), "{text}");
    }
}

#[test]
fn public_and_private_addresses_are_allowed_unless_private_ones_are_denied() {
    let rules = AddressRules::default();
    let strict = AddressRules::new(Vec::new(), PrivateAddresses::Refused);
    for text in ["203.0.113.7", "2001:db8::1", "8.8.8.8", "2600::1"] {
        assert_eq!(classify(ip(text)), AddressClass::Public, "{text}");
        assert_eq!(strict.check("host", Some(443), ip(text)), Ok(()), "{text}");
    }
    for text in [
        "10.0.0.7",
        "172.31.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "fd12::7",
        "fec0::1",
        "::ffff:10.0.0.7",
        "2002:a00:7::",
    ] {
        assert_eq!(classify(ip(text)), AddressClass::Private, "{text}");
        assert_eq!(rules.check("host", Some(443), ip(text)), Ok(()), "{text}");
        assert_eq!(strict.check("host", Some(443), ip(text)), Err(AddressClass::Private), "{text}");
    }
}

#[test]
fn the_operator_allows_by_name_address_or_network_and_nothing_else_comes_with_it() {
    let rules = |allowed: &[&str]| {
        let allowed = allowed.iter().map(|text| AllowedAddress::parse(text).unwrap()).collect();
        AddressRules::new(allowed, PrivateAddresses::Refused)
    };
    let may = |allowed: &[&str], host: &str, port: u16, address: &str| {
        rules(allowed).check(host, Some(port), ip(address)).is_ok()
    };
    for (allowed, host, port, address, expected) in [
        ("git.internal", "git.internal", 443, "127.0.0.1", true),
        ("git.internal", "GIT.internal.", 8443, "127.0.0.1", true),
        ("Git.Internal.", "git.internal", 443, "10.0.0.1", true),
        ("git.internal", "evil.git.internal", 443, "127.0.0.1", false),
        ("git.internal:443", "git.internal", 443, "127.0.0.1", true),
        ("git.internal:443", "git.internal", 22, "127.0.0.1", false),
        // A name does not cover a metadata address: otherwise whoever controls its DNS could get the machine's
        // credentials.
        ("git.internal", "git.internal", 443, "169.254.169.254", false),
        ("git.internal", "git.internal", 443, "::ffff:100.100.100.200", false),
        ("169.254.169.254", "git.internal", 80, "169.254.169.254", true),
        ("127.0.0.1", "anything", 443, "127.0.0.1", true),
        ("127.0.0.1", "anything", 443, "127.0.0.2", false),
        ("127.0.0.1:3000", "127.0.0.1", 3000, "127.0.0.1", true),
        ("127.0.0.1:3000", "127.0.0.1", 3001, "127.0.0.1", false),
        ("127.0.0.0/8", "localhost", 1, "127.3.2.1", true),
        ("127.0.0.0/8", "localhost", 1, "::ffff:127.3.2.1", true),
        ("127.0.0.0/8", "localhost", 1, "::1", false),
        ("::1", "localhost", 1, "::1", true),
        ("[::1]:22", "localhost", 22, "::1", true),
        ("[::1]:22", "localhost", 23, "::1", false),
        ("10.0.0.0/8", "git", 22, "10.1.2.3", true),
        ("10.0.0.0/8", "git", 22, "192.168.0.1", false),
    ] {
        assert_eq!(may(&[allowed], host, port, address), expected, "{allowed} {host}:{port} {address}");
    }
    for text in ["", "a b", "-x", ".x", "https://x", "x:99999", "[::1", "x/8", "127.0.0.1/33"] {
        assert_eq!(AllowedAddress::parse(text), None, "{text}");
    }
    let named = AddressRules::default().for_operator_host("vault.internal", Some(8200));
    assert!(named.check("vault.internal", Some(8200), ip("127.0.0.1")).is_ok());
    assert!(named.check("vault.internal", Some(8200), ip("169.254.169.254")).is_err());
    assert!(named.check("other.internal", Some(8200), ip("127.0.0.1")).is_err());
}

/// An IPv4 address embedded in an IPv6 address, in one of several ways.
fn wrapped(address: Ipv4Addr, way: usize) -> IpAddr {
    let bits = u128::from(u32::from(address));
    let high = |prefix: u128| Ipv6Addr::from(prefix << 112 | bits << 80);
    IpAddr::V6(match way {
        0 => return IpAddr::V4(address),
        1 => address.to_ipv6_mapped(),
        2 => Ipv6Addr::from(bits),
        3 => Ipv6Addr::from(0xffff_u128 << 48 | bits),
        4 => Ipv6Addr::from(0x0064_ff9b_u128 << 96 | bits),
        5 => Ipv6Addr::from(0x0064_ff9b_0001_u128 << 80 | bits),
        6 => high(0x2002),
        7 => Ipv6Addr::from(0x2001_0000_u128 << 96 | bits << 64 | 7),
        8 => Ipv6Addr::from(0x2001_0000_0808_0808_u128 << 64 | (!bits & 0xffff_ffff)),
        _ => Ipv6Addr::from(0x2001_0db8_u128 << 96 | 0x0200_5efe_u128 << 32 | bits),
    })
}

proptest! {
    #[test]
    fn a_forbidden_address_is_refused_in_every_notation(
        tail in any::<u32>(), prefix in 0..5_usize, way in 0..10_usize
    ) {
        let tail = tail.to_be_bytes();
        let address = match prefix {
            0 => Ipv4Addr::new(127, tail[1], tail[2], tail[3]),
            1 => Ipv4Addr::new(169, 254, tail[2], tail[3]),
            2 => Ipv4Addr::new(169, 254, 169, 254),
            3 => Ipv4Addr::new(100, 100, 100, 200),
            _ => Ipv4Addr::new(224 | (tail[0] & 0x1f), tail[1], tail[2], tail[3]),
        };
        let written = wrapped(address, way);
        prop_assert!(AddressRules::default().check("host", None, written).is_err(), "{} as {}", address, written);
    }
}
