//! Requests to the provider. Redirects are not followed, answers are bounded, and what goes wrong never repeats what was
//! sent: there are codes and secrets in it.

use std::time::Duration;

use reqwest::redirect;
use serde_json::Value;
use url::Url;

use super::error::OidcError;
use super::settings::{OidcSettings, OidcSettingsError, Way};

/// Larger than any discovery document, key set or answer with tokens.
const MAX_BYTES: usize = 512 * 1024;

/// A person waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// The way to one provider.
#[derive(Debug)]
pub(super) struct Wire {
    http: reqwest::Client,
}

/// What the provider answered.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) json: Option<Value>,
}

impl Wire {
    pub(super) fn new(settings: &OidcSettings, way: Way) -> Result<Wire, OidcSettingsError> {
        let mut builder = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(PATIENCE / 2)
            .timeout(PATIENCE)
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
        if way == Way::ThisMachine {
            builder = builder.no_proxy();
        }
        if let Some(pem) = &settings.ca_pem {
            let found = reqwest::Certificate::from_pem_bundle(pem.as_bytes());
            let found = found.map_err(|_| OidcSettingsError::Authority)?;
            if found.is_empty() {
                return Err(OidcSettingsError::Authority);
            }
            builder = builder.tls_certs_only(found);
        }
        Ok(Wire { http: builder.build().map_err(|_| OidcSettingsError::Client)? })
    }

    /// A document of the provider's.
    pub(super) async fn get(&self, what: &'static str, url: &Url) -> Result<Value, OidcError> {
        let request = self.http.get(url.clone()).header("accept", "application/json");
        let answer = self.send(what, request).await?;
        match (answer.status, answer.json) {
            (200, Some(json)) => Ok(json),
            (200, None) => Err(OidcError::Unreadable { what }),
            (status, _) => Err(OidcError::Status { what, status }),
        }
    }

    /// Sends a form; with a name and a password if there are any.
    pub(super) async fn post(
        &self,
        what: &'static str,
        url: &Url,
        form: String,
        login: Option<(&str, &str)>,
    ) -> Result<Answer, OidcError> {
        let mut request = self
            .http
            .post(url.clone())
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        if let Some((name, password)) = login {
            request = request.basic_auth(name, Some(password));
        }
        self.send(what, request).await
    }

    async fn send(&self, what: &'static str, request: reqwest::RequestBuilder) -> Result<Answer, OidcError> {
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
        Ok(Answer { status, json: serde_json::from_slice(&body).ok() })
    }
}

/// The innermost cause, without the address that was asked.
fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it takes too long".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
