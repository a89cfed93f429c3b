//! Permissions, and the roles that bundle them.

use std::collections::BTreeSet;

use crate::states::states;

states! {
    /// One thing someone may do.
    Permission {
        /// See repositories, runs, proposals, drift, events and the audit log.
        GitopsRead "system.gitops.read",
        /// Register, change and remove repositories; edit proposals.
        GitopsWrite "system.gitops.write",
        /// Start syncs, test connections, create previews.
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

impl Permission {
    /// The roles that have it beside admins, who have every permission.
    const fn roles(self) -> &'static [Role] {
        match self {
            Permission::GitopsRead | Permission::FleetRead => &[Role::Viewer, Role::Operator, Role::Approver],
            Permission::GitopsSync => &[Role::Operator, Role::Approver],
            Permission::GitopsWrite | Permission::FleetWrite => &[Role::Operator],
            Permission::GitopsApprove => &[Role::Approver],
            Permission::GitopsAdmin | Permission::FleetExportSecrets => &[],
        }
    }
}

impl Role {
    /// The permissions of this role.
    pub fn permissions(self) -> BTreeSet<Permission> {
        let has = |permission: &Permission| self == Role::Admin || permission.roles().contains(&self);
        Permission::ALL.iter().copied().filter(has).collect()
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
        use Permission::{FleetRead, FleetWrite, GitopsApprove, GitopsRead, GitopsSync, GitopsWrite};
        assert_eq!(Role::Viewer.permissions(), BTreeSet::from([GitopsRead, FleetRead]));
        let operator = [GitopsRead, FleetRead, GitopsWrite, GitopsSync, FleetWrite];
        assert_eq!(Role::Operator.permissions(), BTreeSet::from(operator));
        let approver = [GitopsRead, FleetRead, GitopsSync, GitopsApprove];
        assert_eq!(Role::Approver.permissions(), BTreeSet::from(approver));
        assert!(!Role::Operator.permissions().contains(&Permission::GitopsApprove));
        assert!(!Role::Approver.permissions().contains(&Permission::FleetWrite));
    }
}
