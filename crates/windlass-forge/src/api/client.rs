//! Sends requests, and turns failed ones into errors.
//!
//! The token is sent only to the configured server: redirects are followed only within it, and every request passes the
//! guard. Responses have a size limit.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;
use url::Url;
use windlass_core::redacted::Redacted;
use windlass_core::secret::HIDDEN;
use windlass_outbound::{
    AddressGuard, Http, HttpClientError, HttpOptions, Proxies, TlsTrust, causes_of, refusal_of,
    refused_certificate,
};

use super::error::ForgeError;
use super::request::{Request, RequestMethod};
use super::{ApiAddress, ForgeKind};

/// Larger than a page of the longest comments.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// A forge that takes longer to accept a connection counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// If a forge takes longer to answer, the caller retries later.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Enough for a repository that was renamed or moved.
const MAX_REDIRECTS: usize = 3;

/// The upper bound for Retry-After, whatever the forge sends.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3600);

/// How much of a forge's error message is repeated.
const MAX_QUOTED_CHARS: usize = 200;

/// An HTTP client for one forge.
#[derive(Debug)]
pub(super) struct ForgeClient {
    http: Http,
    base: Url,
    kind: ForgeKind,
    address: String,
    token: Redacted<String>,
}

/// A response of a forge.
#[derive(Clone, Debug)]
pub(super) struct ForgeResponse {
    pub(super) status: u16,
    pub(super) body: Value,
    headers: HeaderMap,
}

impl ForgeClient {
    pub(super) fn new(
        address: &ApiAddress,
        token: Redacted<String>,
        extra_ca_pem: Option<&str>,
        guard: &AddressGuard,
    ) -> Result<ForgeClient, ForgeError> {
        let options = HttpOptions {
            connect_timeout: CONNECT_TIMEOUT,
            timeout: Some(REQUEST_TIMEOUT),
            trust: extra_ca_pem.map_or(TlsTrust::System, TlsTrust::SystemAnd),
            proxies: if address.is_on_this_machine() { Proxies::Never } else { Proxies::Environment },
            port: address.url().port_or_known_default(),
        };
        let unusable = |error: HttpClientError| ForgeError::Client { reason: error.to_string() };
        let http = Http::new(guard, options).map_err(unusable)?;
        let (base, kind) = (address.url().clone(), address.kind());
        let client = ForgeClient { http, base, kind, address: address.host(), token };
        client.authorization()?;
        Ok(client)
    }

    /// Sends a request and returns a success; any other status becomes an error.
    pub(super) async fn send(&self, request: &Request) -> Result<ForgeResponse, ForgeError> {
        let answer = self.send_any_status(request).await?;
        match answer.status {
            200..=299 => Ok(answer),
            _ => Err(self.response_error(&answer, request)),
        }
    }

