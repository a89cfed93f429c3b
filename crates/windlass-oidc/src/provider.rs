//! Reads the discovery document of a provider.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::error::OidcError;
use crate::settings::{ProviderLocation, provider_location};

/// The discovery document's name, in messages.
const DISCOVERY: &str = "discovery document";

/// The endpoints and abilities of a provider.
#[derive(Debug)]
pub(crate) struct Provider {
    pub(crate) authorization: Url,
    pub(crate) token: Url,
    pub(crate) jwks: Url,
    pub(crate) client_auth: ClientAuthMethod,
    pub(crate) issuer_in_response: IssuerInResponse,
}

/// How the client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientAuthMethod {
    Header,
    Form,
}

/// Whether the provider names itself in the callback (RFC 9207).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssuerInResponse {
    Always,
    Optional,
}

#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// The URL of an issuer's discovery document.
pub(crate) fn discovery_url(issuer: &str) -> Result<Url, OidcError> {
    let text = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    Url::parse(&text).map_err(|_| OidcError::Unreadable { what: DISCOVERY })
}

/// Reads a discovery document, which must name this issuer.
pub(crate) fn read(document: Value, issuer: &str, location: ProviderLocation) -> Result<Provider, OidcError> {
    let unreadable = |_| OidcError::Unreadable { what: DISCOVERY };
    let document: DiscoveryDocument = serde_json::from_value(document).map_err(unreadable)?;
    if document.issuer != issuer {
        return Err(OidcError::OtherIssuer { said: document.issuer.chars().take(200).collect() });
    }
    let address = |what: &'static str, text: &str| {
        let url = Url::parse(text).map_err(|_| OidcError::Unreadable { what: DISCOVERY })?;
        match (provider_location(&url), location) {
            (Some(ProviderLocation::Network), _)
            | (Some(ProviderLocation::ThisMachine), ProviderLocation::ThisMachine) => Ok(url),
            // A provider elsewhere may name neither this machine nor a plain http URL.
            _ => Err(OidcError::InsecureAddress { what }),
        }
    };
    let methods = &document.token_endpoint_auth_methods_supported;
    let offers = |method: &str| methods.iter().any(|offered| offered == method);
    Ok(Provider {
        authorization: address("authorization endpoint", &document.authorization_endpoint)?,
        token: address("token endpoint", &document.token_endpoint)?,
        jwks: address("key set", &document.jwks_uri)?,
        client_auth: match offers("client_secret_post") && !offers("client_secret_basic") {
            true => ClientAuthMethod::Form,
            false => ClientAuthMethod::Header,
        },
        issuer_in_response: match document.authorization_response_iss_parameter_supported {
            true => IssuerInResponse::Always,
            false => IssuerInResponse::Optional,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://id.example.com";

    fn document() -> Value {
        json!({
            "issuer": ISSUER,
            "authorization_endpoint": "https://id.example.com/authorize",
            "token_endpoint": "https://tokens.example.com/token",
            "jwks_uri": "https://id.example.com/jwks",
        })
    }

    #[test]
    fn a_provider_is_who_it_was_said_to_be_and_spoken_to_over_https() {
        let read_with = |key: &str, value: &str| {
            let mut document = document();
            document[key] = value.into();
            read(document, ISSUER, ProviderLocation::Network)
        };
        assert!(read(document(), ISSUER, ProviderLocation::Network).is_ok());
        for other in ["https://id.example.com/", "https://evil.example.com", ""] {
            assert!(matches!(read_with("issuer", other), Err(OidcError::OtherIssuer { .. })), "{other}");
        }
        for key in ["authorization_endpoint", "token_endpoint", "jwks_uri"] {
            for bad in ["http://id.example.com/x", "http://127.0.0.1/x", "https://127.0.0.1/x", "file:///x"] {
                assert!(
                    matches!(read_with(key, bad), Err(OidcError::InsecureAddress { .. })),
                    "{key}: {bad}"
                );
            }
            let mut document = document();
            document.as_object_mut().expect("an object").remove(key);
            assert!(read(document, ISSUER, ProviderLocation::Network).is_err(), "{key}");
        }
    }

    #[test]
    fn a_document_is_below_its_issuer() {
        for issuer in ["https://id.example.com/realms/acme", "https://id.example.com/realms/acme/"] {
            let found = discovery_url(issuer).expect("an address");
            assert_eq!(found.as_str(), "https://id.example.com/realms/acme/.well-known/openid-configuration");
        }
    }
}
