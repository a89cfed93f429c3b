//! The identity of a resource.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::kind::Kind;

/// A resource's identity inside an account. Peers and virtual IPs are named `network/name`, assignments `node:module`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResourceKey {
    /// The kind.
    pub kind: Kind,
    /// The name, unique within the kind.
    pub name: String,
}

impl ResourceKey {
    /// The key of this kind and name.
    pub fn new(kind: Kind, name: impl Into<String>) -> ResourceKey {
        ResourceKey { kind, name: name.into() }
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// Splits the name of a peer or virtual IP into network and member.
pub(crate) fn member_name(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, name))
}
