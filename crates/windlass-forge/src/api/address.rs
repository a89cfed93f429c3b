//! The address of a forge's API, and whether a token may be sent there.
//!
//! A token may be sent to the host of the repository itself, which already gets the repository's git credential, or to
//! a host that the operator named. So whoever may change a repository can send its token only where they could also
//! send its git credential.

use std::fmt;

use url::Url;

use super::{ForgeKind, RepositoryLocation};

/// Whether `http://` is accepted. For tests and demonstrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainHttp {
    /// Only https.
    Refused,
    /// Also plain http.
    Allowed,
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is not a URL.
    #[error("not an API address")]
    Malformed,
    /// It is plain http: the token would be sent unencrypted.
    #[error("a token cannot be sent over plain http")]
    Plain,
    /// It contains a user name or a password.
    #[error("the address contains credentials")]
    Credentials,
    /// It is neither on the repository's host nor on one that the operator named.
    #[error("{host} is neither the repository's host nor allowed by this server")]
    Elsewhere {
        /// The host.
        host: String,
    },
}

impl AddressError {
    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            AddressError::Malformed => {
                "write https://git.example.com, or with its path https://git.example.com/api/v1"
            }
            AddressError::Plain => {
                "use https; a server for tests accepts http when started with --allow-insecure-git"
            }
            AddressError::Credentials => {
                "store the token in Vault or in the credentials directory, and give its path"
            }
            AddressError::Elsewhere { .. } => {
                "omit api_url, or start the server with --forge-api-host for this host"
            }
        }
    }
}

/// The base of a forge's API.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiAddress {
    kind: ForgeKind,
    url: Url,
}

/// The hosts that a token may be sent to.
#[derive(Clone, Copy, Debug)]
pub struct HostRule<'r> {
    /// The location of the repository; `None` if it is on no host.
    pub repository: Option<&'r RepositoryLocation>,
    /// `host` or `host:port` of APIs that the operator named.
    pub allowed: &'r [String],
}

impl ApiAddress {
    /// Reads an address. An address without a path gets the default path for this kind of forge.
    pub fn read(text: &str, kind: ForgeKind, plain: PlainHttp) -> Result<ApiAddress, AddressError> {
        let mut url = Url::parse(text.trim()).map_err(|_| AddressError::Malformed)?;
        if url.host_str().is_none_or(str::is_empty) || url.query().is_some() || url.fragment().is_some() {
            return Err(AddressError::Malformed);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials);
        }
        match (url.scheme(), plain) {
            ("https", _) | ("http", PlainHttp::Allowed) => {}
            ("http", PlainHttp::Refused) => return Err(AddressError::Plain),
            _ => return Err(AddressError::Malformed),
        }
        if url.path() == "/" {
            let path = default_path(kind, url.host_str().unwrap_or_default());
            url.set_path(path);
        }
        Ok(ApiAddress { kind, url })
    }

    /// The default API address of the forge that hosts a repository.
    pub fn default_for(
        kind: ForgeKind,
        repository: &RepositoryLocation,
        plain: PlainHttp,
    ) -> Result<ApiAddress, AddressError> {
        if (kind, repository.host.as_str()) == (ForgeKind::GitHub, "github.com") {
            return ApiAddress::read("https://api.github.com", kind, PlainHttp::Refused);
        }
        let port = repository.web_port.map(|port| format!(":{port}")).unwrap_or_default();
        ApiAddress::read(&format!("{}://{}{port}", repository.web_scheme, repository.host), kind, plain)
    }

    /// Fails unless a token may be sent to this address.
    pub fn check(&self, rule: HostRule<'_>) -> Result<(), AddressError> {
        let host = self.url.host_str().unwrap_or_default();
        let is_own = rule.repository.is_some_and(|repository| {
            let is_github = (repository.host.as_str(), host) == ("github.com", "api.github.com");
            is_github || (repository.host == host && self.has_port(repository.web_port))
        });
        let is_named = rule.allowed.iter().any(|named| self.is_at(named));
        match is_own || is_named {
            true => Ok(()),
            false => Err(AddressError::Elsewhere { host: self.host() }),
        }
    }

    /// Whether the port is that of the repository, or the default port.
    fn has_port(&self, web_port: Option<u16>) -> bool {
        self.url.port().is_none() || self.url.port() == web_port
    }

    fn is_at(&self, named: &str) -> bool {
        let Ok(named) = Url::parse(&format!("{}://{named}/", self.url.scheme())) else { return false };
        named.host() == self.url.host() && named.port_or_known_default() == self.url.port_or_known_default()
    }

    /// Whether the connection is confidential: it is encrypted, or stays on this machine.
    pub fn is_confidential(&self) -> bool {
        self.url.scheme() == "https" || self.is_on_this_machine()
    }

    /// Whether it is on this machine.
    pub(super) fn is_on_this_machine(&self) -> bool {
        match self.url.host() {
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            Some(url::Host::Domain(name)) => name == "localhost",
            None => false,
        }
    }

    /// The kind of forge.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }

    /// The host, an IPv6 address in brackets, and the port.
    pub fn destination(&self) -> (&str, u16) {
        (self.url.host_str().unwrap_or_default(), self.url.port_or_known_default().unwrap_or(443))
    }

    /// Host and port, for messages.
    pub fn host(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}", self.url.host_str().unwrap_or_default())
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }
}

