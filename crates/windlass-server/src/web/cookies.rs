//! The cookies of the web app: the session, the first visit, a sign-in under way, the device, a notice, the theme.
//!
//! The session's cookie holds the same token that `Authorization: Bearer` would; the API itself never looks at cookies.

use axum::http::{HeaderMap, HeaderValue, header};
use windlass_core::inbound::forwarded::HttpScheme;

/// What a cookie is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The session.
    Session,
    /// Binds the sign-in form to the browser it was shown in.
    Visit,
    /// A sign-in through the provider that is under way. The browser comes back from another site, and brings it.
    Attempt,
    /// That someone signed in on this device before, so that neighbours behind the same address are not in their way.
    Device,
    /// What was just done.
    Notice,
    /// Light or dark. The script writes it.
    Theme,
}

impl Cookie {
    /// Its name. Behind https the browser itself sees to it that nobody but this host can set it.
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

    /// The header that sets it for so many seconds; zero takes it away.
    pub(super) fn set(self, value: &str, seconds: u64, scheme: HttpScheme) -> Option<HeaderValue> {
        let secure = if scheme == HttpScheme::Https { "; Secure" } else { "" };
        let name = self.name(scheme);
        let (path, site) = match self {
            // Behind https its name demands the root, and keeps neighbouring hosts from setting it.
            Cookie::Attempt if scheme == HttpScheme::Https => ("/", "Lax"),
            Cookie::Attempt => ("/app/sign-in/oidc", "Lax"),
            _ => ("/", "Strict"),
        };
        let text =
            format!("{name}={value}; Path={path}; HttpOnly; SameSite={site}; Max-Age={seconds}{secure}");
        HeaderValue::from_str(&text).ok()
    }
}
