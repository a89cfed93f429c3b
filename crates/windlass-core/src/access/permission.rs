//! What someone may do, and the roles that bundle it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One thing someone may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Permission {
    /// See repositories, runs, proposals, drift, events and the audit log.
    #[serde(rename = "system.gitops.read")]
    GitopsRead,
    /// Register, change and remove repositories; edit proposals.
    #[serde(rename = "system.gitops.write")]
    GitopsWrite,
    /// Start syncs, test connections, make previews.
    #[serde(rename = "system.gitops.sync")]
    GitopsSync,
    /// Approve and reject; halt and resume.
    #[serde(rename = "system.gitops.approve")]
    GitopsApprove,
    /// Change policies, people and everyone's tokens.
    #[serde(rename = "system.gitops.admin")]
    GitopsAdmin,
    /// See resources.
    #[serde(rename = "system.fleet.read")]
    FleetRead,
    /// Change resources directly.
    #[serde(rename = "system.fleet.write")]
    FleetWrite,
    /// Export resources with the values that look like secrets, which are hidden everywhere else.
    #[serde(rename = "system.fleet.export_secrets")]
    FleetExportSecrets,
}

impl Permission {
    /// Every permission.
    pub const ALL: &'static [Permission] = &[
        Permission::GitopsRead,
        Permission::GitopsWrite,
        Permission::GitopsSync,
        Permission::GitopsApprove,
        Permission::GitopsAdmin,
        Permission::FleetRead,
        Permission::FleetWrite,
        Permission::FleetExportSecrets,
    ];

    /// The spelling in the API.
    pub const fn slug(self) -> &'static str {
        match self {
            Permission::GitopsRead => "system.gitops.read",
            Permission::GitopsWrite => "system.gitops.write",
            Permission::GitopsSync => "system.gitops.sync",
            Permission::GitopsApprove => "system.gitops.approve",
            Permission::GitopsAdmin => "system.gitops.admin",
            Permission::FleetRead => "system.fleet.read",
            Permission::FleetWrite => "system.fleet.write",
            Permission::FleetExportSecrets => "system.fleet.export_secrets",
        }
    }

    /// The permission of this spelling.
    pub fn from_slug(slug: &str) -> Option<Permission> {
        Permission::ALL.iter().copied().find(|permission| permission.slug() == slug)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// A bundle of permissions that a person has in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees everything, changes nothing.
    Viewer,
    /// Registers repositories, syncs, changes resources; does not approve.
    Operator,
    /// Sees, syncs and approves; changes nothing directly.
    Approver,
    /// Everything in the account.
    Admin,
}

impl Role {
    /// Every role.
    pub const ALL: &'static [Role] = &[Role::Viewer, Role::Operator, Role::Approver, Role::Admin];

    /// The spelling in the API.
    pub const fn slug(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Approver => "approver",
            Role::Admin => "admin",
        }
    }

    /// The role of this spelling.
    pub fn from_slug(slug: &str) -> Option<Role> {
        Role::ALL.iter().copied().find(|role| role.slug() == slug)
    }

    /// What someone in this role may do.
    pub fn permissions(self) -> BTreeSet<Permission> {
        use Permission::{FleetRead, FleetWrite, GitopsApprove, GitopsRead, GitopsSync, GitopsWrite};
        match self {
            Role::Viewer => BTreeSet::from([GitopsRead, FleetRead]),
            Role::Operator => BTreeSet::from([GitopsRead, FleetRead, GitopsWrite, GitopsSync, FleetWrite]),
            Role::Approver => BTreeSet::from([GitopsRead, FleetRead, GitopsSync, GitopsApprove]),
            Role::Admin => Permission::ALL.iter().copied().collect(),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_may_see_and_only_admins_may_all() {
        for role in Role::ALL {
            assert!(role.permissions().contains(&Permission::GitopsRead), "{role}");
            assert_eq!(role.permissions().len() == Permission::ALL.len(), *role == Role::Admin, "{role}");
        }
        assert!(!Role::Operator.permissions().contains(&Permission::GitopsApprove));
        assert!(!Role::Approver.permissions().contains(&Permission::FleetWrite));
    }

    #[test]
    fn the_spelling_in_json_is_the_slug() {
        for permission in Permission::ALL {
            assert_eq!(serde_json::to_value(permission).ok(), Some(permission.slug().into()));
        }
        for role in Role::ALL {
            assert_eq!(serde_json::to_value(role).ok(), Some(role.slug().into()));
        }
    }
}
