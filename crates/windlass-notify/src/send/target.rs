//! The target of a message, from the provider's spec and its credential.

use std::collections::BTreeMap;

use url::Url;
use windlass_core::credential_hosts::{CredentialDestination, CredentialHosts};
use windlass_core::redacted::Redacted;
use windlass_core::resource::{NotificationProviderSpec, ProviderType};
use windlass_outbound::ResolveError;

use super::outcome::SendOutcome;

/// The fields of a credential.
pub type CredentialFields = BTreeMap<String, Redacted<String>>;

/// Why nothing can be sent to a provider. Contains no secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SendError {
    /// The address should be in the credential, and is missing there.
    #[error("the credential has no field `url` with the address")]
    NoAddress,
    /// The address is not a valid URL.
    #[error("the address in the credential is not an https URL")]
    BadAddress,
    /// The credential names no host, so it could be sent anywhere.
    #[error("the credential does not name its hosts: add a field `hosts` or `url`")]
    Unbound,
    /// The credential is for another host.
    #[error("the credential is for another address than the provider's")]
    OtherHost,
    /// The address is not https.
    #[error(
        "the address is not https; only a server started with --allow-insecure-notifications sends without TLS, and \
            only to its own machine"
    )]
    Plain,
    /// The host has no address, or one that this server does not connect to.
    #[error(transparent)]
    Address(#[from] ResolveError),
    /// The mail library rejects an address or a header.
    #[error("cannot compose the mail: {reason}")]
    Mail {
        /// The reason.
        reason: String,
    },
    /// The TLS library returned an error.
    #[error("cannot prepare TLS: {reason}")]
    Tls {
        /// The reason.
        reason: String,
    },
    /// The rendered message is for another type of provider.
    #[error("the message was rendered for another type of provider")]
    Mismatch,
}

impl SendError {
    /// The outcome for a message: a failed name lookup is transient, everything else is permanent.
    pub(super) fn outcome(&self) -> SendOutcome {
        let reason = self.to_string();
        match self {
            SendError::Address(ResolveError::NotFound { .. }) => SendOutcome::Retry { reason, after: None },
            _ => SendOutcome::Permanent { reason },
        }
    }
}

/// The target of a message.
#[derive(Debug)]
pub enum SendTarget {
    /// A web address.
    Http(HttpTarget),
    /// A mail server.
    Mail(MailTarget),
}

/// A web address, and how to authenticate there.
#[derive(Debug)]
pub struct HttpTarget {
    pub(super) url: Url,
    /// Whether the address came from the credential.
    is_secret: bool,
    pub(super) signing_key: Option<Redacted<String>>,
    pub(super) token: Option<Redacted<String>>,
    pub(super) login: Option<(Redacted<String>, Redacted<String>)>,
}

/// A mail server, with sender and recipients.
#[derive(Debug)]
pub struct MailTarget {
    pub(super) url: Url,
    pub(super) login: Option<(Redacted<String>, Redacted<String>)>,
    pub(super) from: String,
    pub(super) to: Vec<String>,
}

impl SendTarget {
    /// The target that a provider and its credential describe.
    pub fn of(
        provider: &NotificationProviderSpec,
        fields: &CredentialFields,
    ) -> Result<SendTarget, SendError> {
        let text = match &provider.address {
            Some(address) => address.as_str(),
            None => fields.get("url").map(|url| url.expose().trim()).ok_or(SendError::NoAddress)?,
        };
        let url = Url::parse(text).map_err(|_| SendError::BadAddress)?;
        check_binding(provider.provider_type, &url, fields)?;
        let login = match (fields.get("username"), fields.get("password")) {
            (Some(user), Some(password)) => Some((user.clone(), password.clone())),
            _ => None,
        };
        if provider.provider_type == ProviderType::Email {
            if !matches!(url.scheme(), "smtp" | "smtps") || url.host().is_none() {
                return Err(SendError::BadAddress);
            }
            let from = provider.from.as_ref().map(ToString::to_string).unwrap_or_default();
            let to = provider.to.iter().map(ToString::to_string).collect();
            return Ok(SendTarget::Mail(MailTarget { url, login, from, to }));
        }
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(SendError::BadAddress);
        }
        let is_webhook = provider.provider_type == ProviderType::Webhook;
        let is_alertmanager = provider.provider_type == ProviderType::Alertmanager;
        let url = if is_alertmanager { alertmanager_url(url) } else { url };
        Ok(SendTarget::Http(HttpTarget {
            url,
            is_secret: provider.address.is_none(),
            signing_key: fields.get("secret").filter(|_| is_webhook).cloned(),
            token: fields.get("token").filter(|_| is_webhook || is_alertmanager).cloned(),
            login: login.filter(|_| is_alertmanager),
        }))
    }

    /// The texts that no reason may repeat.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let mut secrets = Vec::new();
        match self {
            SendTarget::Http(http_target) => {
                if http_target.is_secret {
                    secrets.push(http_target.url.as_str());
                    secrets.push(http_target.url.path());
                    secrets.extend(http_target.url.query());
                }
                secrets.extend(http_target.signing_key.iter().map(|key| key.expose().as_str()));
                secrets.extend(http_target.token.iter().map(|token| token.expose().as_str()));
                secrets.extend(http_target.login.iter().map(|(_, password)| password.expose().as_str()));
            }
            SendTarget::Mail(mail_target) => {
                secrets.extend(mail_target.login.iter().map(|(_, password)| password.expose().as_str()));
            }
        }
        secrets
    }
}

