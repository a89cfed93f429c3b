//! Which hosts a credential may be sent to.
//!
//! A credential can name its hosts in a field `hosts` or `url` beside the secret. A credential without them is bound to
//! the first host that an admin uses it with, and the binding is stored. Otherwise whoever may name a credential's path
//! could have it sent to their own host. Pure: the server reads credentials and bindings.

use std::fmt;

use crate::address_guard::normalize_host;

/// The ports of a host that is named without one: ssh, http and https.
const DEFAULT_PORTS: [u16; 3] = [22, 80, 443];

/// A host and port that a credential would be sent to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CredentialDestination {
    host: String,
    port: u16,
}

impl CredentialDestination {
    /// Creates a destination. GitHub's API host counts as GitHub.
    pub fn new(host: &str, port: u16) -> CredentialDestination {
        let host = normalize_host(host);
        let host = if host == "api.github.com" { "github.com".to_owned() } else { host };
        CredentialDestination { host, port }
    }

    /// Parses `host:port`, as it is displayed, or `host`, which means https.
    pub fn parse(text: &str) -> Option<CredentialDestination> {
        let named = NamedHost::parse(text)?;
        Some(CredentialDestination::new(&named.host, named.port.unwrap_or(443)))
    }
}

impl fmt::Display for CredentialDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// A host in a credential's own list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedHost {
    host: String,
    /// The port; `None` for the default ports.
    port: Option<u16>,
}

impl NamedHost {
    /// Reads `host`, `host:port`, or an IPv6 address in brackets with or without a port.
    fn parse(text: &str) -> Option<NamedHost> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']')?;
                (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
            }
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        let port = port
            .map(|port| port.parse().ok().filter(|port| *port != 0))
            .map_or(Some(None), |p| p.map(Some))?;
        (!host.is_empty() && host.chars().all(is_host))
            .then(|| NamedHost { host: normalize_host(host), port })
    }

    /// Reads the host of a URL, or of git's `user@host:path`.
    fn of_url(text: &str) -> Option<NamedHost> {
        let Some((scheme, rest)) = text.split_once("://") else {
            let (_, rest) = text.split_once('@')?;
            let (host, _) = rest.split_once(':')?;
            return NamedHost::parse(host).map(|named| NamedHost { port: Some(22), ..named });
        };
        let usual = match scheme.to_ascii_lowercase().as_str() {
            "https" => 443,
            "http" => 80,
            "ssh" => 22,
            "smtp" => 587,
            "smtps" => 465,
            _ => return None,
        };
        let authority = rest.split(['/', '?', '#']).next()?;
        let place = authority.rsplit('@').next()?;
        NamedHost::parse(place).map(|named| NamedHost { port: Some(named.port.unwrap_or(usual)), ..named })
    }

    fn covers(&self, to: &CredentialDestination) -> bool {
        let own = CredentialDestination::new(&self.host, to.port);
        let fits_port = self.port.map_or_else(|| DEFAULT_PORTS.contains(&to.port), |port| port == to.port);
        own.host == to.host && fits_port
    }
}

/// The hosts that a credential names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialHosts(Vec<NamedHost>);

impl CredentialHosts {
    /// Parses the fields `url` and `hosts` of a credential: hosts are separated by commas or spaces, and a host without
    /// a port means the default ports. `None` if the credential names no host.
    pub fn read(url: Option<&str>, hosts: Option<&str>) -> Result<Option<CredentialHosts>, UnreadableHosts> {
        let mut named = Vec::new();
        if let Some(url) = url.map(str::trim).filter(|url| !url.is_empty()) {
            named.push(NamedHost::of_url(url).ok_or(UnreadableHosts)?);
        }
        let words = hosts.unwrap_or_default().split([',', ' ', '\n', '\t']).filter(|word| !word.is_empty());
        for word in words {
            named.push(NamedHost::parse(word).ok_or(UnreadableHosts)?);
        }
        Ok(if named.is_empty() { None } else { Some(CredentialHosts(named)) })
    }

    /// Whether the credential names this destination.
    pub fn names(&self, to: &CredentialDestination) -> bool {
        self.0.iter().any(|named| named.covers(to))
    }
}

/// The hosts of a credential cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its `hosts` or `url` field is not a list of hosts or a URL")]
pub struct UnreadableHosts;

/// Why a credential is not sent to a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialHostRefusal {
    /// It names other hosts.
    NamesOthers,
    /// Its hosts cannot be parsed.
    Unreadable,
    /// It is bound to other hosts.
    BoundElsewhere(Vec<CredentialDestination>),
    /// It names no host, and no admin has used it yet.
    Unbound,
}

impl CredentialHostRefusal {
    /// A stable code for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            CredentialHostRefusal::Unbound => "credential-unbound",
            _ => "credential-host",
        }
    }

    /// The message about the credential at a path.
    pub fn message(&self, path: &str, to: &CredentialDestination) -> String {
        match self {
            CredentialHostRefusal::NamesOthers => {
                format!("the credential {path} names other hosts than {to}")
            }
            CredentialHostRefusal::Unreadable => {
                format!("the credential {path} cannot be sent to {to}: {UnreadableHosts}")
            }
            CredentialHostRefusal::BoundElsewhere(bound) => {
                let bound: Vec<String> = bound.iter().map(ToString::to_string).collect();
                format!("the credential {path} is bound to {}, not to {to}", bound.join(", "))
            }
            CredentialHostRefusal::Unbound => format!("the credential {path} is not bound to {to} yet"),
        }
    }

    /// How to fix it.
    pub fn help(&self, path: &str, to: &CredentialDestination) -> String {
        match self {
            CredentialHostRefusal::NamesOthers => format!("add {to} to its field `hosts`, or use another credential"),
            CredentialHostRefusal::Unreadable => {
                "write hosts as `git.example.com, git.example.com:2222`, or a URL as `https://git.example.com`".to_owned()
            }
            CredentialHostRefusal::BoundElsewhere(_) => {
                format!("to allow that host, an admin runs `windlass credential bind {path} {to}`")
            }
            CredentialHostRefusal::Unbound => format!(
                "an admin runs `windlass credential bind {path} {to}`, or the credential's owner adds a field `hosts`"
            ),
        }
    }
}

