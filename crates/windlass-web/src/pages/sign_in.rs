//! Pages around the app itself: signing in, choosing a password, errors, and the way in from other sites.

use askama::Template;
use windlass_api::types::ErrorBody;

use crate::frame::{Frame, Theme};

/// The form to sign in.
#[derive(Clone, Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// Light or dark.
    pub theme: Theme,
    /// What the form sends back.
    pub csrf: String,
    /// Where to go afterwards.
    pub next: String,
    /// What was typed.
    pub email: String,
    /// What was typed.
    pub account: String,
    /// Why it did not work.
    pub problem: Option<ErrorBody>,
    /// The provider through which people sign in.
    pub sso: Option<Sso>,
    /// Whether passwords are asked for.
    pub form: PasswordForm,
}

/// The way over a provider of identities.
#[derive(Clone, Debug)]
pub struct Sso {
    /// What people call it.
    pub name: String,
    /// Where it begins.
    pub href: String,
}

/// Whether passwords are asked for.
#[derive(Clone, Debug)]
pub enum PasswordForm {
    /// They are.
    Shown,
    /// Only behind this address: they are for administrators of the installation.
    AtUrl(String),
}

/// The form to choose a password.
#[derive(Clone, Debug, Template)]
#[template(path = "password.html")]
pub struct PasswordPage {
    /// What surrounds it.
    pub frame: Frame,
    /// Why it did not work.
    pub problem: Option<ErrorBody>,
}

impl SignInPage {
    fn theme_slug(&self) -> &'static str {
        self.theme.slug()
    }
}

impl PasswordPage {
    fn theme_slug(&self) -> &'static str {
        self.frame.theme.slug()
    }
}

/// A page that says what went wrong and what to do.
#[derive(Clone, Debug, Template)]
#[template(path = "trouble.html")]
pub struct ErrorPage {
    /// Light or dark.
    pub theme: Theme,
    /// The status of the answer.
    pub status: u16,
    /// What went wrong.
    pub error: ErrorBody,
}

impl ErrorPage {
    fn theme_slug(&self) -> &'static str {
        self.theme.slug()
    }

    fn title(&self) -> &'static str {
        match self.status {
            403 => "Not allowed",
            404 => "Page not found",
            409 | 412 => "Changed by someone else",
            400..500 => "Request failed",
            _ => "Internal error",
        }
    }
}

/// A page that loads the same address again, this time from here: a browser then sends the session's cookie, which it
/// keeps back when a link on another site is followed.
#[derive(Clone, Debug, Template)]
#[template(path = "bounce.html")]
pub struct RedirectPage {
    /// The address.
    pub to: String,
}
