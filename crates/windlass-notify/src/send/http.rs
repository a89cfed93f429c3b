//! Sends over https: one request, no redirects, no proxy, with limits for time and for the size of the response.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use windlass_core::time::Timestamp;
use windlass_outbound::{
    AddressGuard, Http, HttpClientError, HttpOptions, Proxies, TlsTrust, causes_of, refusal_of,
    refused_certificate,
};

use super::outcome::SendOutcome;
use super::outgoing_message::{OutgoingMessage, PlaintextPolicy};
use super::target::{HttpTarget, SendError};
use crate::render::{Payload, signature};

/// A receiver that takes longer to accept a connection counts as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the whole request.
const SEND_TIMEOUT: Duration = Duration::from_secs(15);

/// How much of a response is read to find the reason of an error.
const MAX_ANSWER: usize = 4096;

/// The HTTP client. The address of a receiver is resolved and checked before each request, and again when connecting.
#[derive(Clone, Debug)]
pub(super) struct HttpSender {
    http: Http,
    guard: AddressGuard,
    plain: PlaintextPolicy,
}

impl HttpSender {
    pub(super) fn new(plain: PlaintextPolicy, guard: &AddressGuard) -> Result<HttpSender, SendError> {
        let options = HttpOptions {
            connect_timeout: CONNECT_TIMEOUT,
            timeout: Some(SEND_TIMEOUT),
            trust: TlsTrust::System,
            proxies: Proxies::Never,
            port: None,
        };
        let http = Http::new(guard, options)
            .map_err(|error: HttpClientError| SendError::Tls { reason: error.to_string() })?;
        Ok(HttpSender { http, guard: guard.clone(), plain })
    }

    pub(super) async fn post(
        &self,
        http_target: &HttpTarget,
        outgoing: OutgoingMessage<'_>,
    ) -> Result<SendOutcome, SendError> {
        let Payload::Json(body) = outgoing.payload else { return Err(SendError::Mismatch) };
        let host = http_target.url.host_str().ok_or(SendError::BadAddress)?;
        let port = http_target.url.port_or_known_default().unwrap_or(443);
        let found = self.guard.resolve_async(without_brackets(host), port).await?;
        let is_on_this_machine = found.iter().all(|address| address.ip().is_loopback());
        if http_target.url.scheme() != "https"
            && !(is_on_this_machine && self.plain == PlaintextPolicy::OnThisMachine)
        {
            return Err(SendError::Plain);
        }
        let body = body.to_string();
        let mut request = self
            .http
            .request(Method::POST, http_target.url.clone())?
            .header(CONTENT_TYPE, "application/json")
            .header("x-windlass-delivery", outgoing.delivery)
            .header("x-windlass-event", outgoing.kind);
        if let Some(key) = &http_target.signing_key {
            let seconds = outgoing.now.as_millis() / 1000;
            let signed = signature(key.expose().as_bytes(), seconds, body.as_bytes());
            request = request.header("x-windlass-signature", signed);
        }
        if let Some(token) = &http_target.token {
            request = request.bearer_auth(token.expose());
        } else if let Some((user, password)) = &http_target.login {
            request = request.basic_auth(user.expose(), Some(password.expose()));
        }
        Ok(match request.body(body).send().await {
            Ok(mut response) => {
                let (status, headers) = (response.status(), response.headers().clone());
                classify(status, &headers, &read_beginning(&mut response).await, outgoing.now)
            }
            Err(error) => match refusal_of(&error) {
                Some(refusal) => return Err(refusal.into()),
                None => unreachable(host, &error),
            },
        })
    }
}

/// The reason of a failed connection goes only to the server's log: otherwise whoever may name a receiver could scan
/// the server's network for open ports. A rejected certificate is reported, because someone has to fix it.
fn unreachable(host: &str, error: &reqwest::Error) -> SendOutcome {
    if let Some(cause) = refused_certificate(error) {
        return SendOutcome::Retry { reason: format!("cannot trust {host}: {cause}"), after: None };
    }
    // The URL is left out: it may be a secret.
    tracing::info!(host, cause = causes_of(error), "could not reach a notification receiver");
    SendOutcome::Retry { reason: format!("could not reach {host}"), after: None }
}

/// A host without the brackets of an IPv6 address.
pub(super) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

async fn read_beginning(response: &mut reqwest::Response) -> String {
    let mut read = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        let room = MAX_ANSWER - read.len();
        read.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if read.len() >= MAX_ANSWER {
            break;
        }
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Classifies a response.
fn classify(status: StatusCode, headers: &HeaderMap, answer: &str, now: Timestamp) -> SendOutcome {
    let said = |words: &str| match answer.trim() {
        "" => format!("{words} (status {})", status.as_u16()),
        answer => format!("{words} (status {}): {answer}", status.as_u16()),
    };
    match status.as_u16() {
        200..=299 => SendOutcome::Done { answer: format!("status {}", status.as_u16()) },
        300..=399 => {
            SendOutcome::Permanent { reason: said("it redirects, and Windlass does not follow redirects") }
        }
        408 | 425 | 429 => {
            let after = headers.get(RETRY_AFTER).and_then(|value| retry_after(value, now));
            SendOutcome::Retry { reason: said("it limits requests"), after }
        }
        400..=499 => SendOutcome::Permanent { reason: said("it refuses the message") },
        _ => {
            let after = headers.get(RETRY_AFTER).and_then(|value| retry_after(value, now));
            SendOutcome::Retry { reason: said("it failed"), after }
        }
    }
}

/// Reads `Retry-After`: seconds, or a date.
fn retry_after(value: &HeaderValue, now: Timestamp) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = windlass_core::time::parse_http_date(text)?;
    Some(moment.elapsed_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_of(status: u16, retry: Option<&'static str>) -> SendOutcome {
        let headers = retry.map(|text| (RETRY_AFTER, HeaderValue::from_static(text))).into_iter().collect();
        let now = Timestamp::parse("2026-11-16T07:00:00Z").unwrap();
        classify(StatusCode::from_u16(status).unwrap(), &headers, "", now)
    }

    #[test]
    fn an_answer_means_done_later_or_never() {
        for status in [200, 201, 202, 204] {
            assert!(matches!(outcome_of(status, None), SendOutcome::Done { .. }), "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 410, 413] {
            assert!(matches!(outcome_of(status, None), SendOutcome::Permanent { .. }), "{status}");
        }
        for status in [408, 425, 429, 500, 502, 503, 599] {
            assert!(matches!(outcome_of(status, None), SendOutcome::Retry { after: None, .. }), "{status}");
        }
        for (text, seconds) in
            [("7", 7), ("Mon, 16 Nov 2026 07:01:00 GMT", 60), ("Mon, 16 Nov 2026 06:00:00 GMT", 0)]
        {
            let asked = Some(Duration::from_secs(seconds));
            assert!(
                matches!(outcome_of(429, Some(text)), SendOutcome::Retry { after, .. } if after == asked),
                "{text}"
            );
        }
        for text in ["-1", "soon", "1e999"] {
            assert!(matches!(outcome_of(503, Some(text)), SendOutcome::Retry { after: None, .. }), "{text}");
        }
    }
}
