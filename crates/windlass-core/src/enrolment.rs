//! Enrolment of agents: what a token admits, which nodes a batch of tokens is for, and how long certificates are valid.
//!
//! The decisions are here; `windlass-control` makes tokens and certificates, and stores who enrolled.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::access::Permission;
use crate::id::{AccountId, EnrolmentTokenId, JoinId};
use crate::resource::{NodeSpec, ResourceKey};
use crate::shape::{InvalidText, TextValue as _};
use crate::states::states;
use crate::time::Timestamp;
use crate::value::{LabelKey, LabelValue, Wildcard};

/// How long a client certificate is valid.
pub const CERTIFICATE_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// How long before its issue a certificate becomes valid, because the clocks of replicas differ.
pub const CERTIFICATE_BACKDATED: Duration = Duration::from_secs(10 * 60);

/// When an agent renews its certificate: after two thirds, so that a server may be away for eight hours.
pub const RENEW_AFTER: Duration = Duration::from_secs(16 * 3600);

/// How long after its end a certificate still admits a renewal, so that a host that was off catches up.
pub const RENEWABLE_AFTER_EXPIRY: Duration = Duration::from_secs(30 * 24 * 3600);

/// The most labels in a selector.
const MAX_SELECTOR_LABELS: usize = 16;

states! {
    /// What happens when an agent shows a token.
    JoinPolicy {
        /// It enrols at once.
        Auto "auto",
        /// It enrols when a person approved it.
        Approve "approve",
    }
}

impl JoinPolicy {
    /// The policy of a new token. A machine that enrols gets what its node gets and may replace another one, so only someone who
    /// may approve lets it enrol at once. Whoever may not may still create a token: the agent then waits for a person.
    pub fn of_new_token(asked: Option<JoinPolicy>, permissions: &BTreeSet<Permission>) -> JoinPolicy {
        match permissions.contains(&Permission::GitopsApprove) {
            true => asked.unwrap_or(JoinPolicy::Auto),
            false => JoinPolicy::Approve,
        }
    }
}

states! {
    /// Where the join of a node is in its life.
    JoinState {
        /// Someone has to decide.
        Pending "pending",
        /// A person approved it; the agent enrols with its next attempt.
        Approved "approved",
        /// A person rejected it.
        Rejected "rejected",
        /// The agent enrolled.
        Joined "joined",
    }
}

/// Which nodes a batch token is for: those whose name matches and that have all of the labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSelector {
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// A pattern with `*` and `?` that its name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl NodeSelector {
    /// A selector, if it is valid. It must say something: a token for every node names the pattern `*`.
    pub fn new(labels: BTreeMap<String, String>, name: Option<String>) -> Result<NodeSelector, InvalidText> {
        if labels.is_empty() && name.is_none() {
            return Err(InvalidText::value("the selector is empty").help("use a label like `env=prod`"));
        }
        if labels.len() > MAX_SELECTOR_LABELS {
            return Err(InvalidText::value(format!("a selector has at most {MAX_SELECTOR_LABELS} labels")));
        }
        for (key, value) in &labels {
            LabelKey::read(key)?;
            LabelValue::read(value)?;
        }
        name.as_deref().map(Wildcard::read).transpose()?;
        Ok(NodeSelector { labels, name })
    }

    /// Whether it selects a node.
    pub fn selects(&self, name: &str, node: &NodeSpec) -> bool {
        let has = |(key, value): (&String, &String)| {
            node.labels.iter().any(|(k, v)| (k.as_str(), v.as_str()) == (key.as_str(), value.as_str()))
        };
        let name_matches = match &self.name {
            // An invalid pattern, which only a changed row of the database can contain, selects nothing.
            Some(pattern) => Wildcard::read(pattern).is_ok_and(|pattern| pattern.matches(name)),
            None => true,
        };
        name_matches && self.labels.iter().all(has)
    }
}

impl fmt::Display for NodeSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> =
            self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.extend(self.name.iter().map(|name| format!("name={name}")));
        f.write_str(&parts.join(","))
    }
}

/// What a token is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnrolmentScope {
    /// One node or cluster. A machine that was installed again replaces the one before.
    Target(ResourceKey),
    /// Several nodes that have no agent yet.
    Nodes(NodeSelector),
}

/// A token with which agents enrol. The secret itself is never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnrolmentToken {
    /// Its id.
    pub id: EnrolmentTokenId,
    /// Its account.
    pub account_id: AccountId,
    /// What it is for.
    pub scope: EnrolmentScope,
    /// What happens when an agent shows it.
    pub policy: JoinPolicy,
    /// How many agents may enrol with it.
    pub max_uses: u64,
    /// How many did.
    pub uses: u64,
    /// Who created it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// When someone revoked it.
    pub revoked_at: Option<Timestamp>,
}

