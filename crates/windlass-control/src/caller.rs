//! The caller of a request, and their permissions.

use std::collections::BTreeSet;
use std::time::Duration;

use windlass_api::permission::{Permission, Role};
use windlass_core::access::RoleSource;
use windlass_core::agent::Agent;
use windlass_core::id::{AccountId, SessionId, TokenId, UserId};
use windlass_core::time::Timestamp;
use windlass_store::{Actor, Member, Origin};

/// The caller of a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A person who signed in, or a program with a person's token.
    Person(Identity),
    /// The agent of a target. It is not a member of the account: no use case for people accepts one.
    Agent(AgentCaller),
}

/// A person who makes a request. Only [`crate::admission::admit`] and sign-in provide an `Identity`, so an agent can
/// never call what takes one.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The account they act in.
    pub account_id: AccountId,
    /// Its name.
    pub account_name: String,
    /// The person.
    pub user_id: UserId,
    /// Their e-mail address.
    pub email: String,
    /// Their role in the account.
    pub role: Role,
    /// Their permissions there.
    pub permissions: BTreeSet<Permission>,
    /// How they authenticated.
    pub credential: Credential,
    /// Whether they administer the installation.
    pub is_root: bool,
    /// Whether they still have a one-time password.
    pub must_change_password: bool,
    /// The network address that sent the request.
    pub address: String,
    /// The id of the request.
    pub request_id: String,
}

/// How a person authenticated: with a session or with a token, never with both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// They signed in.
    Session {
        /// The session.
        id: SessionId,
    },
    /// A program sent one of their API tokens.
    Token {
        /// The token.
        id: TokenId,
        /// Its name.
        name: String,
    },
}

/// An agent that makes a request.
#[derive(Clone, Debug)]
pub struct AgentCaller {
    /// Which agent, of which target and account.
    pub agent: Agent,
    /// The network address that sent the request.
    pub address: String,
    /// The id of the request.
    pub request_id: String,
}

impl Caller {
    /// The account whose audit log records the request.
    pub fn account_id(&self) -> &AccountId {
        match self {
            Caller::Person(identity) => &identity.account_id,
            Caller::Agent(caller) => &caller.agent.account_id,
        }
    }

    /// The caller, as recorded in the audit log.
    pub fn actor(&self) -> Actor {
        match self {
            Caller::Person(identity) => identity.actor(),
            Caller::Agent(caller) => caller.actor(),
        }
    }
}

impl AgentCaller {
    /// The agent, as recorded in the audit log.
    pub fn actor(&self) -> Actor {
        Actor {
            name: format!("agent {} of {}", self.agent.id, self.agent.target),
            id: None,
            token_id: None,
            address: Some(self.address.clone()),
            request_id: Some(self.request_id.clone()),
        }
    }
}

impl Credential {
    /// The session, if they signed in.
    pub fn session_id(&self) -> Option<&SessionId> {
        match self {
            Credential::Session { id } => Some(id),
            Credential::Token { .. } => None,
        }
    }

    /// The name of the API token, if one is used.
    pub fn token_name(&self) -> Option<&str> {
        match self {
            Credential::Session { .. } => None,
            Credential::Token { name, .. } => Some(name),
        }
    }
}

impl Identity {
    /// The person, as recorded in the audit log.
    pub fn actor(&self) -> Actor {
        let (name, token_id) = match &self.credential {
            Credential::Session { .. } => (self.email.clone(), None),
            Credential::Token { id, name } => (format!("{} (token {name})", self.email), Some(id.clone())),
        };
        Actor {
            name,
            id: Some(self.user_id.clone()),
            token_id,
            address: Some(self.address.clone()),
            request_id: Some(self.request_id.clone()),
        }
    }
}

/// Whether a member's role is valid now.
pub fn is_role_valid(member: &Member, now: Timestamp) -> bool {
    let source = match member.origin {
        Origin::Manual => RoleSource::Manual,
        Origin::Groups => RoleSource::Groups { proved_at: member.proved_at },
    };
    source.is_valid_at(now, SESSION_LIFETIME)
}

/// The role that a member has now; none if they are disabled or have no e-mail address, or if the role is no longer
/// valid.
pub fn current_role(member: &Member, now: Timestamp) -> Option<Role> {
    let is_shut_out = member.user.disabled_at.is_some() || member.user.email.is_empty();
    Some(member.role).filter(|_| !is_shut_out && is_role_valid(member, now))
}

/// How long a session lasts, and how long a role from groups is valid after it was proved.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(12 * 3600);
