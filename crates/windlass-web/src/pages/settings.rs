//! Settings: the account and its kill switch, its people, API tokens, the approval policy.

use askama::Template;
use windlass_api::permission::{Permission, Role};
use windlass_api::types::{
    AccountInfo, ErrorBody, InvitationInfo, Problem, ReceivedInvitation, SignsInWith, TokenInfo, UserInfo,
};
use windlass_core::redacted::Redacted;

use super::Allowed;
use crate::frame::{Frame, NavEntry};
use crate::words;

/// A secret that is shown only once.
#[derive(Clone, Debug)]
pub struct OneTimeSecret {
    /// The person or token it belongs to.
    pub owner: String,
    /// The secret.
    pub secret: Redacted<String>,
}

/// The account, the user's own settings, and the kill switch.
#[derive(Clone, Debug, Template)]
#[template(path = "settings.html")]
pub struct SettingsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The account.
    pub account: AccountInfo,
    /// The server's version.
    pub version: String,
}

/// The people of the account.
#[derive(Clone, Debug, Template)]
#[template(path = "people.html")]
pub struct PeoplePage {
    /// The frame of the page.
    pub frame: Frame,
    /// The people, sorted by e-mail address.
    pub people: Vec<UserInfo>,
    /// The open invitations, sorted by e-mail address.
    pub invitations: Vec<InvitationInfo>,
    /// The e-mail address in the form.
    pub email: String,
    /// The name in the form.
    pub name: String,
    /// Why the server rejected a request.
    pub error: Option<ErrorBody>,
    /// A new one-time password.
    pub one_time_secret: Option<OneTimeSecret>,
}

/// The invitations that the user has received.
#[derive(Clone, Debug, Template)]
#[template(path = "invitations.html")]
pub struct InvitationsPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The invitations, newest first.
    pub invitations: Vec<ReceivedInvitation>,
}

/// API tokens.
#[derive(Clone, Debug, Template)]
#[template(path = "tokens.html")]
pub struct TokensPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The tokens, newest first.
    pub tokens: Vec<TokenInfo>,
    /// The name in the form.
    pub name: String,
    /// The days in the form.
    pub days: String,
    /// The permissions that are checked in the form.
    pub checked: Vec<Permission>,
    /// Why the server rejected a request.
    pub error: Option<ErrorBody>,
    /// The secret of a new token.
    pub one_time_secret: Option<OneTimeSecret>,
}

/// The approval policy.
#[derive(Clone, Debug, Template)]
#[template(path = "policy.html")]
pub struct PolicyPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The policy as YAML, or the text that the user edited.
    pub text: String,
    /// The version on which the text is based.
    pub version: i64,
    /// Repositories that rules name and that no longer exist.
    pub unknown: Vec<String>,
    /// Problems in the text, each with its place.
    pub problems: Vec<Problem>,
    /// Why the server rejected it as a whole.
    pub error: Option<ErrorBody>,
}

/// One tab: URL, label, whether it is open, and why it is disabled.
pub(crate) struct Tab {
    pub(crate) href: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_here: bool,
    pub(crate) allowed: Allowed,
}

pub(super) fn tabs(frame: &Frame, here: &str) -> Vec<Tab> {
    let people = Allowed::unless(frame.why_not(Permission::GitopsAdmin));
    [
        ("/app/settings", "Account", Allowed::Yes),
        ("/app/settings/people", "People", people),
        ("/app/settings/invitations", "Invitations", Allowed::Yes),
        ("/app/settings/tokens", "API tokens", Allowed::Yes),
        ("/app/settings/policy", "Approval policy", Allowed::Yes),
        ("/app/settings/notifications", "Notifications", Allowed::Yes),
    ]
    .into_iter()
    .map(|(href, name, allowed)| Tab { href, name, is_here: href == here, allowed })
    .collect()
}

impl SettingsPage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings")
    }

    pub(crate) fn may_switch(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsApprove))
    }

    /// Every permission, and whether the user has it.
    pub(crate) fn permissions(&self) -> Vec<(&'static str, &'static str, bool)> {
        let has = |permission: &Permission| self.frame.me.permissions.contains(permission);
        Permission::ALL.iter().map(|it| (it.slug(), meaning(*it), has(it))).collect()
    }
}

impl PeoplePage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings/people")
    }

    pub(crate) fn roles(&self) -> impl Iterator<Item = (&'static Role, &'static str)> {
        Role::ALL.iter().map(|role| (role, role_meaning(*role)))
    }

    pub(crate) fn is_me(&self, person: &UserInfo) -> bool {
        person.id == self.frame.me.user_id
    }

    pub(crate) fn is_sso(&self, person: &UserInfo) -> bool {
        person.signs_in_with == SignsInWith::Sso
    }
}

impl InvitationsPage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings/invitations")
    }
}

impl TokensPage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings/tokens")
    }

    /// Every permission: spelling, meaning, whether it is checked, and whether the user may grant it.
    pub(crate) fn choices(&self) -> Vec<(&'static str, &'static str, bool, bool)> {
        let has = |permission: &Permission| self.frame.me.permissions.contains(permission);
        Permission::ALL
            .iter()
            .map(|it| (it.slug(), meaning(*it), self.checked.contains(it) && has(it), has(it)))
            .collect()
    }

    /// The state of a token and its tone.
    pub(crate) fn state(&self, token: &TokenInfo) -> (&'static str, &'static str) {
        let is_over = token.expires_at.as_ref().is_some_and(|at| *at <= self.frame.now.to_string());
        match (&token.revoked_at, is_over) {
            (Some(_), _) => ("calm", "Revoked"),
            (None, true) => ("bad", "Expired"),
            (None, false) => ("good", "Active"),
        }
    }
}

impl PolicyPage {
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        tabs(&self.frame, "/app/settings/policy")
    }

    pub(crate) fn may_save(&self) -> Allowed {
        Allowed::unless(self.frame.why_not(Permission::GitopsAdmin))
    }
}

fn meaning(permission: Permission) -> &'static str {
    match permission {
        Permission::GitopsRead => "see repositories, runs, proposals, drift, events and the audit log",
        Permission::GitopsWrite => {
            "register, change and remove repositories; edit proposals; test notifications"
        }
        Permission::GitopsSync => "start syncs and test connections",
        Permission::GitopsApprove => "approve and reject; halt and resume",
        Permission::GitopsAdmin => "change the policy, people and everyone’s tokens",
        Permission::FleetRead => "see resources",
        Permission::FleetWrite => "change resources directly, without git",
        Permission::FleetExportSecrets => "export secret values (audited)",
    }
}

fn role_meaning(role: Role) -> &'static str {
    match role {
        Role::Viewer => "sees everything, changes nothing",
        Role::Operator => "registers repositories, syncs and edits; cannot approve",
        Role::Approver => "syncs, approves and rejects",
        Role::Admin => "everything in the account",
    }
}