impl EnrolmentToken {
    /// Whether an agent may enrol with it now, as far as the token itself is concerned.
    pub fn admit(&self, now: Timestamp) -> Result<(), EnrolmentRefusal> {
        match () {
            () if self.revoked_at.is_some() => Err(EnrolmentRefusal::RevokedToken),
            () if self.uses >= self.max_uses => Err(EnrolmentRefusal::UsedToken),
            () if self.expires_at <= now => Err(EnrolmentRefusal::ExpiredToken),
            () => Ok(()),
        }
    }
}

/// An agent that wants to join and waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeJoin {
    /// Its id.
    pub id: JoinId,
    /// The account of the node.
    pub account_id: AccountId,
    /// The token that the agent showed.
    pub token_id: EnrolmentTokenId,
    /// The node or cluster.
    pub target: ResourceKey,
    /// The SHA-256 digest of the agent's public key, in hex: only the agent that has this key is admitted.
    pub public_key: String,
    /// The network address that the agent called from.
    pub address: String,
    /// Where it is in its life.
    pub state: JoinState,
    /// When the agent first asked.
    pub created_at: Timestamp,
    /// When it was decided.
    pub decided_at: Option<Timestamp>,
    /// Who decided.
    pub decided_by: Option<String>,
}

/// Why an agent could not enrol. Agents get the same answer for every reason; the event names the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnrolmentRefusal {
    /// There is no such token.
    UnknownToken,
    /// The token expired.
    ExpiredToken,
    /// As many agents as may have enrolled with the token.
    UsedToken,
    /// Someone revoked the token.
    RevokedToken,
    /// The target of the token is not part of the accepted state any more.
    NoTarget,
    /// No node has the name that the host says.
    UnknownNode,
    /// The token does not select the node.
    NotSelected,
    /// The node has an agent, and a batch token replaces none.
    AlreadyEnrolled,
    /// Another agent waits to join as the same node.
    OtherJoin,
    /// A person rejected the join.
    JoinRejected,
}

impl EnrolmentRefusal {
    /// The word in events and metrics.
    pub const fn slug(self) -> &'static str {
        match self {
            EnrolmentRefusal::UnknownToken => "unknown_token",
            EnrolmentRefusal::ExpiredToken => "expired_token",
            EnrolmentRefusal::UsedToken => "used_token",
            EnrolmentRefusal::RevokedToken => "revoked_token",
            EnrolmentRefusal::NoTarget => "no_target",
            EnrolmentRefusal::UnknownNode => "unknown_node",
            EnrolmentRefusal::NotSelected => "not_selected",
            EnrolmentRefusal::AlreadyEnrolled => "already_enrolled",
            EnrolmentRefusal::OtherJoin => "other_join",
            EnrolmentRefusal::JoinRejected => "join_rejected",
        }
    }
}

impl fmt::Display for EnrolmentRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EnrolmentRefusal::UnknownToken => "there is no such token",
            EnrolmentRefusal::ExpiredToken => "the token expired",
            EnrolmentRefusal::UsedToken => "the token was used before",
            EnrolmentRefusal::RevokedToken => "the token was revoked",
            EnrolmentRefusal::NoTarget => "the token's node or cluster does not exist any more",
            EnrolmentRefusal::UnknownNode => "no node has the name of the host",
            EnrolmentRefusal::NotSelected => "the token does not select the node",
            EnrolmentRefusal::AlreadyEnrolled => "the node has an agent already",
            EnrolmentRefusal::OtherJoin => "another agent waits to join as this node",
            EnrolmentRefusal::JoinRejected => "a person rejected the join",
        })
    }
}

/// What a client certificate admits to at a moment, by the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateValidity {
    /// Everything that agents may do.
    Valid,
    /// A renewal only: it expired not long ago.
    RenewOnly,
    /// Nothing: it is not valid yet, or it expired long ago.
    Invalid,
}

/// What a certificate with these dates admits to now.
pub fn certificate_validity(
    not_before: Timestamp,
    not_after: Timestamp,
    now: Timestamp,
) -> CertificateValidity {
    match () {
        () if now < not_before => CertificateValidity::Invalid,
        () if now < not_after => CertificateValidity::Valid,
        () if now < not_after.plus(RENEWABLE_AFTER_EXPIRY) => CertificateValidity::RenewOnly,
        () => CertificateValidity::Invalid,
    }
}

/// How many seconds after now an agent renews a certificate that is valid until `not_after`.
pub fn renew_after_seconds(not_after: Timestamp, now: Timestamp) -> u64 {
    let margin = CERTIFICATE_LIFETIME.saturating_sub(RENEW_AFTER);
    not_after.elapsed_since(now).saturating_sub(margin).as_secs()
}

#[cfg(test)]
#[path = "enrolment_tests.rs"]
mod tests;
