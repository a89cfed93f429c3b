//! Target assignments: what the server signs for an agent, and which of them the agent accepts.
//!
//! The agent trusts nothing but the key that it got at enrolment. An assignment that someone replays, keeps back, cuts, or
//! takes from another node is refused, and so is content that no approval covers: a thief of the network, and even a
//! server whose database was changed behind its back, cannot put content on a machine that nobody approved, as long as
//! the signing key is safe.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::gate::{Consent, GrantedBy, Judgement};
use crate::host::{BlobDigest, NodeDocument};
use crate::id::ProposalId;
use crate::resource::{Kind, ResourceKey};
use crate::time::Timestamp;

/// What a target shall apply. The server signs [`TargetAssignment::to_bytes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetAssignment {
    /// The account of the target, by id.
    pub account: String,
    /// The node or cluster.
    pub target: ResourceKey,
    /// The enrolment that it is for: a machine that was installed again accepts nothing that was signed for the one before.
    pub enrolment: u64,
    /// Its generation: higher with every change.
    pub generation: u64,
    /// The digest of the target's document.
    pub document: BlobDigest,
    /// The accepted resources that the document is made of, each with its approval.
    pub covered: Vec<CoveredResource>,
    /// When the server made it.
    pub issued_at: Timestamp,
}

/// An accepted resource and why it was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoveredResource {
    /// The resource.
    pub resource: ResourceKey,
    /// The digest of its spec and of the files that it names.
    pub digest: Digest,
    /// The digest of its package, if it is a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<BlobDigest>,
    /// Why it was accepted.
    pub approval: CoveringApproval,
}

/// Why a resource was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum CoveringApproval {
    /// People approved a proposal with exactly this content.
    People {
        /// The proposal.
        proposal: String,
        /// Who approved it.
        people: Vec<String>,
    },
    /// A rule of the account's policy lets it be applied without a person.
    Policy {
        /// The proposal.
        proposal: String,
        /// The rule.
        rule: String,
    },
    /// Someone who may approve it changed it directly, without a repository and without a proposal.
    DirectChange {
        /// Who.
        person: String,
        /// When.
        at: Timestamp,
    },
    /// It is part of the catalogue that comes with Windlass.
    Catalogue,
}

/// An assignment with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedAssignment {
    /// The bytes that are signed: an assignment as JSON.
    pub assignment: String,
    /// The signature, in the encoding of the verifier.
    pub signature: String,
}

/// Checks a signature of the server. The key is the one that the agent got at enrolment.
pub trait VerifySignature {
    /// Whether the signature is the server's signature of these bytes.
    fn is_valid(&self, bytes: &[u8], signature: &str) -> bool;
}

/// Who the agent is, and what it applied last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPosition {
    /// Its account, by id.
    pub account: String,
    /// Its target.
    pub target: ResourceKey,
    /// Its enrolment.
    pub enrolment: u64,
    /// The generation and the document that it accepted last.
    pub accepted: Option<(u64, BlobDigest)>,
}

/// Why an agent refuses an assignment or a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignmentRefusal {
    /// The signature is not the server's.
    BadSignature,
    /// The signed bytes are not an assignment.
    Malformed,
    /// It is for another account, target or enrolment.
    NotMine {
        /// What it is for.
        offered: String,
    },
    /// It is older than what the agent has.
    OlderGeneration {
        /// The generation that was offered.
        offered: u64,
        /// The generation that the agent has.
        has: u64,
    },
    /// It has the generation that the agent has, and another document.
    OtherDocument {
        /// The generation.
        generation: u64,
    },
    /// The document is not the one that the assignment names.
    WrongDocument,
    /// No approval covers the content of a module.
    NotCovered {
        /// The module.
        module: String,
    },
}

impl AssignmentRefusal {
    /// The word in events and metrics.
    pub const fn slug(&self) -> &'static str {
        match self {
            AssignmentRefusal::BadSignature => "bad_signature",
            AssignmentRefusal::Malformed => "malformed",
            AssignmentRefusal::NotMine { .. } => "not_mine",
            AssignmentRefusal::OlderGeneration { .. } => "older_generation",
            AssignmentRefusal::OtherDocument { .. } => "other_document",
            AssignmentRefusal::WrongDocument => "wrong_document",
            AssignmentRefusal::NotCovered { .. } => "not_covered",
        }
    }
}

