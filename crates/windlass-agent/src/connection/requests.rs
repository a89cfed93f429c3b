//! Requests to the server, each with a limit of time and size.

use std::time::Duration;

use http::header::{CONTENT_RANGE, CONTENT_TYPE, RANGE, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::SendRequest;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use windlass_api::agent::{BLOBS, STREAM};
use windlass_api::types::ErrorEnvelope;
use windlass_core::display::sanitize_for_terminal;
use windlass_core::host::BlobDigest;

use super::server_address::ServerAddress;

/// How long the server may take for a response, and how long between two parts of a body.
const RESPONSE_WITHIN: Duration = Duration::from_secs(30);
/// The largest error that the agent reads.
const MAX_ERROR: usize = 64 * 1024;
/// The longest pause that the server can ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(600);

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no connection.
    #[error("not connected")]
    NotConnected,
    /// The agent is being stopped.
    #[error("the agent is stopping")]
    Stopping,
    /// The server cannot be reached, or the connection broke.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// The server's certificate is not of a trusted authority, or the server does not accept the agent's.
    #[error("no trusted connection: {0}")]
    NotTrusted(String),
    /// The server refused.
    #[error("the server refused ({status} {code}): {message}")]
    Refused {
        /// The status.
        status: u16,
        /// The code of the error.
        code: String,
        /// What the server says.
        message: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The response cannot be understood.
    #[error("the response of the server cannot be used: {0}")]
    Malformed(String),
}

impl RequestError {
    /// Whether the server answered that it does not accept the agent's certificate.
    pub(crate) fn is_unauthorized(&self) -> bool {
        matches!(self, RequestError::Refused { status: 401 | 403, .. })
    }

    /// Whether the server answered with this code.
    pub(crate) fn has_code(&self, wanted: &str) -> bool {
        matches!(self, RequestError::Refused { code, .. } if code == wanted)
    }

    /// Whether the same request cannot succeed later.
    pub(crate) fn is_permanent(&self) -> bool {
        matches!(self, RequestError::Refused { status: 400 | 413 | 415 | 422, .. })
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            RequestError::NotTrusted(_) => {
                "check that the address leads to the agent listener of the right server, and that nothing between opens TLS".into()
            }
            RequestError::Refused { status: 401 | 403 | 409 | 410, .. } => {
                "the enrolment key may be used or expired, or the agent revoked: make a new key with `windlass node enroll NAME`"
                    .into()
            }
            RequestError::Refused { .. } | RequestError::Malformed(_) => {
                "look at the server's log; server and agent may need the same version".into()
            }
            RequestError::NotConnected | RequestError::Unreachable(_) | RequestError::Stopping => {
                "check the address, DNS, and that outgoing connections to its port are allowed; `--server URL` uses another address"
                    .into()
            }
        }
    }
}

/// The part of a blob that a response starts with.
#[derive(Debug)]
pub(crate) struct BlobPart {
    /// The offset of its first byte.
    pub(crate) from: u64,
    pub(crate) body: Incoming,
}

impl BlobPart {
    /// The next bytes; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        timeout(RESPONSE_WITHIN, next_bytes(&mut self.body)).await.unwrap_or_else(|_| Err(silent()))
    }
}

