//! The host names under which clients may use the tools.
//!
//! Another site can make its own name resolve to this machine (DNS rebinding). A browser then treats this server as part
//! of that site, but it still sends the name in `Host`, and the server rejects names that are not its own.

use std::net::IpAddr;

use axum::http::uri::Authority;

use crate::config::Config;

/// The path of the MCP endpoint.
pub(crate) const PATH: &str = "/mcp";

/// Whether a `Host` is one of this server's names. The port does not matter: DNS rebinding changes only what a name means.
pub(crate) fn is_ours(config: &Config, host: &str) -> bool {
    if host.contains('@') {
        return false;
    }
    let Ok(authority) = Authority::try_from(host) else { return false };
    let name = normalized(authority.host());
    match name.parse::<IpAddr>() {
        Ok(address) => is_our_address(config, address) || is_known_name(config, &name),
        Err(_) => name == "localhost" || is_known_name(config, &name),
    }
}

/// Whether an IP address can be this server's. DNS rebinding does not affect IP addresses, so a server that listens on all
/// addresses accepts any.
fn is_our_address(config: &Config, address: IpAddr) -> bool {
    let listen = config.listen.ip();
    address.to_canonical().is_loopback()
        || listen.is_unspecified()
        || address.to_canonical() == listen.to_canonical()
}

fn is_known_name(config: &Config, name: &str) -> bool {
    let public = config.control.public_url.as_deref().and_then(|url| url::Url::parse(url).ok());
    let public = public.as_ref().and_then(url::Url::host_str);
    config.mcp_hosts.iter().map(String::as_str).chain(public).any(|known| normalized(known) == name)
}

/// The one spelling of a name, for comparison.
fn normalized(name: &str) -> String {
    name.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(listen: &str) -> Config {
        let mut config = Config::in_directory("unused");
        config.listen = listen.parse().expect("an address");
        config.control.public_url = Some("https://windlass.example.com".to_owned());
        config.mcp_hosts = vec!["Tools.Example.com".to_owned()];
        config
    }

    #[test]
    fn only_the_names_of_this_server_are_allowed() {
        let config = config("192.0.2.7:3000");
        for ours in [
            "localhost",
            "LOCALHOST:3000",
            "localhost.",
            "127.0.0.1:3000",
            "127.9.9.9",
            "[::1]:3000",
            "192.0.2.7:3000",
            "windlass.example.com",
            "WINDLASS.example.com:443",
            "tools.example.com",
        ] {
            assert!(is_ours(&config, ours), "{ours}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:3000",
            "localhost.evil.example",
            "windlass.example.com.evil.example",
            "127.0.0.1.evil.example",
            "evil.example@localhost",
            "192.0.2.8",
            "[fe80::1]",
            "a b",
        ] {
            assert!(!is_ours(&config, other), "{other}");
        }
    }

    #[test]
    fn a_server_that_listens_on_all_addresses_allows_any_address_but_not_any_name() {
        let config = config("0.0.0.0:3000");
        assert!(is_ours(&config, "10.1.2.3:3000"));
        assert!(!is_ours(&config, "evil.example:3000"));
    }
}
