//! Conflicts between repositories of one account: a name, an address or a network that two of them want.
//!
//! [`Holdings`] says who has what: what was accepted, and what is proposed and still open. [`Holdings::conflicts`]
//! decides whether a change may have what it wants. Whoever was first has it: the owner of what is accepted, else the
//! repository with the oldest open proposal. A change in conflict is proposed and blocked; it is never applied while the
//! conflict lasts. Inside one repository nothing conflicts here: its files are checked as a whole when they are read.

mod claim;
mod holdings;
#[cfg(test)]
mod tests;

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

pub use claim::{AddressClaim, ClaimScope, claims_of, new_claims};
pub use holdings::{HoldingProposal, Holdings};

use crate::diff::Change;
use crate::id::{ProposalId, RepositoryId};
use crate::quote::quoted;
use crate::resource::ResourceKey;

/// A change and who wants it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'c> {
    /// What would be changed.
    pub change: &'c Change,
    /// For whom.
    pub claimant: Claimant<'c>,
}

/// Who wants a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimant<'c> {
    /// A repository.
    Repository {
        /// Its id.
        id: &'c RepositoryId,
        /// Its open proposal of this change; none if it is not proposed yet. Ids of proposals grow with time.
        proposal: Option<&'c ProposalId>,
    },
    /// A repository, by a proposal that someone edited. Nobody checked what they wrote against the repository's other
    /// files, so that what it owns itself is in the way too.
    Edited {
        /// The repository's id.
        id: &'c RepositoryId,
        /// The proposal.
        proposal: &'c ProposalId,
    },
    /// A person, directly. Open proposals are in nobody's way then.
    Person,
}

impl<'c> Claimant<'c> {
    /// The repository's id.
    pub fn repository(self) -> Option<&'c RepositoryId> {
        match self {
            Claimant::Repository { id, .. } | Claimant::Edited { id, .. } => Some(id),
            Claimant::Person => None,
        }
    }

    /// The repository and its open proposal, if it has one.
    fn proposer(self) -> Option<(&'c RepositoryId, Option<&'c ProposalId>)> {
        match self {
            Claimant::Repository { id, proposal } => Some((id, proposal)),
            Claimant::Edited { id, proposal } => Some((id, Some(proposal))),
            Claimant::Person => None,
        }
    }
}

/// Who has what someone else wants, by the names people know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeldBy {
    /// It was accepted and belongs to this repository; to none if someone made it directly.
    Owner(Option<String>),
    /// This repository proposed it before.
    Proposer(String),
}

impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeldBy::Owner(Some(repository)) => write!(f, "owned by the repository {}", quoted(repository)),
            HeldBy::Owner(None) => f.write_str("owned by no repository"),
            HeldBy::Proposer(repository) => {
                write!(f, "already proposed by the repository {}", quoted(repository))
            }
        }
    }
}

/// Why a change may not have what it wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "over", rename_all = "snake_case")]
pub enum Conflict {
    /// Another repository has the name.
    Name {
        /// Which resource.
        key: ResourceKey,
        /// Who has it.
        held_by: HeldBy,
    },
    /// It refers to a resource that its own repository declares, but that another one owns.
    Dependency {
        /// What it refers to.
        key: ResourceKey,
        /// Who owns that.
        repository: String,
    },
    /// Its addresses overlap with someone else's.
    Addresses {
        /// Its own.
        #[serde(with = "range_text")]
        wanted: IpNet,
        /// The other's.
        #[serde(with = "range_text")]
        held: IpNet,
        /// Which resource has them.
        key: ResourceKey,
        /// Whose that is.
        held_by: HeldBy,
    },
    /// The network's new addresses leave out one that someone else has in it.
    ExcludesAddress {
        /// The network's new addresses.
        #[serde(with = "range_text")]
        cidr: IpNet,
        /// The address that would lie outside.
        #[serde(with = "range_text")]
        held: IpNet,
        /// Which resource has it.
        key: ResourceKey,
        /// Whose that is.
        held_by: HeldBy,
    },
    /// Its address lies outside its network.
    OutsideNetwork {
        /// Its address.
        #[serde(with = "range_text")]
        wanted: IpNet,
        /// The network's name.
        network: String,
        /// The network's addresses.
        #[serde(with = "range_text")]
        cidr: IpNet,
    },
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::Name { key, held_by } => write!(f, "{key} is {held_by}"),
            Conflict::Dependency { key, repository } => {
                write!(f, "{key} is declared here too, but owned by the repository {}", quoted(repository))
            }
            Conflict::Addresses { wanted, held, key, held_by } if wanted == held => {
                write!(f, "{} is taken by {key}, {held_by}", DisplayRange(wanted))
            }
            Conflict::Addresses { wanted, held, key, held_by } => {
                write!(f, "{} overlaps {} of {key}, {held_by}", DisplayRange(wanted), DisplayRange(held))
            }
            Conflict::ExcludesAddress { cidr, held, key, held_by } => {
                write!(f, "{cidr} leaves out {} of {key}, {held_by}", DisplayRange(held))
            }
            Conflict::OutsideNetwork { wanted, network, cidr } => {
                write!(f, "{} is not inside {cidr} of network {network}", DisplayRange(wanted))
            }
        }
    }
}

/// How a range is stored: as its text.
mod range_text {
    use ipnet::IpNet;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(range: &IpNet, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(range)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<IpNet, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A range as people write it: a single address without its length.
struct DisplayRange<'r>(&'r IpNet);

impl fmt::Display for DisplayRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.prefix_len() == self.0.max_prefix_len() {
            true => fmt::Display::fmt(&self.0.addr(), f),
            false => fmt::Display::fmt(self.0, f),
        }
    }
}
