//! Requests to Vault, and the errors that failed requests become.
//!
//! Redirects are not followed: the token is sent only to the configured address. Responses have a size limit, and their
//! memory is overwritten when they are dropped.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderValue;
use serde_json::Value;
use url::Url;
use windlass_core::address_guard::AddressRules;
use windlass_core::redacted::Redacted;
use windlass_outbound::{AddressGuard, Http, HttpClientError, HttpOptions, Proxies, TlsTrust, refusal_of};
use zeroize::Zeroizing;

use super::settings::VaultSettings;
use crate::vault_error::{SettingsError, VaultError};

/// Larger than any credential, and than a list of thousands of names.
const MAX_BYTES: usize = 1024 * 1024;

/// If Vault takes longer to accept a connection, it counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// An HTTP client for one Vault server.
#[derive(Debug)]
pub(super) struct VaultClient {
    http: Http,
    base: Url,
    namespace: Option<String>,
}

/// A response of Vault.
pub(super) struct VaultResponse {
    pub(super) status: u16,
    body: Zeroizing<Vec<u8>>,
}

impl VaultResponse {
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The response parsed as a type.
    pub(super) fn read<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Whether one of the error messages contains this text.
    pub(super) fn has_error_text(&self, words: &str) -> bool {
        let json = self.json();
        let errors = json.as_ref().and_then(|json| json.get("errors")).and_then(Value::as_array);
        errors.is_some_and(|errors| errors.iter().filter_map(Value::as_str).any(|said| said.contains(words)))
    }
}

impl VaultClient {
    pub(super) fn new(settings: &VaultSettings) -> Result<VaultClient, SettingsError> {
        let (base, way) = read_address(&settings.address)?;
        let namespace = settings.namespace.as_deref().map(|name| name.trim_matches('/').to_owned());
        if namespace.as_ref().is_some_and(|name| name.is_empty() || HeaderValue::from_str(name).is_err()) {
            return Err(SettingsError::Namespace);
        }
        let options = HttpOptions {
            connect_timeout: CONNECT_TIMEOUT,
            timeout: Some(settings.timeout),
            trust: settings.ca_pem.as_deref().map_or(TlsTrust::System, TlsTrust::Only),
            proxies: if way == VaultLocation::ThisMachine { Proxies::Never } else { Proxies::Environment },
            port: base.port_or_known_default(),
        };
        // The operator named this host, so it may be on this machine. No other host may.
        let rules = AddressRules::default();
        let guard = AddressGuard::new(
            rules.for_operator_host(base.host_str().unwrap_or_default(), base.port_or_known_default()),
        );
        let http = Http::new(&guard, options).map_err(|error| match error {
            HttpClientError::Authority => SettingsError::Authority,
            HttpClientError::Tls { .. } => SettingsError::Client,
        })?;
        Ok(VaultClient { http, base, namespace })
    }

    /// The address, for messages.
    pub(super) fn address(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    pub(super) async fn get(
        &self,
        path: &str,
        query: &[(&str, &str)],
        token: &Redacted<String>,
    ) -> Result<VaultResponse, VaultError> {
        let request = self.request(Method::GET, path)?.query(query);
        self.send(self.with_token(request, token)?, path).await
    }

    /// Sends a request with a body; without a token for a login.
    pub(super) async fn post(
        &self,
        path: &str,
        body: &Value,
        token: Option<&Redacted<String>>,
    ) -> Result<VaultResponse, VaultError> {
        let request = self.request(Method::POST, path)?.json(body);
        let request = match token {
            Some(token) => self.with_token(request, token)?,
            None => request,
        };
        self.send(request, path).await
    }

    fn request(&self, method: Method, path: &str) -> Result<reqwest::RequestBuilder, VaultError> {
        let request = self.bare_request(method, path)?.header("x-vault-request", "true");
        Ok(match &self.namespace {
            Some(namespace) => request.header("x-vault-namespace", namespace),
            None => request,
        })
    }

    fn bare_request(&self, method: Method, path: &str) -> Result<reqwest::RequestBuilder, VaultError> {
        self.http.request(method, self.url(path)).map_err(|refusal| VaultError::Unreachable {
            address: self.address(),
            reason: refusal.to_string(),
        })
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().push("v1").extend(path.split('/'));
        }
        url
    }

    fn with_token(
        &self,
        request: reqwest::RequestBuilder,
        token: &Redacted<String>,
    ) -> Result<reqwest::RequestBuilder, VaultError> {
        let mut value = HeaderValue::from_str(token.expose()).map_err(|_| VaultError::TokenRefused)?;
        value.set_sensitive(true);
        Ok(request.header("x-vault-token", value))
    }