/// A secret that is sent to the receiver is sent only to the host that the credential names: otherwise whoever may name
/// a credential's path could have it sent to themselves. A signing key is never sent.
fn check_binding(provider_type: ProviderType, url: &Url, fields: &CredentialFields) -> Result<(), SendError> {
    let sent_fields: &[&str] = match provider_type {
        ProviderType::Slack | ProviderType::Discord | ProviderType::Teams => &[],
        ProviderType::Webhook => &["token"],
        ProviderType::Alertmanager | ProviderType::Email => &["token", "username", "password"],
    };
    if !sent_fields.iter().any(|name| fields.contains_key(*name)) {
        return Ok(());
    }
    let hosts = CredentialHosts::read(None, fields.get("hosts").map(|hosts| hosts.expose().as_str()));
    if let Some(hosts) = hosts.map_err(|_| SendError::BadAddress)? {
        return if hosts.names(&destination(url)) { Ok(()) } else { Err(SendError::OtherHost) };
    }
    let bound = fields.get("url").ok_or(SendError::Unbound)?;
    let bound = Url::parse(bound.expose().trim()).map_err(|_| SendError::BadAddress)?;
    let origin = |url: &Url| (url.scheme().to_owned(), url.host().map(|host| host.to_owned()), url.port());
    if origin(&bound) == origin(url) { Ok(()) } else { Err(SendError::OtherHost) }
}

fn destination(url: &Url) -> CredentialDestination {
    let usual = if url.scheme() == "smtps" { 465 } else { 587 };
    CredentialDestination::new(
        url.host_str().unwrap_or_default(),
        url.port_or_known_default().unwrap_or(usual),
    )
}

/// The URL at which Alertmanager accepts alerts, below its own path.
fn alertmanager_url(mut url: Url) -> Url {
    let is_whole = url.path().ends_with("/api/v2/alerts");
    if !is_whole && let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(["api", "v2", "alerts"]);
    }
    url
}

#[cfg(test)]
mod tests {
    use windlass_core::resource::{Kind, Spec};

    use super::*;

    fn provider(json: &str) -> NotificationProviderSpec {
        match Spec::read(Kind::NotificationProvider, json).spec {
            Some(Spec::NotificationProvider(provider)) => provider,
            other => panic!("{json}: {other:?}"),
        }
    }

    fn fields(pairs: &[(&str, &str)]) -> CredentialFields {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Redacted::new((*value).to_owned()))).collect()
    }

    #[test]
    fn a_chat_without_the_address_in_its_credential_is_told_so_and_nothing_of_it_is_repeated() {
        let chat = provider(r#"{"type": "slack", "credential_path": "chat"}"#);
        assert_eq!(SendTarget::of(&chat, &fields(&[])).unwrap_err(), SendError::NoAddress);
        let error = SendTarget::of(&chat, &fields(&[("url", "hunter2")])).unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
        let target = SendTarget::of(&chat, &fields(&[("url", "https://h.example/s/hunter2")])).unwrap();
        assert!(target.secrets().contains(&"/s/hunter2"));
        assert!(!format!("{:?}", fields(&[("url", "hunter2")])).contains("hunter2"));
    }

    #[test]
    fn a_credential_is_sent_only_to_the_receiver_it_names() {
        let refusal =
            |json: &str, pairs: &[(&str, &str)]| SendTarget::of(&provider(json), &fields(pairs)).err();
        let hook = r#"{"type": "webhook", "address": "https://evil.example/x", "credential_path": "git"}"#;
        let mail = r#"{"type": "email", "address": "smtps://evil.example", "credential_path": "git",
            "from": "a@b.c", "to": ["d@e.f"]}"#;
        let login = [("username", "u"), ("password", "p")];
        assert_eq!(refusal(hook, &[("token", "t")]), Some(SendError::Unbound));
        assert_eq!(refusal(mail, &login), Some(SendError::Unbound));
        let good = ("url", "https://good.example/x");
        assert_eq!(refusal(hook, &[("token", "t"), good]), Some(SendError::OtherHost));
        assert_eq!(
            refusal(hook, &[("token", "t"), ("url", "https://evil.example:444/x")]),
            Some(SendError::OtherHost)
        );
        assert_eq!(refusal(hook, &[("token", "t"), ("url", "https://evil.example/y")]), None);
        assert_eq!(refusal(hook, &[("secret", "s")]), None, "a key to sign with is not told");
        assert_eq!(refusal(hook, &[("token", "t"), ("hosts", "a.example, evil.example")]), None);
        assert_eq!(refusal(hook, &[("token", "t"), ("hosts", "good.example")]), Some(SendError::OtherHost));
        assert_eq!(refusal(mail, &[login[0], login[1], ("hosts", "evil.example:465")]), None);
    }

    #[test]
    fn alertmanager_takes_alerts_at_its_own_path() {
        for (address, expected) in [
            ("https://am.example:9093", "https://am.example:9093/api/v2/alerts"),
            ("https://am.example/prefix/", "https://am.example/prefix/api/v2/alerts"),
            ("https://am.example/api/v2/alerts", "https://am.example/api/v2/alerts"),
        ] {
            let json = format!(r#"{{"type": "alertmanager", "address": "{address}"}}"#);
            let Ok(SendTarget::Http(http_target)) = SendTarget::of(&provider(&json), &fields(&[])) else {
                panic!("{address}")
            };
            assert_eq!(http_target.url.as_str(), expected);
        }
    }
}
