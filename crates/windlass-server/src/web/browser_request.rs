//! The context of a browser's request, and the signatures that bind forms and notices to a session.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use windlass_control::clock::now;
use windlass_control::refusal::Refusal;
use windlass_core::inbound::forwarded::HttpScheme;
use windlass_web::frame::{Notice, Theme, Tone};

use crate::http::error::HttpError;
use crate::http::request::header_text;
use crate::state::Server;
use crate::web::cookies::Cookie;

/// The most lines of a notice: a cookie holds at most 4 KiB.
const MAX_LINES: usize = 8;

/// The most characters of a line of a notice.
const MAX_LINE: usize = 160;

/// A browser's request for a page.
#[derive(Clone, Debug)]
pub(super) struct BrowserRequest {
    /// Light or dark.
    pub(super) theme: Theme,
    /// What forms are bound to: the session, or the visit cookie before the sign-in.
    pub(super) binding: String,
    /// The result of the last form, to be shown once.
    pub(super) notice: Option<Notice>,
    /// The `Authorization` header that is equivalent to the session cookie.
    pub(super) authorization: Option<String>,
    /// The value of the device cookie.
    pub(super) device: Option<String>,
    /// The last event before the page was loaded. Any later event makes the page reload its content.
    pub(super) seen: i64,
    /// The page's own address.
    pub(super) here: String,
    /// The scheme that the browser used; cookies depend on it.
    pub(super) scheme: HttpScheme,
    pub(super) address: String,
    pub(super) request_id: String,
}

impl FromRequestParts<Server> for BrowserRequest {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<BrowserRequest, HttpError> {
        // The guard inserts it before it calls any handler.
        Ok(parts.extensions.get::<BrowserRequest>().cloned().ok_or_else(Refusal::not_found)?)
    }
}

impl BrowserRequest {
    pub(super) fn csrf(&self, server: &Server) -> String {
        sign(server.keys().signing_key(), "form", &self.binding)
    }
}

pub(super) fn theme_of(headers: &HeaderMap, scheme: HttpScheme) -> Theme {
    Cookie::Theme.read(headers, scheme).map(Theme::of).unwrap_or_default()
}

/// The path and query of the request, to return to later.
pub(super) fn path_and_query_of(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| "/app".to_owned(), |asked| asked.as_str().to_owned())
}

/// The signature of a text, valid for one purpose.
fn sign(key: &[u8], purpose: &str, text: &str) -> String {
    let key = EncodingKey::from_secret(key);
    let message = json!(["web", purpose, text]).to_string();
    jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap_or_default()
}

/// Whether the token of a form is valid for this binding.
pub(super) fn is_bound(server: &Server, binding: &str, given: &str) -> bool {
    server.keys().accepted_keys(now()).any(|key| {
        let expected = sign(key, "form", binding);
        !expected.is_empty() && bool::from(expected.as_bytes().ct_eq(given.as_bytes()))
    })
}

/// Whether the browser's headers show that a page of this server, or no page, sent the request.
pub(crate) fn is_from_here(headers: &HeaderMap, server: &Server) -> bool {
    if header_text(headers, "sec-fetch-site").is_some_and(|site| site != "same-origin") {
        return false;
    }
    let Some(origin) = headers.get("origin") else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    if server.config().control.public_url.as_deref() == Some(origin) {
        return true;
    }
    let host = header_text(headers, "host");
    let of_origin = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
    host.is_some() && of_origin == host
}

/// Whether the person followed a link on another site: the browser then does not send the session cookie.
pub(super) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let is_cross = header_text(headers, "sec-fetch-site")
        .is_some_and(|site| site == "cross-site" || site == "same-site");
    is_cross && header_text(headers, "sec-fetch-mode").is_none_or(|mode| mode == "navigate")
}

/// The text, if it is a path of the app: never another host, never a character that could inject a header.
pub(super) fn local_path(path: &str) -> Option<&str> {
    let is_ours = path == "/app" || path.starts_with("/app/") || path.starts_with("/app?");
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    (is_ours && is_plain).then_some(path)
}

/// A notice as the value of a cookie, valid for this binding only.
pub(super) fn write_notice(server: &Server, binding: &str, notice: &Notice) -> String {
    let cut = |text: &String| text.chars().take(MAX_LINE).collect::<String>();
    let lines: Vec<String> = notice.lines.iter().take(MAX_LINES).map(cut).collect();
    let text = json!([notice.tone.slug(), cut(&notice.message), lines]).to_string();
    let signature = sign(server.keys().signing_key(), "notice", &format!("{binding} {text}"));
    format!("{}.{signature}", URL_SAFE_NO_PAD.encode(text))
}

/// The notice in a cookie, if it was written for this binding.
pub(super) fn read_notice(server: &Server, binding: &str, value: &str) -> Option<Notice> {
    let (encoded, signature) = value.split_once('.')?;
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(encoded).ok()?).ok()?;
    let expected = sign(server.keys().signing_key(), "notice", &format!("{binding} {text}"));
    if !bool::from(expected.as_bytes().ct_eq(signature.as_bytes())) {
        return None;
    }
    let (tone, message, lines): (String, String, Vec<String>) =
        serde_json::from_str::<Value>(&text).ok().and_then(|value| serde_json::from_value(value).ok())?;
    Some(Notice { tone: Tone::from_slug(&tone)?, message, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_app_are_allowed_as_return_addresses() {
        for good in ["/app", "/app/approvals?q=a&kind=node", "/app?x=1"] {
            assert_eq!(local_path(good), Some(good));
        }
        for bad in [
            "",
            "//evil.example",
            "/application",
            "https://evil.example/app",
            "/app/\\evil",
            "/app/\r\nset-cookie: a",
            "/app/ x",
            "javascript:alert(1)",
        ] {
            assert_eq!(local_path(bad), None, "{bad}");
        }
    }
}
