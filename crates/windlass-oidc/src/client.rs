//! Requests to the provider. Redirects are not followed, responses have a size limit, and errors never repeat what was
//! sent: requests contain codes and secrets.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use url::Url;
use windlass_core::address_guard::AddressRules;
use windlass_outbound::{
    AddressGuard, Http, HttpClientError, HttpOptions, Proxies, ResolveError, TlsTrust, refusal_of,
};

use crate::error::OidcError;
use crate::settings::{OidcSettings, OidcSettingsError, ProviderLocation};

/// Larger than any discovery document, key set or token response.
const MAX_BYTES: usize = 512 * 1024;

/// Short, because a person waits for the page.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// An HTTP client for one provider.
#[derive(Debug)]
pub(crate) struct ProviderClient {
    http: Http,
}

/// A response of the provider.
pub(crate) struct ProviderResponse {
    pub(crate) status: u16,
    pub(crate) json: Option<Value>,
}

impl ProviderClient {
    pub(crate) fn new(
        settings: &OidcSettings,
        location: ProviderLocation,
    ) -> Result<ProviderClient, OidcSettingsError> {
        let options = HttpOptions {
            connect_timeout: REQUEST_TIMEOUT / 2,
            timeout: Some(REQUEST_TIMEOUT),
            trust: settings.ca_pem.as_deref().map_or(TlsTrust::System, TlsTrust::Only),
            proxies: if location == ProviderLocation::ThisMachine {
                Proxies::Never
            } else {
                Proxies::Environment
            },
            port: None,
        };
        let http = Http::new(&guard_of(settings), options).map_err(|error| match error {
            HttpClientError::Authority => OidcSettingsError::Authority,
            HttpClientError::Tls { .. } => OidcSettingsError::Client,
        })?;
        Ok(ProviderClient { http })
    }

    /// Fetches a JSON document.
    pub(crate) async fn get(&self, what: &'static str, url: &Url) -> Result<Value, OidcError> {
        let request = self.request(what, Method::GET, url)?;
        let answer = self.send(what, request).await?;
        match (answer.status, answer.json) {
            (200, Some(json)) => Ok(json),
            (200, None) => Err(OidcError::Unreadable { what }),
            (status, _) => Err(OidcError::Status { what, status }),
        }
    }

    /// Posts a form, with HTTP basic authentication if a login is given.
    pub(crate) async fn post(
        &self,
        what: &'static str,
        url: &Url,
        form: String,
        login: Option<(&str, &str)>,
    ) -> Result<ProviderResponse, OidcError> {
        let mut request = self
            .request(what, Method::POST, url)?
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        if let Some((name, password)) = login {
            request = request.basic_auth(name, Some(password));
        }
        self.send(what, request).await
    }

    fn request(
        &self,
        what: &'static str,
        method: Method,
        url: &Url,
    ) -> Result<reqwest::RequestBuilder, OidcError> {
        let refused = |refusal: ResolveError| OidcError::Unreachable { what, reason: refusal.to_string() };
        Ok(self.http.request(method, url.clone()).map_err(refused)?.header("accept", "application/json"))
    }

    async fn send(
        &self,
        what: &'static str,
        request: reqwest::RequestBuilder,
    ) -> Result<ProviderResponse, OidcError> {
        let unreached = |error: reqwest::Error| OidcError::Unreachable { what, reason: reason(&error) };
        let mut response = request.send().await.map_err(unreached)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreached)? {
            if body.len() + chunk.len() > MAX_BYTES {
                return Err(OidcError::Unreadable { what });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(ProviderResponse { status, json: serde_json::from_slice(&body).ok() })
    }
}

/// The operator named the issuer, so it may be on this machine. Its discovery document names other hosts, and those may
/// not.
fn guard_of(settings: &OidcSettings) -> AddressGuard {
    let issuer = Url::parse(&settings.issuer).ok();
    let host = issuer.as_ref().and_then(Url::host_str).unwrap_or_default();
    AddressGuard::new(AddressRules::default().for_operator_host(host, None))
}

/// The innermost cause, without the URL.
fn reason(error: &reqwest::Error) -> String {
    if let Some(refusal) = refusal_of(error) {
        return refusal.to_string();
    }
    if error.is_timeout() {
        return "it takes too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use std::net::TcpListener;

    use super::*;
    use crate::settings::PasswordPolicy;

    fn settings(issuer: &str) -> OidcSettings {
        OidcSettings {
            issuer: issuer.to_owned(),
            client_id: "windlass".to_owned(),
            client_secret_file: None,
            name: "Example".to_owned(),
            groups_claim: "groups".to_owned(),
            scopes: Vec::new(),
            grants: Vec::new(),
            passwords: PasswordPolicy::Everyone,
            ca_pem: None,
        }
    }

    #[tokio::test]
    async fn a_provider_cannot_have_the_server_ask_this_machine_or_a_metadata_service() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let client =
            ProviderClient::new(&settings("https://id.example.com"), ProviderLocation::Network).unwrap();
        for host in ["127.0.0.1", "localhost", "2130706433", "169.254.169.254", "[fd00:ec2::254]"] {
            let url = Url::parse(&format!("https://{host}:{port}/keys")).unwrap();
            let told = client.get("key set", &url).await.unwrap_err().to_string();
            assert!(told.contains("does not connect to"), "{host}: {told}");
        }
        assert!(listener.accept().is_err(), "nobody was connected to");
    }
}
