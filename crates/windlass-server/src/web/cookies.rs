//! The cookies of the web app: the session, the first visit, a sign-in attempt, the device, a notice, the theme.
//!
//! The session cookie holds the same token that `Authorization: Bearer` would. The API itself ignores cookies.

use axum::http::{HeaderMap, HeaderValue, header};
use windlass_core::inbound::forwarded::HttpScheme;

/// The purpose of a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The session.
    Session,
    /// Binds the sign-in form to the browser it was shown in.
    Visit,
    /// A sign-in attempt through the provider. The browser must send it when the provider's site redirects back.
    Attempt,
    /// Someone signed in on this device before, so that failures of others behind the same address do not delay them.
    Device,
    /// The result of the last form.
    Notice,
    /// Light or dark. The page's script writes it.
    Theme,
}

impl Cookie {
    /// Its name. Over HTTPS it has the prefix `__Host-`, with which browsers allow only this host to set it.
    fn name(self, scheme: HttpScheme) -> String {
        let word = match self {
            Cookie::Session => "windlass_session",
            Cookie::Visit => "windlass_visit",
            Cookie::Attempt => "windlass_attempt",
            Cookie::Device => "windlass_device",
            Cookie::Notice => "windlass_notice",
            Cookie::Theme => return "windlass_theme".to_owned(),
        };
        match scheme {
            HttpScheme::Https => format!("__Host-{word}"),
            HttpScheme::Http => word.to_owned(),
        }
    }

    /// Its value in a request.
    pub(super) fn read(self, headers: &HeaderMap, scheme: HttpScheme) -> Option<&str> {
        let name = self.name(scheme);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value)
    }

    /// The header that sets it for this many seconds; zero deletes it.
    pub(super) fn set(self, value: &str, seconds: u64, scheme: HttpScheme) -> Option<HeaderValue> {
        let secure = if scheme == HttpScheme::Https { "; Secure" } else { "" };
        let name = self.name(scheme);
        let (path, site) = match self {
            // Over HTTPS, its prefix requires the root path, and prevents other hosts from setting it.
            Cookie::Attempt if scheme == HttpScheme::Https => ("/", "Lax"),
            Cookie::Attempt => ("/app/sign-in/oidc", "Lax"),
            _ => ("/", "Strict"),
        };
        let text =
            format!("{name}={value}; Path={path}; HttpOnly; SameSite={site}; Max-Age={seconds}{secure}");
        HeaderValue::from_str(&text).ok()
    }
}
