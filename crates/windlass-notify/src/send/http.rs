//! Sending over https: one request, no redirects, no proxy, bounded in time and in what is read of the answer.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, StatusCode, redirect};
use windlass_core::time::Timestamp;

use super::address::{Plain, forbidden, resolve};
use super::target::{SendError, Web};
use super::{Outcome, Parcel};
use crate::render::{Payload, signature};

/// A receiver that does not accept a connection within this is down.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// All of it.
const WITHIN: Duration = Duration::from_secs(15);

/// As much of an answer as says why.
const MAX_ANSWER: usize = 4096;

/// Clients for requests: names are resolved by our own rules, in the moment of connecting.
#[derive(Clone, Debug)]
pub(super) struct Clients {
    client: Client,
    plain: Plain,
}

/// Resolves names as [`resolve`] does, for the client.
struct Rules(Plain);

impl reqwest::dns::Resolve for Rules {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let plain = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> =
                found.filter(|address| forbidden(address.ip(), plain).is_none()).collect();
            Ok(Box::new(allowed.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

impl Clients {
    pub(super) fn new(plain: Plain) -> Result<Clients, SendError> {
        let client = Client::builder()
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .timeout(WITHIN)
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Rules(plain))
            .build()
            .map_err(|error| SendError::Tls { reason: error.without_url().to_string() })?;
        Ok(Clients { client, plain })
    }

    pub(super) async fn post(&self, web: &Web, parcel: Parcel<'_>) -> Result<Outcome, SendError> {
        let Payload::Json(body) = parcel.payload else { return Err(SendError::Mismatch) };
        let host = web.url.host().ok_or(SendError::BadAddress)?.to_owned();
        let port = web.url.port_or_known_default().unwrap_or(443);
        let found = resolve(as_ref(&host), port, self.plain).await?;
        let is_here = found.iter().all(|address| address.ip().is_loopback());
        if web.url.scheme() != "https" && !(is_here && self.plain == Plain::OnThisMachine) {
            return Err(SendError::Plain);
        }
        let body = body.to_string();
        let mut request = self
            .client
            .post(web.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header("x-windlass-delivery", parcel.delivery)
            .header("x-windlass-event", parcel.kind);
        if let Some(key) = &web.signing_key {
            let seconds = parcel.now.as_millis() / 1000;
            let signed = signature(key.expose().as_bytes(), seconds, body.as_bytes());
            request = request.header("x-windlass-signature", signed);
        }
        if let Some(token) = &web.token {
            request = request.bearer_auth(token.expose());
        } else if let Some((user, password)) = &web.login {
            request = request.basic_auth(user.expose(), Some(password.expose()));
        }
        Ok(match request.body(body).send().await {
            Ok(mut response) => {
                let (status, headers) = (response.status(), response.headers().clone());
                classify(status, &headers, &beginning(&mut response).await, parcel.now)
            }
            Err(error) => {
                Outcome::Later { reason: format!("cannot reach {host}: {}", why(error)), after: None }
            }
        })
    }
}

fn as_ref(host: &url::Host<String>) -> url::Host<&str> {
    match host {
        url::Host::Domain(domain) => url::Host::Domain(domain),
        url::Host::Ipv4(address) => url::Host::Ipv4(*address),
        url::Host::Ipv6(address) => url::Host::Ipv6(*address),
    }
}

/// The deepest cause, without the address: that may be a secret.
fn why(error: reqwest::Error) -> String {
    if error.is_timeout() {
        return "it did not answer in time".to_owned();
    }
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

async fn beginning(response: &mut reqwest::Response) -> String {
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

/// What an answer means.
fn classify(status: StatusCode, headers: &HeaderMap, answer: &str, now: Timestamp) -> Outcome {
    let said = |words: &str| match answer.trim() {
        "" => format!("{words} (status {})", status.as_u16()),
        answer => format!("{words} (status {}): {answer}", status.as_u16()),
    };
    match status.as_u16() {
        200..=299 => Outcome::Done { answer: format!("status {}", status.as_u16()) },
        300..=399 => Outcome::Never { reason: said("it redirects, which is not followed") },
        408 | 425 | 429 => {
            let after = headers.get(RETRY_AFTER).and_then(|value| retry_after(value, now));
            Outcome::Later { reason: said("it asks to come back later"), after }
        }
        400..=499 => Outcome::Never { reason: said("it refuses the message") },
        _ => {
            let after = headers.get(RETRY_AFTER).and_then(|value| retry_after(value, now));
            Outcome::Later { reason: said("it failed"), after }
        }
    }
}

/// Seconds, or a date.
fn retry_after(value: &HeaderValue, now: Timestamp) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let moment = windlass_core::time::parse_http_date(text)?;
    Some(moment.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(status: u16, retry: Option<&'static str>) -> Outcome {
        let headers = retry.map(|text| (RETRY_AFTER, HeaderValue::from_static(text))).into_iter().collect();
        let now = Timestamp::parse("2026-11-16T07:00:00Z").unwrap();
        classify(StatusCode::from_u16(status).unwrap(), &headers, "", now)
    }

    #[test]
    fn an_answer_means_done_later_or_never() {
        for status in [200, 201, 202, 204] {
            assert!(matches!(meant(status, None), Outcome::Done { .. }), "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 410, 413] {
            assert!(matches!(meant(status, None), Outcome::Never { .. }), "{status}");
        }
        for status in [408, 425, 429, 500, 502, 503, 599] {
            assert!(matches!(meant(status, None), Outcome::Later { after: None, .. }), "{status}");
        }
        for (text, seconds) in
            [("7", 7), ("Mon, 16 Nov 2026 07:01:00 GMT", 60), ("Mon, 16 Nov 2026 06:00:00 GMT", 0)]
        {
            let asked = Some(Duration::from_secs(seconds));
            assert!(
                matches!(meant(429, Some(text)), Outcome::Later { after, .. } if after == asked),
                "{text}"
            );
        }
        for text in ["-1", "soon", "1e999"] {
            assert!(matches!(meant(503, Some(text)), Outcome::Later { after: None, .. }), "{text}");
        }
    }
}