    /// Sends a request and returns the response, whatever its status.
    pub(super) async fn send_any_status(&self, request: &Request) -> Result<ForgeResponse, ForgeError> {
        let mut url = self.url(request);
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.exchange(request, url.clone()).await?;
            if !matches!(answer.status, 301 | 302 | 307 | 308) {
                return Ok(answer);
            }
            url = self.next_url(&url, &answer)?;
        }
        let doing = request.doing.clone();
        Err(ForgeError::Answer { address: self.address.clone(), status: 308, doing })
    }

    /// The target of a redirect, if it is on the same server.
    fn next_url(&self, from: &Url, answer: &ForgeResponse) -> Result<Url, ForgeError> {
        let address = self.address.clone();
        let location = answer.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let Ok(to) = from.join(location) else { return Err(ForgeError::NotUnderstood { address }) };
        if to.origin() != self.base.origin() {
            let to = cut(to.host_str().unwrap_or("another place"));
            return Err(ForgeError::Redirected { address, to });
        }
        Ok(to)
    }

    fn url(&self, request: &Request) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&request.path);
        }
        if !request.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&request.query);
        }
        url
    }

    fn authorization(&self) -> Result<HeaderValue, ForgeError> {
        let scheme = match self.kind {
            ForgeKind::Gitea => "token",
            ForgeKind::GitHub | ForgeKind::GitLab => "Bearer",
        };
        let token = self.token.expose();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ForgeError::TokenShape);
        }
        let mut value =
            HeaderValue::from_str(&format!("{scheme} {token}")).map_err(|_| ForgeError::TokenShape)?;
        value.set_sensitive(true);
        Ok(value)
    }

    async fn exchange(&self, request: &Request, url: Url) -> Result<ForgeResponse, ForgeError> {
        let method = match request.method {
            RequestMethod::Get => reqwest::Method::GET,
            RequestMethod::Post => reqwest::Method::POST,
            RequestMethod::Put => reqwest::Method::PUT,
            RequestMethod::Patch => reqwest::Method::PATCH,
        };
        let sent = self.http.request(method, url).map_err(ForgeError::AddressRefused)?;
        let mut sent = sent.header(AUTHORIZATION, self.authorization()?);
        sent = match self.kind {
            ForgeKind::GitHub => sent
                .header(ACCEPT, "application/vnd.github+json")
                .header("x-github-api-version", "2022-11-28"),
            ForgeKind::Gitea | ForgeKind::GitLab => sent.header(ACCEPT, "application/json"),
        };
        if let Some(body) = &request.body {
            sent = sent.json(body);
        }
        let mut response = sent.send().await.map_err(|error| self.connection_error(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.connection_error(&error))? {
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(ForgeError::TooLarge { address: self.address.clone() });
            }
            bytes.extend_from_slice(&chunk);
        }
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Ok(ForgeResponse { status, body, headers })
    }

    /// The error for a request that got no response. The reason goes only to the server's log: otherwise whoever may
    /// name a forge could scan the server's network for open ports.
    fn connection_error(&self, error: &reqwest::Error) -> ForgeError {
        if let Some(refusal) = refusal_of(error) {
            return ForgeError::AddressRefused(refusal);
        }
        let address = self.address.clone();
        if let Some(reason) = refused_certificate(error) {
            return ForgeError::Tls { address, reason: self.without_token(&reason) };
        }
        let reason = self.without_token(&causes_of(error));
        tracing::info!(%address, cause = reason, "could not reach a forge");
        ForgeError::Unreachable { address }
    }

    /// The error for a response that is not a success.
    pub(super) fn response_error(&self, answer: &ForgeResponse, request: &Request) -> ForgeError {
        let (address, doing) = (self.address.clone(), request.doing.clone());
        let reason = self.error_message(&answer.body);
        let retry_after = retry_after(&answer.headers);
        match answer.status {
            401 => ForgeError::Token { address },
            429 => ForgeError::Busy { address, retry_after },
            // GitHub answers so when the rate limit is reached.
            403 if is_exhausted(&answer.headers) => ForgeError::Busy { address, retry_after },
            403 => ForgeError::Forbidden { doing, reason },
            404 | 410 => ForgeError::Missing { doing },
            409 => ForgeError::Exists { doing },
            400 | 413 | 422 => ForgeError::Refused { doing, reason },
            503 if retry_after.is_some() => ForgeError::Busy { address, retry_after },
            status => ForgeError::Answer { address, status, doing },
        }
    }

    /// The error for a response that lacks an expected field.
    pub(super) fn unexpected_response(&self) -> ForgeError {
        ForgeError::NotUnderstood { address: self.address.clone() }
    }

    /// The forge's explanation of an error.
    fn error_message(&self, body: &Value) -> String {
        let message = ["message", "error"].iter().find_map(|key| body.get(key));
        let text = match message {
            Some(Value::String(text)) => text.clone(),
            // GitLab answers with an object of lists.
            Some(other) => other.to_string(),
            None => String::new(),
        };
        cut(&self.without_token(&text))
    }

    fn without_token(&self, text: &str) -> String {
        text.replace(self.token.expose().as_str(), HIDDEN)
    }
}

fn is_exhausted(headers: &HeaderMap) -> bool {
    headers.contains_key(RETRY_AFTER)
        || headers.get("x-ratelimit-remaining").is_some_and(|left| left.as_bytes() == b"0")
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER))
}

/// A text on one line, without characters that hide or reorder text, and cut to the limit.
fn cut(text: &str) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let clean: String =
        text.chars().map(|c| if is_odd(c) { ' ' } else { c }).take(MAX_QUOTED_CHARS).collect();
    clean.trim().to_owned()
}