/// The path of the API if the forge is at the root of a host.
fn default_path(kind: ForgeKind, host: &str) -> &'static str {
    match kind {
        // GitHub, and the instances it hosts for companies, have a separate host for the API.
        ForgeKind::GitHub if host.starts_with("api.") => "/",
        ForgeKind::GitHub => "/api/v3",
        ForgeKind::Gitea => "/api/v1",
        ForgeKind::GitLab => "/api/v4",
    }
}

impl fmt::Display for ApiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str().trim_end_matches('/'))
    }
}

impl fmt::Debug for ApiAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::super::repository_location;
    use super::*;

    fn default_for(url: &str, kind: ForgeKind) -> String {
        let repository = repository_location(url).expect("a place");
        ApiAddress::default_for(kind, &repository, PlainHttp::Refused).expect("an address").to_string()
    }

    #[test]
    fn the_api_is_where_forges_of_its_kind_have_it() {
        use ForgeKind::{GitHub, GitLab, Gitea};
        assert_eq!(default_for("git@github.com:a/b.git", GitHub), "https://api.github.com");
        assert_eq!(default_for("git@git.example.com:a/b.git", GitHub), "https://git.example.com/api/v3");
        assert_eq!(
            default_for("https://git.example.com:8443/a/b", Gitea),
            "https://git.example.com:8443/api/v1"
        );
        assert_eq!(
            default_for("ssh://git@git.example.com:2222/a/b", Gitea),
            "https://git.example.com/api/v1"
        );
        assert_eq!(default_for("git@gitlab.com:a/b/c.git", GitLab), "https://gitlab.com/api/v4");
        let below = ApiAddress::read("https://example.com/gitea/api/v1/", Gitea, PlainHttp::Refused);
        assert_eq!(below.expect("an address").to_string(), "https://example.com/gitea/api/v1");
    }

    #[test]
    fn what_is_no_place_for_a_token_is_refused() {
        let read = |text: &str| ApiAddress::read(text, ForgeKind::Gitea, PlainHttp::Refused).map(|_| ());
        assert_eq!(read("http://git.example.com"), Err(AddressError::Plain));
        assert_eq!(read("https://ada:x@git.example.com"), Err(AddressError::Credentials));
        for text in
            ["git.example.com", "ftp://git.example.com", "https://", "https://h/?x", "https://h/#x", ""]
        {
            assert_eq!(read(text), Err(AddressError::Malformed), "{text}");
        }
    }

    #[test]
    fn a_token_is_sent_only_to_the_repositorys_host_or_one_the_operator_named() {
        let repository = repository_location("https://git.example.com:8443/acme/fleet").expect("a place");
        let allowed = ["api.example.com".to_owned(), "127.0.0.1:3000".to_owned(), "bad host".to_owned()];
        let may = |text: &str, repository: Option<&RepositoryLocation>| {
            let address = ApiAddress::read(text, ForgeKind::Gitea, PlainHttp::Allowed).expect("an address");
            address.check(HostRule { repository, allowed: &allowed }).is_ok()
        };
        for (text, expected) in [
            ("https://git.example.com", true),
            ("https://GIT.example.com:8443/api/v1", true),
            ("https://git.example.com:9999", false),
            ("https://git.example.com.evil.example", false),
            ("https://evil.example/git.example.com", false),
            ("https://api.example.com", true),
            ("https://api.example.com:444", false),
            ("http://127.0.0.1:3000", true),
            ("http://127.0.0.1:3001", false),
            ("https://api.github.com", false),
        ] {
            assert_eq!(may(text, Some(&repository)), expected, "{text}");
        }
        assert!(!may("https://git.example.com", None), "a repository on no host allows none");
        let github = repository_location("git@github.com:acme/fleet").expect("a place");
        assert!(may("https://api.github.com", Some(&github)));
    }
}