    async fn send(&self, request: reqwest::RequestBuilder, path: &str) -> Result<VaultResponse, VaultError> {
        let mut response = request.send().await.map_err(|error| self.connection_error(&error))?;
        let status = response.status().as_u16();
        // Allocated at its full size at once: growing would leave copies of secrets in memory.
        let length =
            response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(8 * 1024);
        let mut body = Zeroizing::new(Vec::with_capacity(length.min(MAX_BYTES)));
        while let Some(chunk) = response.chunk().await.map_err(|error| self.connection_error(&error))? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(VaultError::TooLarge { path: path.to_owned() });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(VaultResponse { status, body })
    }

    /// The error for a request that got no response.
    fn connection_error(&self, error: &reqwest::Error) -> VaultError {
        let address = self.address();
        let mut cause: &dyn std::error::Error = error;
        let mut said = String::new();
        while let Some(deeper) = cause.source() {
            cause = deeper;
            said.push_str(&cause.to_string().to_ascii_lowercase());
        }
        let reason = refusal_of(error).map_or_else(|| cause.to_string(), |refusal| refusal.to_string());
        let is_tls = ["certificate", "tls", "handshake", "corrupt message", "invalidcontenttype"];
        if error.is_timeout() {
            VaultError::Timeout { address }
        } else if is_tls.iter().any(|word| said.contains(word)) {
            VaultError::Tls { address, reason }
        } else {
            VaultError::Unreachable { address, reason }
        }
    }

    /// The error for a response that is not a success.
    pub(super) async fn response_error(&self, answer: &VaultResponse, path: &str) -> VaultError {
        let path = path.to_owned();
        match answer.status {
            301..=308 | 429 | 472 | 473 | 500..=599 => self.health_error(answer.status, path).await,
            _ if answer.has_error_text("namespace") => VaultError::Namespace {
                namespace: self.namespace.clone().unwrap_or_else(|| "root".to_owned()),
            },
            401 | 403 => VaultError::Denied { path },
            404 if answer.has_error_text("no handler for route") => VaultError::NoMount { path },
            404 => VaultError::Missing { path },
            status => VaultError::UnexpectedStatus { status, path },
        }
    }

    /// Asks Vault's health endpoint, which needs no token and is outside of all namespaces.
    async fn health_error(&self, status: u16, path: String) -> VaultError {
        let address = self.address();
        let request = match self.bare_request(Method::GET, "sys/health") {
            Ok(request) => request,
            Err(error) => return error,
        };
        let health = match self.send(request, "sys/health").await {
            Ok(health) => health.json().unwrap_or_default(),
            Err(error) => return error,
        };
        let is = |key: &str| health.get(key).and_then(Value::as_bool);
        match (is("initialized"), is("sealed"), is("standby"), status) {
            (Some(false), ..) => VaultError::Uninitialised { address },
            (_, Some(true), ..) => VaultError::Sealed { address },
            (.., Some(true), _) => VaultError::Standby { address },
            (.., 429) => VaultError::Busy { address },
            _ => VaultError::UnexpectedStatus { status, path },
        }
    }
}

/// Whether Vault is on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VaultLocation {
    ThisMachine,
    Network,
}

fn read_address(text: &str) -> Result<(Url, VaultLocation), SettingsError> {
    let url = Url::parse(text).map_err(|_| SettingsError::Address)?;
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let way = match url.host() {
        Some(url::Host::Ipv4(ip)) if ip.is_loopback() => VaultLocation::ThisMachine,
        Some(url::Host::Ipv6(ip)) if ip.is_loopback() => VaultLocation::ThisMachine,
        Some(url::Host::Domain("localhost")) => VaultLocation::ThisMachine,
        Some(_) => VaultLocation::Network,
        None => return Err(SettingsError::Address),
    };
    match (url.scheme(), is_bare, way) {
        ("https", true, _) | ("http", true, VaultLocation::ThisMachine) => Ok((url, way)),
        ("http", true, VaultLocation::Network) => Err(SettingsError::Plain),
        _ => Err(SettingsError::Address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_crosses_the_network_for_all_to_see() {
        for (text, expected) in [
            ("https://vault.example.com", Ok(VaultLocation::Network)),
            ("https://vault.example.com:8200/", Ok(VaultLocation::Network)),
            ("http://127.0.0.1:8200", Ok(VaultLocation::ThisMachine)),
            ("http://localhost:8200", Ok(VaultLocation::ThisMachine)),
            ("http://[::1]:8200", Ok(VaultLocation::ThisMachine)),
            ("http://vault.example.com", Err(SettingsError::Plain)),
            ("http://localhost.example.com", Err(SettingsError::Plain)),
            ("https://user:pass@vault.example.com", Err(SettingsError::Address)),
            ("https://vault.example.com/?x", Err(SettingsError::Address)),
            ("unix:///run/vault", Err(SettingsError::Address)),
            ("vault.example.com", Err(SettingsError::Address)),
        ] {
            assert_eq!(read_address(text).map(|(_, way)| way), expected, "{text}");
        }
    }
}
