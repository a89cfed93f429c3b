//! Options of a server about the addresses it connects to for accounts.

use std::time::Duration;

use clap::Args;
use windlass_core::address_guard::AllowedAddress;

use super::time::read_time_or_none;

/// Where repositories, forges and notification receivers may be.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Addresses")]
pub(crate) struct AddressOptions {
    /// Allow accounts to use this address, even if it is a loopback, link-local or metadata address: HOST, HOST:PORT,
    /// an IP address or a network such as 127.0.0.0/8. A host name does not cover metadata addresses. May be given more
    /// than once.
    #[arg(long, env = "WINDLASS_ALLOW_ADDRESSES", value_name = "ADDRESS", value_delimiter = ',',
          value_parser = read_address)]
    pub(crate) allow_address: Vec<AllowedAddress>,

    /// Also refuse addresses in private networks, such as 10.0.0.0/8 and fd00::/8, unless --allow-address names them.
    #[arg(long, env = "WINDLASS_DENY_PRIVATE_ADDRESSES")]
    pub(crate) deny_private_addresses: bool,

    /// How long a test of a repository, forge or notification provider takes to fail if the host is unreachable. The
    /// fixed delay hides whether a port is closed or blocked by a firewall.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = read_time_or_none)]
    pub(crate) unreached_after: Duration,
}

fn read_address(text: &str) -> Result<AllowedAddress, String> {
    AllowedAddress::parse(text).ok_or_else(|| {
        format!(
            "`{text}` is not an address: write git.example.com, git.example.com:8443, 127.0.0.1 or 10.0.0.0/8"
        )
    })
}