/// Asks the server over an open connection.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Requests {
    pub(crate) fn new(sender: SendRequest<Full<Bytes>>, address: &ServerAddress) -> Requests {
        Requests { sender, authority: address.to_string() }
    }

    /// Sends JSON and reads JSON of at most `limit` bytes.
    pub(crate) async fn post<B: Serialize, T: DeserializeOwned>(
        &self,
        path: &str,
        body: &B,
        limit: usize,
    ) -> Result<T, RequestError> {
        let body = serde_json::to_vec(body).map_err(|error| RequestError::Malformed(error.to_string()))?;
        let request = self.request(Method::POST, path).header(CONTENT_TYPE, "application/json");
        read_json(self.send(request, body).await?, limit).await
    }

    /// Reads JSON of at most `limit` bytes. `None` if there is nothing.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        limit: usize,
    ) -> Result<Option<T>, RequestError> {
        match self.send(self.request(Method::GET, path), Vec::new()).await {
            Ok(response) => read_json(response, limit).await.map(Some),
            Err(RequestError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the stream of news.
    pub(crate) async fn stream(&self) -> Result<Incoming, RequestError> {
        let response = self.send(self.request(Method::GET, STREAM), Vec::new()).await?;
        Ok(response.into_body())
    }

    /// Reads a blob from this offset on. The server may send it from the start. `None` if it ends before the offset.
    pub(crate) async fn blob(
        &self,
        digest: &BlobDigest,
        from: u64,
    ) -> Result<Option<BlobPart>, RequestError> {
        let mut request = self.request(Method::GET, &format!("{BLOBS}/{digest}"));
        if from > 0 {
            request = request.header(RANGE, format!("bytes={from}-"));
        }
        let response = match self.send(request, Vec::new()).await {
            Err(RequestError::Refused { status: 416, .. }) => return Ok(None),
            response => response?,
        };
        let from = match response.status() {
            StatusCode::PARTIAL_CONTENT => first_byte(&response)
                .ok_or_else(|| RequestError::Malformed("a part of a blob without its place".to_owned()))?,
            _ => 0,
        };
        Ok(Some(BlobPart { from, body: response.into_body() }))
    }

    fn request(&self, method: Method, path: &str) -> http::request::Builder {
        Request::builder().method(method).uri(format!("https://{}{path}", self.authority))
    }

    async fn send(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, RequestError> {
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| RequestError::Malformed(error.to_string()))?;
        // Every clone shares the connection.
        let mut sender = self.sender.clone();
        let sent = timeout(RESPONSE_WITHIN, async {
            sender.ready().await?;
            sender.send_request(request).await
        });
        let response = match sent.await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(RequestError::Unreachable(error_chain(&error))),
            Err(_) => return Err(silent()),
        };
        match response.status().is_success() {
            true => Ok(response),
            false => Err(refusal(response).await),
        }
    }
}

fn silent() -> RequestError {
    RequestError::Unreachable(format!("no answer within {} s", RESPONSE_WITHIN.as_secs()))
}

/// The next bytes of a body; `None` at its end.
pub(super) async fn next_bytes(body: &mut Incoming) -> Result<Option<Bytes>, RequestError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| RequestError::Unreachable(error_chain(&error)))?;
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

async fn read_json<T: DeserializeOwned>(
    response: Response<Incoming>,
    limit: usize,
) -> Result<T, RequestError> {
    let bytes = read_all(response.into_body(), limit).await?;
    serde_json::from_slice(&bytes).map_err(|error| RequestError::Malformed(error.to_string()))
}

async fn read_all(body: Incoming, limit: usize) -> Result<Bytes, RequestError> {
    match timeout(RESPONSE_WITHIN, Limited::new(body, limit).collect()).await {
        Err(_) => Err(silent()),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(RequestError::Malformed(format!("it is longer than {limit} bytes")))
        }
        Ok(Err(error)) => Err(RequestError::Unreachable(error.to_string())),
    }
}

/// The error in a response. What the server wrote is shown without control characters, and not at length.
async fn refusal(response: Response<Incoming>) -> RequestError {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let retry_after = retry_after.map(|seconds| Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    let body = read_all(response.into_body(), MAX_ERROR).await.unwrap_or_default();
    let shown = |text: &str| sanitize_for_terminal(text).chars().take(300).collect::<String>();
    let (code, message) = match serde_json::from_slice::<ErrorEnvelope>(&body) {
        Ok(ErrorEnvelope { error }) => (shown(&error.code), shown(&error.message)),
        Err(_) => (String::new(), status.canonical_reason().unwrap_or("no reason given").to_owned()),
    };
    RequestError::Refused { status: status.as_u16(), code, message, retry_after }
}

/// The offset in `Content-Range: bytes 100-199/200`.
fn first_byte(response: &Response<Incoming>) -> Option<u64> {
    let range = response.headers().get(CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.parse().ok()
}

fn error_chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
