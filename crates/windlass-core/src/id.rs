//! Ids: what a row is known by, a type of its own for each noun, so that the id of one thing is never taken for that of
//! another.
//!
//! Nothing is read from the text of an id but its order: later ids sort behind earlier ones. An id is made of text in three
//! places only: where a fresh one is made, where a row is read (both in the store), and where a request names one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What every id can do, for those who read, write or make ids of any noun.
pub trait Id: Sized {
    /// The id with this text.
    fn from_text(text: String) -> Self;

    /// Its text.
    fn text(&self) -> &str;
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id with this text.
            pub fn new(text: impl Into<String>) -> $name {
                $name(text.into())
            }

            /// Its text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Id for $name {
            fn from_text(text: String) -> $name {
                $name(text)
            }

            fn text(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    )+};
}

ids! {
    /// An account; or the installation itself, which has an audit log as accounts do: see [`AccountId::installation`].
    AccountId,
    /// A person.
    UserId,
    /// A session of a signed-in person.
    SessionId,
    /// An API token.
    TokenId,
    /// An invitation to join an account.
    InvitationId,
    /// A registered repository. It is never given to another one.
    RepositoryId,
    /// A sync run.
    RunId,
    /// The plan of a run.
    PlanId,
    /// Someone's approval of a set: of a whole plan, or of a group of changes in it.
    ApprovalSetId,
    /// A proposal.
    ProposalId,
    /// An accepted resource. It tells one from a later one of the same kind and name.
    ResourceId,
    /// A preview of what a commit or files would change.
    PreviewId,
    /// A notification on its way to a provider, the same over all attempts.
    DeliveryId,
    /// An agent of a target.
    AgentId,
    /// A rollout of a change over nodes.
    RolloutId,
    /// A token with which agents enrol.
    EnrolmentTokenId,
    /// A node that wants to join and waits for a person.
    JoinId,
    /// A server process, among those that share a database.
    ReplicaId,
    /// Who holds leases: a server, or a piece of work of one.
    HolderId,
    /// A key that signs checkpoints of the audit log.
    AuditKeyId,
    /// A device on which a person signed in.
    DeviceId,
}

impl AccountId {
    /// What stands for the installation itself where an account is meant otherwise: no account has this id.
    pub const fn installation() -> AccountId {
        AccountId(String::new())
    }

    /// Whether it stands for the installation itself.
    pub const fn is_installation(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An id for those who borrow ids: it lives as long as the tests do.
    pub(crate) fn lasting<T: Id>(text: &str) -> &'static T {
        Box::leak(Box::new(T::from_text(text.to_owned())))
    }

    #[test]
    fn an_id_is_its_text_wherever_it_is_written() {
        let id = RunId::new("0198-7");
        assert_eq!((id.as_str(), id.text(), id.to_string()), ("0198-7", "0198-7", "0198-7".to_owned()));
        assert_eq!(serde_json::to_string(&id).unwrap(), r#""0198-7""#);
        assert_eq!(serde_json::from_str::<RunId>(r#""0198-7""#).unwrap(), id);
    }

    #[test]
    fn later_ids_sort_behind_earlier_ones() {
        assert!(ProposalId::new("0198-1") < ProposalId::new("0198-2"));
    }

    #[test]
    fn no_account_is_the_installation() {
        assert!(AccountId::installation().is_installation());
        assert!(!AccountId::new("acme").is_installation());
    }
}
