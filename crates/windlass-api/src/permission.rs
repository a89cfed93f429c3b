//! What someone may do, and the roles that bundle it: the core's, and how schemas describe them.

use schemars::JsonSchema;
pub use windlass_core::access::{Permission, Role};

/// One thing someone may do.
#[derive(JsonSchema)]
#[schemars(rename = "Permission")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum PermissionSchema {
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

/// A bundle of permissions that a person has in an account.
#[derive(JsonSchema)]
#[schemars(rename = "Role")]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) enum RoleSchema {
    /// Sees everything, changes nothing.
    Viewer,
    /// Registers repositories, syncs, changes resources; does not approve.
    Operator,
    /// Sees, syncs and approves; changes nothing directly.
    Approver,
    /// Everything in the account.
    Admin,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_have_every_spelling_and_no_other() {
        let words = |schema: schemars::Schema| schema.to_value().to_string();
        let permissions = words(schemars::schema_for!(PermissionSchema));
        let found = permissions.matches("\"const\"").count();
        assert_eq!(found, Permission::ALL.len(), "{permissions}");
        for permission in Permission::ALL {
            assert!(permissions.contains(permission.slug()), "{permission}");
        }
        let roles = words(schemars::schema_for!(RoleSchema));
        assert_eq!(roles.matches("\"const\"").count(), Role::ALL.len(), "{roles}");
        for role in Role::ALL {
            assert!(roles.contains(role.slug()), "{role}");
        }
    }
}
