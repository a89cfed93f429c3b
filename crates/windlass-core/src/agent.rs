//! Agents: who makes a target, a node or a cluster, what it is accepted to be.

use crate::id::{AccountId, AgentId};
use crate::observed::{Enrolment, LastContact};
use crate::resource::ResourceKey;
use crate::time::Timestamp;

/// An agent of one target. Its certificate names it; what it reports never does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The account of its target.
    pub account_id: AccountId,
    /// The node or cluster that it speaks for.
    pub target: ResourceKey,
    /// Which of the target's enrolments it came from.
    pub enrolment: Enrolment,
    /// When it was enrolled.
    pub enrolled_at: Timestamp,
    /// When a server last heard from it.
    pub last_contact: LastContact,
    /// When it was revoked: it is not heard any more.
    pub revoked_at: Option<Timestamp>,
}
