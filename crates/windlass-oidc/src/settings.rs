//! The settings of single sign-on. They are checked when the server starts, without a request to the provider, so that
//! a server starts while the provider is down.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use url::{Host, Url};
use windlass_core::access::Role;
use windlass_core::redacted::Redacted;

/// The scopes that are always requested.
const SCOPES: [&str; 3] = ["openid", "profile", "email"];

/// A provider, and the roles that its groups grant.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The issuer, spelled exactly as in its discovery document: `https://id.example.com/realms/acme`.
    pub issuer: String,
    /// The client id of this server.
    pub client_id: String,
    /// The file with the client secret, read again each time. `None` for a public client.
    pub client_secret_file: Option<PathBuf>,
    /// The display name on the sign-in page.
    pub name: String,
    /// The claim that lists the groups of a person.
    pub groups_claim: String,
    /// Scopes to request besides `openid`, `profile` and `email`.
    pub scopes: Vec<String>,
    /// The roles that groups grant.
    pub grants: Vec<GroupGrantSetting>,
    /// Who may still use a password.
    pub passwords: PasswordPolicy,
    /// The only certificate authorities to trust, in PEM, instead of the system's.
    pub ca_pem: Option<String>,
}

/// Who may sign in with a password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PasswordPolicy {
    /// Everyone who has one.
    #[default]
    Everyone,
    /// Administrators of the installation, as a fallback while the provider is down.
    RootOnly,
}

/// The role that members of a group get in an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupGrantSetting {
    /// The group, exactly as the provider spells it.
    pub group: String,
    /// The role it gives.
    pub role: Role,
    /// The account; the first one if none is named.
    pub account: Option<String>,
}

impl FromStr for GroupGrantSetting {
    type Err = String;

    /// Reads `GROUP=ROLE[@ACCOUNT]`. A group may contain `=`: the last one counts.
    fn from_str(text: &str) -> Result<GroupGrantSetting, String> {
        let wrong = || format!("`{text}` is not GROUP=ROLE or GROUP=ROLE@ACCOUNT");
        let (group, rest) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (role, account) = match rest.split_once('@') {
            Some((role, account)) => (role, Some(account.trim().to_owned())),
            None => (rest, None),
        };
        let group = group.trim();
        if group.is_empty() || account.as_ref().is_some_and(String::is_empty) {
            return Err(wrong());
        }
        let role = Role::from_slug(role.trim()).ok_or_else(|| {
            format!("`{}` is not a role: write viewer, operator, approver or admin", role.trim())
        })?;
        Ok(GroupGrantSetting { group: group.to_owned(), role, account })
    }
}

/// Why the settings of single sign-on are not valid.
#[derive(Debug, thiserror::Error)]
pub enum OidcSettingsError {
    /// The issuer is not a URL.
    #[error("the single sign-on issuer is not a valid provider address")]
    Issuer,
    /// The issuer is plain http on another machine.
    #[error("the single sign-on issuer uses http://, which others can read and change")]
    Plain,
    /// There is no client id.
    #[error("single sign-on has no client id")]
    ClientId,
    /// The client secret cannot be read.
    #[error("cannot read the single sign-on client secret from {path}: {reason}")]
    Secret {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A scope, or the name of a claim, is not valid.
    #[error("`{0}` is not a valid scope or claim name")]
    Word(String),
    /// The certificates cannot be read.
    #[error("the single sign-on CA file contains no certificate")]
    Authority,
    /// The HTTP client could not be built.
    #[error("cannot set up connections to the identity provider")]
    Client,
    /// A grant names an account that does not exist.
    #[error("the group `{group}` grants a role in the account `{account}`, which does not exist")]
    Account {
        /// The group.
        group: String,
        /// The account.
        account: String,
    },
    /// The public URL of this server is not configured.
    #[error("single sign-on needs this server's public URL")]
    PublicUrl,
}

/// Whether a provider is on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProviderLocation {
    ThisMachine,
    Network,
}

/// Whether a URL is https, or http on this machine; `None` for every other URL.
pub(crate) fn provider_location(url: &Url) -> Option<ProviderLocation> {
    let is_here = match url.host()? {
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
        Host::Domain(name) => name == "localhost",
    };
    match (url.scheme(), is_here) {
        ("https" | "http", true) => Some(ProviderLocation::ThisMachine),
        ("https", false) => Some(ProviderLocation::Network),
        _ => None,
    }
}