/// Whether a credential may be sent to a destination: to the hosts it names, or else to a host it is bound to.
pub fn check_destination(
    named: &Result<Option<CredentialHosts>, UnreadableHosts>,
    bound: &[CredentialDestination],
    to: &CredentialDestination,
) -> Result<(), CredentialHostRefusal> {
    match named {
        Err(UnreadableHosts) => Err(CredentialHostRefusal::Unreadable),
        Ok(Some(hosts)) if hosts.names(to) => Ok(()),
        Ok(Some(_)) => Err(CredentialHostRefusal::NamesOthers),
        Ok(None) if bound.contains(to) => Ok(()),
        Ok(None) if bound.is_empty() => Err(CredentialHostRefusal::Unbound),
        Ok(None) => Err(CredentialHostRefusal::BoundElsewhere(bound.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> CredentialDestination {
        CredentialDestination::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    fn checked(
        url: Option<&str>,
        hosts: Option<&str>,
        bound: &[&str],
        destination: &str,
    ) -> Result<(), &'static str> {
        let bound: Vec<CredentialDestination> = bound.iter().map(|text| to(text)).collect();
        let named = CredentialHosts::read(url, hosts);
        check_destination(&named, &bound, &to(destination)).map_err(|why| why.code())
    }

    #[test]
    fn a_credential_is_told_to_the_hosts_it_names_and_to_no_other() {
        for (hosts, destination, expected) in [
            ("git.example.com", "git.example.com:443", true),
            ("git.example.com", "GIT.example.com.:22", true),
            ("git.example.com", "git.example.com:2222", false),
            ("git.example.com:2222", "git.example.com:2222", true),
            ("git.example.com:2222", "git.example.com:443", false),
            ("other.example.com, git.example.com", "git.example.com:443", true),
            ("other.example.com\ngit.example.com", "git.example.com:443", true),
            ("git.example.com", "git.example.com.evil.example:443", false),
            ("git.example.com", "evil.git.example.com:443", false),
            ("[2001:db8::1]:3000", "[2001:db8::1]:3000", true),
            ("github.com", "api.github.com:443", true),
            ("api.github.com", "github.com:443", true),
        ] {
            assert_eq!(
                checked(None, Some(hosts), &[], destination).is_ok(),
                expected,
                "{hosts} {destination}"
            );
            // The hosts it names count, whatever it is bound to.
            assert_eq!(checked(None, Some(hosts), &[destination], destination).is_ok(), expected, "{hosts}");
        }
        for (url, destination, expected) in [
            ("https://git.example.com/acme", "git.example.com:443", true),
            ("https://git.example.com/acme", "git.example.com:22", false),
            ("https://git.example.com:8443", "git.example.com:8443", true),
            ("https://git.example.com@evil.example/", "git.example.com:443", false),
            ("https://evil.example/git.example.com", "git.example.com:443", false),
            ("ssh://git@git.example.com:2222/x", "git.example.com:2222", true),
            ("git@git.example.com:acme/fleet", "git.example.com:22", true),
        ] {
            assert_eq!(checked(Some(url), None, &[], destination).is_ok(), expected, "{url} {destination}");
        }
        for bad in ["https://", "git example", "ftp://x", "x:y", "x:0", "[::1"] {
            let named = CredentialHosts::read(Some(bad), None).is_err()
                || CredentialHosts::read(None, Some(bad)).is_err();
            assert!(named, "{bad}");
        }
        assert_eq!(
            checked(Some("nonsense"), None, &["a.example:443"], "a.example:443"),
            Err("credential-host")
        );
    }

    #[test]
    fn a_credential_that_names_no_host_is_told_only_where_it_is_bound() {
        assert_eq!(checked(None, None, &[], "git.example.com:443"), Err("credential-unbound"));
        assert_eq!(checked(Some(" "), Some(""), &[], "git.example.com:443"), Err("credential-unbound"));
        assert_eq!(checked(None, None, &["git.example.com:443"], "git.example.com:443"), Ok(()));
        assert_eq!(
            checked(None, None, &["git.example.com:443"], "git.example.com:444"),
            Err("credential-host")
        );
        assert_eq!(checked(None, None, &["git.example.com:443"], "evil.example:443"), Err("credential-host"));
        let bound = ["a.example:443", "b.example:22"];
        assert_eq!(checked(None, None, &bound, "b.example:22"), Ok(()));
    }

    #[test]
    fn a_destination_reads_back_as_it_is_printed() {
        for text in ["git.example.com:443", "[2001:db8::1]:22", "127.0.0.1:3000"] {
            assert_eq!(to(text).to_string(), text);
        }
        assert_eq!(to("git.example.com").to_string(), "git.example.com:443");
        assert_eq!(CredentialDestination::parse("https://x"), None);
    }
}
