//! The address of the server.

use std::fmt;

use http::Uri;

/// The port of the agent listener, if the address has none.
const DEFAULT_PORT: u16 = 443;

/// A text that is not the address of a server.
#[derive(Debug, thiserror::Error)]
#[error("`{address}` is not the address of a server: {problem}")]
pub struct BadServerAddress {
    address: String,
    problem: &'static str,
}

/// Host and port of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    /// A name, or an address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl ServerAddress {
    /// Reads `https://host:port`.
    pub(crate) fn parse(text: &str) -> Result<ServerAddress, BadServerAddress> {
        let bad = |problem| BadServerAddress { address: shown(text), problem };
        let uri: Uri = text.trim().parse().map_err(|_| bad("it is not a URL"))?;
        if uri.scheme_str() != Some("https") {
            return Err(bad("it does not start with https://"));
        }
        if uri.path() != "/" || uri.query().is_some() {
            return Err(bad("it has a path"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it has a user name"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("it has no host"));
        }
        Ok(ServerAddress { host: host.to_owned(), port: uri.port_u16().unwrap_or(DEFAULT_PORT) })
    }
}

/// At most 100 characters of an address, without a password.
fn shown(text: &str) -> String {
    let text = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for (text, expected) in [
            ("https://windlass.example.com:3443", "windlass.example.com:3443"),
            ("https://windlass.example.com", "windlass.example.com:443"),
            ("https://[2001:db8::1]:3443/", "[2001:db8::1]:3443"),
            ("https://192.0.2.1:1", "192.0.2.1:1"),
        ] {
            assert_eq!(ServerAddress::parse(text).unwrap().to_string(), expected);
        }
        for text in
            ["", "windlass", "http://a", "https://", "https://a/b", "https://u:secret@a", "https://a?b"]
        {
            let error = ServerAddress::parse(text).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
