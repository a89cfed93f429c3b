//! Who may change which member of an account, and how a person joins one.

/// The scope of the caller's administrator rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminScope {
    /// An administrator of the installation.
    Root,
    /// An admin of the account.
    AccountAdmin,
}

/// A change of an account's member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonChange {
    /// Give them a role other than admin.
    Demote,
    /// Give them the role admin.
    Promote,
    /// Disable signing in.
    Disable,
    /// Enable signing in.
    Enable,
    /// Give them a new one-time password.
    ResetPassword,
    /// Remove them from the account.
    Remove,
}

/// The member to change.
#[derive(Clone, Copy, Debug)]
pub struct MemberFacts {
    /// Whether they administer the installation.
    pub is_root: bool,
    /// Whether they are the only administrator of the installation who can sign in.
    pub is_only_root: bool,
    /// Whether they are the only admin of the account who can sign in.
    pub is_only_admin: bool,
    /// The number of accounts they belong to.
    pub accounts: usize,
}

/// Why a change of a member is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonChangeRefusal {
    /// The member administers the installation, and the caller does not.
    Root,
    /// The installation would have no administrator.
    OnlyRoot,
    /// An administrator of the installation would belong to no account and could not sign in.
    OnlyAccountOfRoot,
    /// The account would have no admin.
    OnlyAdmin,
    /// The change concerns the person as a whole, who also belongs to other accounts.
    InOtherAccounts,
}

/// Whether the caller may change a member.
pub fn check_person_change(
    caller: AdminScope,
    target: MemberFacts,
    change: PersonChange,
) -> Result<(), PersonChangeRefusal> {
    use PersonChange::{Demote, Disable, Enable, Remove, ResetPassword};
    if target.is_root && caller != AdminScope::Root {
        return Err(PersonChangeRefusal::Root);
    }
    if target.is_root && target.is_only_root && change == Disable {
        return Err(PersonChangeRefusal::OnlyRoot);
    }
    if target.is_root && target.accounts <= 1 && change == Remove {
        return Err(PersonChangeRefusal::OnlyAccountOfRoot);
    }
    if target.is_only_admin && matches!(change, Demote | Disable | Remove) {
        return Err(PersonChangeRefusal::OnlyAdmin);
    }
    let is_of_person = matches!(change, Disable | Enable | ResetPassword);
    if is_of_person && caller == AdminScope::AccountAdmin && target.accounts > 1 {
        return Err(PersonChangeRefusal::InOtherAccounts);
    }
    Ok(())
}

/// The number of accounts of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One account: every known person belongs to it.
    OneAccount,
    /// Several accounts, which must not learn about each other.
    SeveralAccounts,
}

/// What is known of a person who is to be added to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InviteeStatus {
    /// Nobody has the e-mail address.
    Unknown,
    /// A person with this address exists, belongs to no account and does not administer the installation.
    InNoAccount,
    /// A person with this address belongs to other accounts, or administers the installation.
    Established,
}

/// How a person joins an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    /// Create a person, with a one-time password.
    Create,
    /// Reuse a person without an account, with a new one-time password.
    Restore,
    /// Send an invitation that the owner of the address accepts or declines.
    Invite,
}

/// How a person joins an account. In an installation with several accounts an account's admin always invites, whoever
/// it is: any other method would reveal who is known to other accounts.
pub fn join_method(caller: AdminScope, tenancy: Tenancy, standing: InviteeStatus) -> JoinMethod {
    match (caller, tenancy, standing) {
        (AdminScope::AccountAdmin, Tenancy::SeveralAccounts, _) | (_, _, InviteeStatus::Established) => {
            JoinMethod::Invite
        }
        (_, _, InviteeStatus::Unknown) => JoinMethod::Create,
        (_, _, InviteeStatus::InNoAccount) => JoinMethod::Restore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: MemberFacts =
        MemberFacts { is_root: false, is_only_root: false, is_only_admin: false, accounts: 1 };
    const ROOT: MemberFacts = MemberFacts { is_root: true, accounts: 2, ..PLAIN };
    const CHANGES: [PersonChange; 6] = [
        PersonChange::Demote,
        PersonChange::Promote,
        PersonChange::Disable,
        PersonChange::Enable,
        PersonChange::ResetPassword,
        PersonChange::Remove,
    ];

    #[test]
    fn an_accounts_admin_changes_nothing_about_an_administrator_of_the_installation() {
        for change in CHANGES {
            assert_eq!(
                check_person_change(AdminScope::AccountAdmin, ROOT, change),
                Err(PersonChangeRefusal::Root),
                "{change:?}"
            );
            assert_eq!(check_person_change(AdminScope::Root, ROOT, change), Ok(()), "{change:?}");
            assert_eq!(check_person_change(AdminScope::AccountAdmin, PLAIN, change), Ok(()), "{change:?}");
        }
    }

    #[test]
    fn root_cannot_lock_itself_out() {
        let only = MemberFacts { is_only_root: true, ..ROOT };
        assert_eq!(
            check_person_change(AdminScope::Root, only, PersonChange::Disable),
            Err(PersonChangeRefusal::OnlyRoot)
        );
        let last = MemberFacts { accounts: 1, ..ROOT };
        assert_eq!(
            check_person_change(AdminScope::Root, last, PersonChange::Remove),
            Err(PersonChangeRefusal::OnlyAccountOfRoot)
        );
    }

    #[test]
    fn an_account_keeps_an_admin_and_a_person_is_not_one_accounts_to_disable() {
        let only = MemberFacts { is_only_admin: true, ..PLAIN };
        for change in [PersonChange::Demote, PersonChange::Disable, PersonChange::Remove] {
            assert_eq!(
                check_person_change(AdminScope::Root, only, change),
                Err(PersonChangeRefusal::OnlyAdmin),
                "{change:?}"
            );
        }
        assert_eq!(check_person_change(AdminScope::AccountAdmin, only, PersonChange::ResetPassword), Ok(()));
        let shared = MemberFacts { accounts: 2, ..PLAIN };
        for change in [PersonChange::Disable, PersonChange::Enable, PersonChange::ResetPassword] {
            let refused = check_person_change(AdminScope::AccountAdmin, shared, change);
            assert_eq!(refused, Err(PersonChangeRefusal::InOtherAccounts), "{change:?}");
            assert_eq!(check_person_change(AdminScope::Root, shared, change), Ok(()), "{change:?}");
        }
        assert_eq!(check_person_change(AdminScope::AccountAdmin, shared, PersonChange::Remove), Ok(()));
    }

    #[test]
    fn among_several_accounts_an_admin_invites_whoever_it_is() {
        let all = [InviteeStatus::Unknown, InviteeStatus::InNoAccount, InviteeStatus::Established];
        for standing in all {
            let added = join_method(AdminScope::AccountAdmin, Tenancy::SeveralAccounts, standing);
            assert_eq!(added, JoinMethod::Invite, "{standing:?}");
        }
        let alone = all.map(|standing| join_method(AdminScope::AccountAdmin, Tenancy::OneAccount, standing));
        assert_eq!(alone, [JoinMethod::Create, JoinMethod::Restore, JoinMethod::Invite]);
        let root = all.map(|standing| join_method(AdminScope::Root, Tenancy::SeveralAccounts, standing));
        assert_eq!(root, alone);
    }
}
