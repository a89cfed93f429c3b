//! Who may change whom in an account, and how someone comes into one.

/// Who wants to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
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
pub struct Target {
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
pub enum ChangeRefusal {
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
pub fn may_change(caller: Caller, target: Target, change: PersonChange) -> Result<(), ChangeRefusal> {
    use PersonChange::{Demote, Disable, Enable, Remove, ResetPassword};
    if target.is_root && caller != Caller::Root {
        return Err(ChangeRefusal::Root);
    }
    if target.is_root && target.is_only_root && change == Disable {
        return Err(ChangeRefusal::OnlyRoot);
    }
    if target.is_root && target.accounts <= 1 && change == Remove {
        return Err(ChangeRefusal::OnlyAccountOfRoot);
    }
    if target.is_only_admin && matches!(change, Demote | Disable | Remove) {
        return Err(ChangeRefusal::OnlyAdmin);
    }
    let is_of_person = matches!(change, Disable | Enable | ResetPassword);
    if is_of_person && caller == Caller::AccountAdmin && target.accounts > 1 {
        return Err(ChangeRefusal::InOtherAccounts);
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
pub enum Standing {
    /// Nobody has the e-mail address.
    Unknown,
    /// Someone has it who is in no account and does not administer the installation.
    InNoAccount,
    /// Someone has it who is in other accounts, or administers the installation.
    Established,
}

/// How someone comes into an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addition {
    /// A new person, with a one-time password.
    Create,
    /// A person nobody else has a claim to, with a new one-time password.
    Restore,
    /// An invitation that whoever has the e-mail address accepts or declines.
    Invite,
}

/// How someone comes into an account. An account's admin in an installation of several always invites, whoever it is: any
/// other answer would tell them who is known to other accounts.
pub fn how_to_add(caller: Caller, tenancy: Tenancy, standing: Standing) -> Addition {
    match (caller, tenancy, standing) {
        (Caller::AccountAdmin, Tenancy::SeveralAccounts, _) | (_, _, Standing::Established) => {
            Addition::Invite
        }
        (_, _, Standing::Unknown) => Addition::Create,
        (_, _, Standing::InNoAccount) => Addition::Restore,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Target = Target { is_root: false, is_only_root: false, is_only_admin: false, accounts: 1 };
    const ROOT: Target = Target { is_root: true, accounts: 2, ..PLAIN };
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
                may_change(Caller::AccountAdmin, ROOT, change),
                Err(ChangeRefusal::Root),
                "{change:?}"
            );
            assert_eq!(may_change(Caller::Root, ROOT, change), Ok(()), "{change:?}");
            assert_eq!(may_change(Caller::AccountAdmin, PLAIN, change), Ok(()), "{change:?}");
        }
    }

    #[test]
    fn root_cannot_lock_itself_out() {
        let only = Target { is_only_root: true, ..ROOT };
        assert_eq!(may_change(Caller::Root, only, PersonChange::Disable), Err(ChangeRefusal::OnlyRoot));
        let last = Target { accounts: 1, ..ROOT };
        assert_eq!(
            may_change(Caller::Root, last, PersonChange::Remove),
            Err(ChangeRefusal::OnlyAccountOfRoot)
        );
    }

    #[test]
    fn an_account_keeps_an_admin_and_a_person_is_not_one_accounts_to_disable() {
        let only = Target { is_only_admin: true, ..PLAIN };
        for change in [PersonChange::Demote, PersonChange::Disable, PersonChange::Remove] {
            assert_eq!(may_change(Caller::Root, only, change), Err(ChangeRefusal::OnlyAdmin), "{change:?}");
        }
        assert_eq!(may_change(Caller::AccountAdmin, only, PersonChange::ResetPassword), Ok(()));
        let shared = Target { accounts: 2, ..PLAIN };
        for change in [PersonChange::Disable, PersonChange::Enable, PersonChange::ResetPassword] {
            let refused = may_change(Caller::AccountAdmin, shared, change);
            assert_eq!(refused, Err(ChangeRefusal::InOtherAccounts), "{change:?}");
            assert_eq!(may_change(Caller::Root, shared, change), Ok(()), "{change:?}");
        }
        assert_eq!(may_change(Caller::AccountAdmin, shared, PersonChange::Remove), Ok(()));
    }

    #[test]
    fn among_several_accounts_an_admin_invites_whoever_it_is() {
        let all = [Standing::Unknown, Standing::InNoAccount, Standing::Established];
        for standing in all {
            let added = how_to_add(Caller::AccountAdmin, Tenancy::SeveralAccounts, standing);
            assert_eq!(added, Addition::Invite, "{standing:?}");
        }
        let alone = all.map(|standing| how_to_add(Caller::AccountAdmin, Tenancy::OneAccount, standing));
        assert_eq!(alone, [Addition::Create, Addition::Restore, Addition::Invite]);
        let root = all.map(|standing| how_to_add(Caller::Root, Tenancy::SeveralAccounts, standing));
        assert_eq!(root, alone);
    }
}
