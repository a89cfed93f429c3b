//! Pages outside the frame: signing in, changing the password, errors, and redirects from other sites.

use askama::Template;
use windlass_api::types::ErrorBody;

use crate::frame::{Frame, Theme};

/// The sign-in form.
#[derive(Clone, Debug, Template)]
#[template(path = "sign_in.html")]
pub struct SignInPage {
    /// Light or dark.
    pub theme: Theme,
    /// The CSRF token of the form.
    pub csrf: String,
    /// The page to open after signing in.
    pub next: String,
    /// The e-mail address that was typed.
    pub email: String,
    /// The account that was typed.
    pub account: String,
    /// Why signing in failed.
    pub problem: Option<ErrorBody>,
    /// The single sign-on provider.
    pub sso: Option<Sso>,
    /// Whether the password form is shown.
    pub form: PasswordForm,
}

/// The link to a single sign-on provider.
#[derive(Clone, Debug)]
pub struct Sso {
    /// Its name.
    pub name: String,
    /// The URL that starts the sign-in.
    pub href: String,
}

/// Whether the password form is shown.
#[derive(Clone, Debug)]
pub enum PasswordForm {
    /// It is shown.
    Shown,
    /// It is at this URL: only administrators of the installation may use passwords.
    AtUrl(String),
}

/// The form to change the password.
#[derive(Clone, Debug, Template)]
#[template(path = "password.html")]
pub struct PasswordPage {
    /// The frame of the page.
    pub frame: Frame,
    /// Why it failed.
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

/// An error with its help.
#[derive(Clone, Debug, Template)]
#[template(path = "trouble.html")]
pub struct ErrorPage {
    /// Light or dark.
    pub theme: Theme,
    /// The HTTP status.
    pub status: u16,
    /// The error.
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

/// A page that loads the same URL again, this time from this site: a browser then sends the session cookie, which it
/// omits when the user follows a link from another site.
#[derive(Clone, Debug, Template)]
#[template(path = "bounce.html")]
pub struct RedirectPage {
    /// The URL.
    pub to: String,
}
