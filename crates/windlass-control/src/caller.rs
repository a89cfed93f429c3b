//! Who asks, and what they may.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_api::permission::{Permission, Role};
use windlass_core::access::RoleSource;
use windlass_core::id::{AccountId, SessionId, TokenId, UserId};
use windlass_core::time::Timestamp;
use windlass_store::{Actor, Member, Origin};

/// Who is asking.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The account they act in.
    pub account_id: AccountId,
    /// What it is called.
    pub account_name: String,
    /// The person.
    pub user_id: UserId,
    /// Their e-mail address.
    pub email: String,
    /// Their role in the account.
    pub role: Role,
    /// What they may do there.
    pub permissions: BTreeSet<Permission>,
    /// Id and name of the API token, if one is used.
    pub token: Option<(TokenId, String)>,
    /// The session, if they signed in.
    pub session_id: Option<SessionId>,
    /// Whether they administer the installation.
    pub is_root: bool,
    /// Whether they have a one-time password still.
    pub must_change_password: bool,
    /// Where the request comes from.
    pub address: String,
    /// The id of the request.
    pub request_id: String,
}

impl Identity {
    /// The same for the audit log.
    pub fn actor(&self) -> Actor {
        let name = match &self.token {
            Some((_, name)) => format!("{} (token {name})", self.email),
            None => self.email.clone(),
        };
        Actor {
            name,
            id: Some(self.user_id.clone()),
            token_id: self.token.as_ref().map(|(id, _)| id.clone()),
            address: Some(self.address.clone()),
            request_id: Some(self.request_id.clone()),
        }
    }
}

/// Whether a member's role holds now.
pub fn is_role_valid(member: &Member, now: Timestamp) -> bool {
    let source = match member.origin {
        Origin::Hand => RoleSource::Manual,
        Origin::Groups => RoleSource::Groups { proved_at: member.proved_at },
    };
    source.is_valid_at(now, SESSION_LIFETIME)
}

/// The role that a member has now; none if they are shut out, or if what gave it holds no longer.
pub fn current_role(member: &Member, now: Timestamp) -> Option<Role> {
    let is_shut_out = member.user.disabled_at.is_some() || member.user.email.is_empty();
    Some(member.role).filter(|_| !is_shut_out && is_role_valid(member, now))
}

/// How long a session lasts, and what someone's groups give them.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);
