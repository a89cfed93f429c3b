//! Who may change whom in an account, and how someone comes into one.

/// Who wants to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminScope {
    /// An administrator of the installation.
    Root,
    /// An admin of the account.
    AccountAdmin,
}

/// What is to be changed about a member of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonChange {
    /// A role that is no admin's.
    Demote,
    /// An admin's role.
    Promote,
    /// They may not sign in.
    Disable,
    /// They may sign in again.
    Enable,
    /// They get a new one-time password.
    ResetPassword,
    /// They are taken out of the account.
    Remove,
}

/// The member who is to be changed.
#[derive(Clone, Copy, Debug)]
pub struct MemberFacts {
    /// Whether they administer the installation.
    pub is_root: bool,
    /// Whether nobody else who may sign in administers the installation.
    pub is_only_root: bool,
    /// Whether nobody else who may sign in is an admin of the account.
    pub is_only_admin: bool,
    /// How many accounts they are in.
    pub accounts: usize,
}

/// Why someone may not be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PersonChangeRefusal {
    /// They administer the installation, and whoever asks does not.
    Root,
    /// Nobody could administer the installation any more.
    OnlyRoot,
    /// They administer the installation and could sign in to no account any more.
    OnlyAccountOfRoot,
    /// The account would have no admin left.
    OnlyAdmin,
    /// What belongs to the person is not for one of several accounts to change.
    InOtherAccounts,
}

/// Whether someone may change a member so.
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

/// How many accounts an installation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One: whoever is known is known here.
    OneAccount,
    /// Several, that must learn nothing of one another.
    SeveralAccounts,
}

/// What is known of someone who is to be added to an account they are not in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InviteeStatus {
    /// Nobody has the e-mail address.
    Unknown,
    /// Someone has it who is in no account and does not administer the installation.
    InNoAccount,
    /// Someone has it who is in other accounts, or administers the installation.
    Established,
}

/// How someone comes into an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinMethod {
    /// A new person, with a one-time password.
    Create,
    /// A person nobody else has a claim to, with a new one-time password.
    Restore,
    /// An invitation that whoever has the e-mail address accepts or declines.
    Invite,
}

/// How someone comes into an account. An account's admin in an installation of several always invites, whoever it is: any
/// other answer would tell them who is known to other accounts.
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
