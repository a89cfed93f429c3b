//! Accounts: tenants, their approval policy and their kill switch.

use std::collections::BTreeMap;

use crate::gate::{Halt, Policy};
use crate::time::Timestamp;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its id.
    pub id: String,
    /// Its name, unique.
    pub name: String,
    /// Whether someone halted all applying.
    pub halt: Option<Halt>,
    /// The approval policy, as JSON.
    pub policy: String,
    /// Which repository each plain name in the policy's rules stands for: name → id. None before they were looked up.
    pub policy_repositories: Option<BTreeMap<String, String>>,
    /// How often the policy was changed.
    pub policy_version: i64,
    /// Since when it exists.
    pub created_at: Timestamp,
}

impl Account {
    /// Its approval policy, the rules bound to the repositories that they name.
    pub fn bound_policy(&self) -> Policy {
        // It was valid when it was stored. Should it not be any more, nothing passes by itself: the default asks.
        let policy = Policy::read("policy", &self.policy).0.unwrap_or_default();
        match &self.policy_repositories {
            Some(repositories) => policy.bind_repositories(repositories),
            None => policy,
        }
    }
}
