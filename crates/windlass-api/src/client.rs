//! A typed client of the server.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_core::redacted::Redacted;

use crate::endpoint::{Method, Operation};
use crate::types::{ErrorBody, ErrorEnvelope};

/// A response whose body is read piece by piece.
pub type StreamedResponse = reqwest::Response;

/// Longer than the longest wait the server offers.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(90);

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("`{0}` is not a server address")]
    Address(String),
    /// What should vouch for the server is no certificate.
    #[error("the CA certificate is not in PEM format")]
    Authority,
    /// The server could not be reached.
    #[error("could not reach {server}")]
    Unreachable {
        /// Where.
        server: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// The server refused or failed.
    #[error("{}", body.message)]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it said.
        body: ErrorBody,
    },
    /// The answer is not what this version understands.
    #[error("cannot parse the server's response: {0}")]
    Answer(String),
}

impl ClientError {
    /// A server that could not be reached, or that was cut off.
    pub fn unreachable(server: &str, source: reqwest::Error) -> ClientError {
        // The server is named already; a whole address would stand in the middle of the causes.
        ClientError::Unreachable { server: server.to_owned(), source: source.without_url() }
    }
}

/// A connection to a server.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    server: url::Url,
    token: Option<Redacted<String>>,
}

/// A call that is being put together.
#[derive(Debug)]
pub struct ApiCall<'c> {
    client: &'c Client,
    method: Method,
    url: url::Url,
    headers: HeaderMap,
    body: Option<serde_json::Value>,
    timeout: Option<Duration>,
}

impl Client {
    /// A client of the server at this address, for example `http://127.0.0.1:3000`.
    pub fn new(server: &str, token: Option<Redacted<String>>) -> Result<Client, ClientError> {
        Client::with_authority(server, token, None)
    }

    /// The same, for a server whose certificate a private authority vouches for: `authority` holds its certificates in
    /// PEM, which are trusted beside the system's.
    pub fn with_authority(
        server: &str,
        token: Option<Redacted<String>>,
        authority: Option<&str>,
    ) -> Result<Client, ClientError> {
        let wrong = || ClientError::Address(server.to_owned());
        let url = url::Url::parse(server).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        let certificates = authority.map_or(Ok(Vec::new()), certificates)?;
        let builder = certificates
            .into_iter()
            .fold(reqwest::Client::builder(), |builder, known| builder.add_root_certificate(known));
        let http = builder
            .timeout(DEFAULT_TIMEOUT)
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|source| ClientError::unreachable(server, source))?;
        Ok(Client { http, server: url, token })
    }

    /// The server's address.
    pub fn server(&self) -> &str {
        self.server.as_str().trim_end_matches('/')
    }

    /// Begins a call. `parts` fill the path's `{…}` in order.
    pub fn call(&self, operation: Operation, parts: &[&str]) -> ApiCall<'_> {
        let endpoint = operation.endpoint();
        let mut url = self.server.clone();
        let mut parts = parts.iter();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            for segment in endpoint.path.split('/').filter(|segment| !segment.is_empty()) {
                match segment.starts_with('{') {
                    true => segments.push(parts.next().copied().unwrap_or_default()),
                    false => segments.push(segment),
                };
            }
        }
        ApiCall {
            client: self,
            method: endpoint.method,
            url,
            headers: HeaderMap::new(),
            body: None,
            timeout: None,
        }
    }
}

/// The certificates of a PEM file, of which there is at least one.
fn certificates(pem: &str) -> Result<Vec<reqwest::Certificate>, ClientError> {
    let found = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(|_| ClientError::Authority)?;
    if found.is_empty() { Err(ClientError::Authority) } else { Ok(found) }
}

impl ApiCall<'_> {
    /// Adds something after `?`.
    pub fn query(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.url.query_pairs_mut().append_pair(name, value.as_ref());
        self
    }

    /// Adds something after `?` if there is something.
    pub fn query_if(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: &impl Serialize) -> Self {
        self.body = serde_json::to_value(body).ok();
        self
    }

    /// Lets the answer take as long as this: for a stream, which has no end of its own.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls, and reads the answer.
    pub async fn send<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        let text = self.send_text().await?;
        serde_json::from_str(&text).map_err(|error| ClientError::Answer(error.to_string()))
    }

    /// Calls, for an answer that is text, or none.
    pub async fn send_text(self) -> Result<String, ClientError> {
        let server = self.client.server().to_owned();
        let response = self.send_response().await?;
        response.text().await.map_err(|source| ClientError::unreachable(&server, source))
    }

    /// Calls, for an answer that is read as it comes.
    pub async fn send_response(self) -> Result<StreamedResponse, ClientError> {
        let server = self.client.server().to_owned();
        let unreachable = |source| ClientError::unreachable(&server, source);
        let method = reqwest::Method::from_bytes(self.method.as_str().as_bytes())
            .map_err(|error| ClientError::Answer(error.to_string()))?;
        let mut request = self.client.http.request(method, self.url).headers(self.headers);
        if let Some(token) = &self.client.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
                .map_err(|_| ClientError::Answer("the token is not one".to_owned()))?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        if let Some(body) = &self.body {
            request = request.json(body);
        }
        if let Some(timeout) = self.timeout {
            request = request.timeout(timeout);
        }
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.map_err(unreachable)?;
        Err(match serde_json::from_str::<ErrorEnvelope>(&text) {
            Ok(envelope) => ClientError::Refused { status: status.as_u16(), body: envelope.error },
            Err(_) => ClientError::Answer(format!("HTTP {status}; is {server} a Windlass server?")),
        })
    }
}
