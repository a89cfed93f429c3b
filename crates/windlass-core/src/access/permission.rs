//! What someone may do, and the roles that bundle it.

use std::collections::BTreeSet;

use crate::states::states;

states! {
    /// One thing someone may do.
    Permission {
        /// See repositories, runs, proposals, drift, events and the audit log.
        GitopsRead "system.gitops.read",
        /// Register, change and remove repositories; edit proposals.
        GitopsWrite "system.gitops.write",
        /// Start syncs, test connections, make previews.
        GitopsSync "system.gitops.sync",
        /// Approve and reject; halt and resume.
        GitopsApprove "system.gitops.approve",
        /// Change policies, people and everyone's tokens.
        GitopsAdmin "system.gitops.admin",
        /// See resources.
        FleetRead "system.fleet.read",
        /// Change resources directly.
        FleetWrite "system.fleet.write",
        /// Export resources with the values that look like secrets, which are hidden everywhere else.
        FleetExportSecrets "system.fleet.export_secrets",
    }
}

states! {
    /// A bundle of permissions that a person has in an account.
    Role {
        /// Sees everything, changes nothing.
        Viewer "viewer" "Viewer",
        /// Registers repositories, syncs, changes resources; does not approve.
        Operator "operator" "Operator",
        /// Sees, syncs and approves; changes nothing directly.
        Approver "approver" "Approver",
        /// Everything in the account.
        Admin "admin" "Admin",
    }
}

impl Role {
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
}
