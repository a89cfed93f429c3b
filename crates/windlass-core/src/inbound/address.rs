//! Network addresses as limits count them.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// The addresses that limits count as one: an IPv4 address, or the /64 of an IPv6 address, which one subscriber can use
/// as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressBlock(IpAddr);

impl AddressBlock {
    /// The block of an address. An IPv4-mapped IPv6 address counts as the IPv4 address.
    pub fn of(address: IpAddr) -> AddressBlock {
        match address.to_canonical() {
            IpAddr::V4(address) => AddressBlock(IpAddr::V4(address)),
            IpAddr::V6(address) => {
                AddressBlock(IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))))
            }
        }
    }

    /// The block of an address given as text. All invalid texts count as one block.
    pub fn of_text(address: &str) -> AddressBlock {
        AddressBlock::of(address.parse().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)))
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => write!(f, "{address}/64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_counts_alone_and_an_ipv6_address_with_its_64() {
        let block = |text: &str| AddressBlock::of_text(text).to_string();
        assert_eq!(block("192.0.2.7"), "192.0.2.7");
        assert_eq!(block("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(block("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
        assert_eq!(block("2001:db8:1:2::9"), block("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(block("2001:db8:1:3::9"), block("2001:db8:1:2::9"));
        assert_eq!(block("unknown"), block(""));
    }
}
