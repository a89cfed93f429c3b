//! Agents: the programs that apply the accepted state on their targets.

use crate::id::{AccountId, AgentId};
use crate::observed::{Enrolment, LastContact};
use crate::resource::ResourceKey;
use crate::time::Timestamp;

/// An agent of one target. Its certificate identifies it; its reports do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// The account of its target.
    pub account_id: AccountId,
    /// The node or cluster of the agent.
    pub target: ResourceKey,
    /// The target's enrolment that created it.
    pub enrolment: Enrolment,
    /// When it was enrolled.
    pub enrolled_at: Timestamp,
    /// The time of its last contact with a server.
    pub last_contact: LastContact,
    /// The time of its revocation; its reports are rejected since then.
    pub revoked_at: Option<Timestamp>,
}
