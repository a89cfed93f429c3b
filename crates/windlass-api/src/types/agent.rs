//! Enrolment of agents, as people ask for it. The protocol of the agents themselves is in [`crate::agent`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::enrolment::{JoinPolicy, JoinState};

use crate::word::Word;

/// A token for the agent of one node or cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrollmentBody {
    /// What happens when the agent shows it; default `auto`. Always `approve` if you may not approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Word<JoinPolicy>>")]
    pub join: Option<JoinPolicy>,
    /// After how many seconds it expires, 60 to 86400; default 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// A token for several nodes that have no agent yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchEnrollmentBody {
    /// Which nodes.
    pub selector: NodeSelectorInfo,
    /// How many agents may enrol with it, 1 to 10000.
    pub uses: u64,
    /// What happens when a selected node wants to join; default `auto`. Always `approve` if you may not approve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Word<JoinPolicy>>")]
    pub join: Option<JoinPolicy>,
    /// After how many seconds it expires, 60 to 2592000; default 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// Which nodes a token is for: those whose name matches and that have all of the labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSelectorInfo {
    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A pattern with `*` and `?` that its name must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A token with which agents enrol. The secret is shown only when it is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentTokenInfo {
    /// Its id.
    pub id: String,
    /// The node or cluster that it is for, as `kind/name`; none for a token for several nodes.
    pub target: Option<String>,
    /// The nodes that it is for.
    pub selector: Option<String>,
    /// What happens when an agent shows it.
    #[schemars(with = "Word<JoinPolicy>")]
    pub join: JoinPolicy,
    /// How many agents enrolled with it.
    pub uses: u64,
    /// How many may.
    pub max_uses: u64,
    /// Who created it.
    pub created_by: String,
    /// When.
    pub created_at: String,
    /// When it expires.
    pub expires_at: String,
}

/// A new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentCreated {
    /// The token.
    pub enrollment_token: EnrollmentTokenInfo,
    /// The enrolment key, which contains the secret. Shown only now.
    pub key: String,
    /// The command to run on the host.
    pub command: String,
}

/// Tokens with which agents can enrol, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EnrollmentTokenList {
    /// The tokens.
    pub enrollment_tokens: Vec<EnrollmentTokenInfo>,
}

/// A node that wants to join and waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeJoinInfo {
    /// Its id.
    pub id: String,
    /// The node.
    pub node: String,
    /// Where the join is in its life.
    #[schemars(with = "Word<JoinState>")]
    pub state: JoinState,
    /// The network address that the agent called from.
    pub address: String,
    /// The SHA-256 digest of the agent's public key, as `windlass-agent enroll` prints it.
    pub public_key: String,
    /// When the agent first asked.
    pub created_at: String,
    /// Who decided.
    pub decided_by: Option<String>,
}

/// One join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeJoinEnvelope {
    /// The join.
    pub node_join: NodeJoinInfo,
}

/// Joins that are not finished, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeJoinList {
    /// The joins.
    pub node_joins: Vec<NodeJoinInfo>,
}

/// An agent that was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRevoked {
    /// The agent.
    pub agent_id: String,
    /// Its node or cluster, as `kind/name`.
    pub target: String,
}