impl fmt::Display for AssignmentRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssignmentRefusal::BadSignature => {
                f.write_str("the signature of the assignment is not the server's")
            }
            AssignmentRefusal::Malformed => f.write_str("the signed text is not an assignment"),
            AssignmentRefusal::NotMine { offered } => write!(f, "the assignment is for {offered}"),
            AssignmentRefusal::OlderGeneration { offered, has } => {
                write!(f, "the assignment has generation {offered}, and this agent has generation {has}")
            }
            AssignmentRefusal::OtherDocument { generation } => {
                write!(f, "the assignment of generation {generation} names another document than before")
            }
            AssignmentRefusal::WrongDocument => {
                f.write_str("the document is not the one that the assignment names")
            }
            AssignmentRefusal::NotCovered { module } => {
                write!(f, "no approval covers the content of module {module}")
            }
        }
    }
}

impl TargetAssignment {
    /// The bytes that are signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an assignment is JSON")
    }
}

impl SignedAssignment {
    /// The assignment, if this agent may apply it.
    pub fn open(
        &self,
        agent: &AgentPosition,
        server: &impl VerifySignature,
    ) -> Result<TargetAssignment, AssignmentRefusal> {
        // Nothing is read before it is known who wrote it.
        if !server.is_valid(self.assignment.as_bytes(), &self.signature) {
            return Err(AssignmentRefusal::BadSignature);
        }
        let assignment: TargetAssignment =
            serde_json::from_str(&self.assignment).map_err(|_| AssignmentRefusal::Malformed)?;
        let mine = (&agent.account, &agent.target, agent.enrolment);
        if (&assignment.account, &assignment.target, assignment.enrolment) != mine {
            let TargetAssignment { account, target, enrolment, .. } = &assignment;
            let offered = format!("{target} of account {account}, enrolment {enrolment}");
            return Err(AssignmentRefusal::NotMine { offered });
        }
        match agent.accepted {
            Some((has, _)) if assignment.generation < has => {
                Err(AssignmentRefusal::OlderGeneration { offered: assignment.generation, has })
            }
            Some((has, document)) if assignment.generation == has && assignment.document != document => {
                Err(AssignmentRefusal::OtherDocument { generation: has })
            }
            _ => Ok(assignment),
        }
    }
}

impl TargetAssignment {
    /// The document of a node, if it is the one that is assigned and approvals cover every module of it.
    pub fn open_document(&self, bytes: &[u8]) -> Result<NodeDocument, AssignmentRefusal> {
        if BlobDigest::of(bytes) != self.document {
            return Err(AssignmentRefusal::WrongDocument);
        }
        let document = NodeDocument::from_bytes(bytes).map_err(|_| AssignmentRefusal::Malformed)?;
        let covered: BTreeMap<&str, BlobDigest> = self
            .covered
            .iter()
            .filter(|one| one.resource.kind == Kind::Module && one.approval.is_given())
            .filter_map(|one| Some((one.resource.name.as_str(), one.package?)))
            .collect();
        let uncovered =
            document.modules.iter().find(|module| covered.get(module.name.as_str()) != Some(&module.package));
        match uncovered {
            Some(module) => Err(AssignmentRefusal::NotCovered { module: module.name.clone() }),
            None => Ok(document),
        }
    }
}

impl CoveringApproval {
    /// Whether somebody or something approved it.
    pub fn is_given(&self) -> bool {
        match self {
            CoveringApproval::People { proposal, people } => !proposal.is_empty() && !people.is_empty(),
            CoveringApproval::Policy { proposal, rule } => !proposal.is_empty() && !rule.is_empty(),
            CoveringApproval::DirectChange { person, .. } => !person.is_empty(),
            CoveringApproval::Catalogue => true,
        }
    }

    /// The approval of a proposal that the gate grants; none if it does not.
    pub fn of_proposal(proposal: &ProposalId, judgement: &Judgement) -> Option<CoveringApproval> {
        let proposal = proposal.to_string();
        let Consent::Granted { by } = &judgement.consent else { return None };
        Some(match by {
            GrantedBy::People(people) => CoveringApproval::People { proposal, people: people.clone() },
            GrantedBy::Policy { .. } => {
                let rule = judgement.rule.clone().unwrap_or_else(|| "default".to_owned());
                CoveringApproval::Policy { proposal, rule }
            }
            GrantedBy::AutoApply => CoveringApproval::Policy { proposal, rule: "auto_apply".to_owned() },
        })
    }
}

#[cfg(test)]
#[path = "target_assignment_tests.rs"]
mod tests;