impl OidcSettings {
    /// Default settings for an issuer and a client id.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>) -> OidcSettings {
        OidcSettings {
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret_file: None,
            name: "single sign-on".to_owned(),
            groups_claim: "groups".to_owned(),
            scopes: Vec::new(),
            grants: Vec::new(),
            passwords: PasswordPolicy::Everyone,
            ca_pem: None,
        }
    }

    /// Checks everything that needs no request.
    pub(crate) fn check(&self) -> Result<ProviderLocation, OidcSettingsError> {
        let url = Url::parse(&self.issuer).map_err(|_| OidcSettingsError::Issuer)?;
        let is_bare = url.username().is_empty() && url.password().is_none();
        if !is_bare || url.query().is_some() || url.fragment().is_some() || url.host().is_none() {
            return Err(OidcSettingsError::Issuer);
        }
        let location = match (provider_location(&url), url.scheme()) {
            (Some(location), _) => location,
            (None, "http") => return Err(OidcSettingsError::Plain),
            (None, _) => return Err(OidcSettingsError::Issuer),
        };
        if self.client_id.is_empty() || self.client_id.chars().any(char::is_control) {
            return Err(OidcSettingsError::ClientId);
        }
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic());
        for word in self.scopes.iter().chain([&self.groups_claim]) {
            if !is_word(word) {
                return Err(OidcSettingsError::Word(word.clone()));
            }
        }
        self.client_secret()?;
        Ok(location)
    }

    /// The client secret, read from its file.
    pub(crate) fn client_secret(&self) -> Result<Option<Redacted<String>>, OidcSettingsError> {
        self.client_secret_file.as_deref().map(read_secret).transpose()
    }

    /// The `scope` parameter of the authorization request.
    pub(crate) fn scope(&self) -> String {
        let mut scopes: Vec<&str> = SCOPES.to_vec();
        for scope in &self.scopes {
            if !scopes.contains(&scope.as_str()) {
                scopes.push(scope);
            }
        }
        scopes.join(" ")
    }
}

fn read_secret(path: &Path) -> Result<Redacted<String>, OidcSettingsError> {
    let failed = |reason: String| OidcSettingsError::Secret { path: path.to_path_buf(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let secret = Redacted::new(text.trim().to_owned());
    if secret.expose().is_empty() { Err(failed("it is empty".to_owned())) } else { Ok(secret) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_names_a_group_a_role_and_perhaps_an_account() {
        let grant = |group: &str, role, account: Option<&str>| {
            Ok(GroupGrantSetting { group: group.to_owned(), role, account: account.map(str::to_owned) })
        };
        for (text, expected) in [
            ("ops=admin", grant("ops", Role::Admin, None)),
            ("ops=viewer@team-b", grant("ops", Role::Viewer, Some("team-b"))),
            ("cn=ops,dc=example=operator", grant("cn=ops,dc=example", Role::Operator, None)),
            ("ops@example.com=approver", grant("ops@example.com", Role::Approver, None)),
        ] {
            assert_eq!(text.parse::<GroupGrantSetting>(), expected, "{text}");
        }
        for text in ["", "ops", "ops=", "=admin", "ops=root", "ops=admin@", "ops=Admin"] {
            assert!(text.parse::<GroupGrantSetting>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_provider_is_never_asked_where_others_can_answer() {
        let check = |issuer: &str| OidcSettings::new(issuer, "windlass").check();
        for good in ["https://id.example.com", "https://id.example.com/realms/acme/", "http://127.0.0.1:9400"]
        {
            assert!(check(good).is_ok(), "{good}");
        }
        assert!(matches!(check("http://id.example.com"), Err(OidcSettingsError::Plain)));
        assert!(matches!(check("http://localhost.example.com"), Err(OidcSettingsError::Plain)));
        for bad in ["", "id.example.com", "ftp://id.example.com", "https://a:b@id.example.com", "https://x?y"]
        {
            assert!(matches!(check(bad), Err(OidcSettingsError::Issuer)), "{bad}");
        }
        let mut settings = OidcSettings::new("https://id.example.com", "");
        assert!(matches!(settings.check(), Err(OidcSettingsError::ClientId)));
        settings.client_id = "windlass".to_owned();
        settings.client_secret_file = Some(PathBuf::from("/nonexistent/secret"));
        assert!(matches!(settings.check(), Err(OidcSettingsError::Secret { .. })));
        settings.client_secret_file = None;
        settings.scopes = vec!["two words".to_owned()];
        assert!(matches!(settings.check(), Err(OidcSettingsError::Word(_))));
    }
}
