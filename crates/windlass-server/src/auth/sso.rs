//! Begins a session for someone whom the provider has identified: finds or creates the person, and sets the roles that
//! their groups grant now.
//!
//! The provider's subject identifies the person. An e-mail address is for display only, with one exception: at the first
//! sign-in, a verified address links the subject to a person who was added manually before. Administrators of the
//! installation cannot sign in this way.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_control::caller::is_role_valid;
use windlass_control::clock::now;
use windlass_control::email::check_email;
use windlass_control::flow::gate::re_evaluate::re_evaluate_open_proposals;
use windlass_control::flow::gate::revoked_approver::lapse_approvals;
use windlass_control::{metrics, record};
use windlass_core::id::{AccountId, UserId};
use windlass_core::redacted::Redacted;
use windlass_oidc::claims::{EmailVerification, ProviderIdentity};
use windlass_oidc::{GroupGrant, Oidc};
use windlass_store::{Actor, AuditEntry, Membership, Origin, Outcome, StoreError, User, new_id};

use crate::auth::login::{AuthenticatedUser, NewSession, begin_session};
use crate::auth::throttle::AttemptCount;
use crate::state::Server;

/// Why someone whom the provider has identified cannot sign in.
#[derive(Debug)]
pub(crate) enum SsoError {
    /// The provider sends no valid e-mail address.
    Email,
    /// A person here has that address, and the provider has not verified it.
    Unverified,
    /// A person here who is linked to another subject of this provider has that address.
    Taken,
    /// The address belongs to an administrator of the installation.
    Root,
    /// The person is disabled.
    Disabled,
    /// The person has no role, from groups or manually assigned, or none in the account they named.
    NoRole,
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for SsoError {
    fn from(error: StoreError) -> SsoError {
        SsoError::Store(error)
    }
}

/// The context of a sign-in.
pub(crate) struct SsoRequest<'e> {
    /// The account they named.
    pub(crate) account: Option<&'e str>,
    /// Their network address.
    pub(crate) address: &'e str,
    /// The id of the request.
    pub(crate) request_id: &'e str,
}

impl SsoRequest<'_> {
    fn actor(&self, name: &str, id: Option<&UserId>) -> Actor {
        Actor {
            name: name.to_owned(),
            id: id.cloned(),
            token_id: None,
            address: Some(self.address.to_owned()),
            request_id: Some(self.request_id.to_owned()),
        }
    }
}

/// Signs in someone whom the provider has identified.
pub(crate) async fn sign_in_with_provider(
    server: &Server,
    oidc: &Oidc,
    identity: &ProviderIdentity,
    request: &SsoRequest<'_>,
    counted: &AttemptCount,
) -> Result<NewSession, SsoError> {
    let granted = granted_roles(oidc.grants(), identity);
    let user = find_or_create_user(server, oidc, identity, request, &granted).await?;
    let held = server.store().read().await?.membership_origins(&user.id).await?;
    let lapsed = lapsed_accounts(server, &user, &held).await?;
    for (account_id, change) in membership_changes(&held, &granted) {
        change_membership(server, &user, &account_id, change, request).await?;
    }
    record_verification(server, oidc, identity, &user).await?;
    // Their approvals count again in accounts where their groups still grant the permission.
    for account_id in &lapsed {
        let mut writing = server.store().write_account(account_id).await?;
        re_evaluate_open_proposals(&mut writing, now()).await?;
        server.commit(writing).await?;
        server.nudges().apply.notify_one();
    }
    let memberships = server.store().read().await?.memberships(&user.id).await?;
    let wanted = |(id, name, _): &(AccountId, String, Role)| {
        request.account.is_none_or(|account| account == id.as_str() || account == name)
    };
    let Some((account_id, _, _)) = memberships.into_iter().find(wanted) else {
        log_groups(identity, &user.email);
        return Err(SsoError::NoRole);
    };
    let actor = request.actor(&user.email, Some(&user.id));
    let authenticated = AuthenticatedUser { user: &user, account_id: &account_id, actor: &actor, by: "sso" };
    let signed_in = begin_session(server, &authenticated, counted).await?;
    signed_in.ok_or(SsoError::NoRole)
}

/// The accounts in which a role from groups has lapsed because the person did not sign in for a long time.
async fn lapsed_accounts(
    server: &Server,
    user: &User,
    held: &[Membership],
) -> Result<Vec<AccountId>, StoreError> {
    let mut reading = server.store().read().await?;
    let mut lapsed = Vec::new();
    for Membership { account_id, .. } in held {
        let member = reading.member(account_id, user.id.as_str()).await?;
        if member.is_some_and(|member| !is_role_valid(&member, now())) {
            lapsed.push(account_id.clone());
        }
    }
    Ok(lapsed)
}

/// Records that the groups still grant the remaining roles, and whether the provider verified the person's address.
async fn record_verification(
    server: &Server,
    oidc: &Oidc,
    identity: &ProviderIdentity,
    user: &User,
) -> Result<(), StoreError> {
    let is_verified = identity.email_verification == EmailVerification::Verified
        && identity.email.to_lowercase() == user.email;
    let mut writing = server.store().write().await?;
    writing.memberships_prove(&user.id, now()).await?;
    writing.identity_set_verified(&oidc.settings().issuer, &identity.subject, is_verified).await?;
    writing.commit().await
}

/// The role that the groups grant in each account: of several, the last in the order viewer, operator, approver, admin.
fn granted_roles(grants: &[GroupGrant], identity: &ProviderIdentity) -> BTreeMap<AccountId, Role> {
    let mut granted: BTreeMap<AccountId, Role> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| identity.groups.contains(&grant.group)) {
        let role = granted.entry(grant.account_id.clone()).or_insert(grant.role);
        *role = grant.role.max(*role);
    }
    granted
}

/// A change to a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MembershipChange {
    Remove,
    Change(Role),
    Add(Role),
}

/// The changes that make memberships match the groups. Manually assigned roles stay. Removals come first.
fn membership_changes(
    held: &[Membership],
    granted: &BTreeMap<AccountId, Role>,
) -> Vec<(AccountId, MembershipChange)> {
    let mut changes = Vec::new();
    for membership in held.iter().filter(|membership| membership.origin == Origin::Groups) {
        match granted.get(&membership.account_id) {
            None => changes.push((membership.account_id.clone(), MembershipChange::Remove)),
            Some(role) if *role != membership.role => {
                changes.push((membership.account_id.clone(), MembershipChange::Change(*role)));
            }
            Some(_) => {}
        }
    }
    changes.sort_by_key(|(_, change)| *change != MembershipChange::Remove);
    let is_new = |account: &&AccountId| !held.iter().any(|membership| membership.account_id == **account);
    let new = granted
        .keys()
        .filter(is_new)
        .map(|account| (account.clone(), MembershipChange::Add(granted[account])));
    changes.extend(new);
    changes
}

async fn change_membership(
    server: &Server,
    user: &User,
    account_id: &AccountId,
    change: MembershipChange,
    request: &SsoRequest<'_>,
) -> Result<(), SsoError> {
    let now = now();
    let mut writing = server.store().write_account(account_id).await?;
    // Someone may have assigned a role manually in the meantime; that one takes precedence.
    let held = writing.membership_origins(&user.id).await?;
    let held = held.into_iter().find(|membership| membership.account_id == *account_id);
    if held.is_some_and(|membership| membership.origin == Origin::Manual) {
        return Ok(());
    }
    let (action, role) = match change {
        MembershipChange::Remove => ("user.remove", None),
        MembershipChange::Change(role) => ("user.change", Some(role)),
        MembershipChange::Add(role) => ("user.add", Some(role)),
    };
    match role {
        Some(role) => writing.member_grant(account_id, &user.id, role, now).await?,
        None => {
            writing.member_remove(account_id, &user.id, now).await?;
        }
    }
    let detail = json!({"role": role, "by": "groups"});
    let actor = request.actor("single sign-on", None);
    writing.audit(record::audit_entry(&actor, action, ("user", &user.email), detail, now));
    lapse_approvals(&mut writing, &user.email, &actor, now).await?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(())
}

/// The person with this subject, else the one with this verified address, else a new one.
async fn find_or_create_user(
    server: &Server,
    oidc: &Oidc,
    identity: &ProviderIdentity,
    request: &SsoRequest<'_>,
    granted: &BTreeMap<AccountId, Role>,
) -> Result<User, SsoError> {
    let issuer = oidc.settings().issuer.as_str();
    let email = check_email(&identity.email).map_err(|_| SsoError::Email)?;
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let known = writing.identity_user(issuer, &identity.subject).await?;
    let known = match known {
        Some(id) => writing.user(id.as_str()).await?,
        None => None,
    };
    if let Some(user) = known {
        return check_enabled(user);
    }
    let now = now();
    let detail = json!({"issuer": issuer, "subject": identity.subject});
    let (user, action) = match writing.user(&email).await?.filter(|user| user.email == email) {
        Some(user) => {
            if identity.email_verification != EmailVerification::Verified {
                return Err(SsoError::Unverified);
            }
            let user = check_enabled(user)?;
            if writing.identity_issuers(&user.id).await?.iter().any(|known| known == issuer) {
                return Err(SsoError::Taken);
            }
            // Whoever added the person may know the password, and may have used it for a session or an API token.
            writing.user_set_password(&user.id, &Redacted::new(String::new()), false).await?;
            writing.tokens_revoke_all(&user.id, now).await?;
            (user, "user.link")
        }
        // Nobody without a role is stored.
        None if granted.is_empty() => {
            log_groups(identity, &email);
            return Err(SsoError::NoRole);
        }
        None => {
            let user = new_user(identity, email, now);
            writing.user_add(&user).await?;
            (user, "user.add")
        }
    };
    writing.identity_add(issuer, &identity.subject, &user.id, now).await?;
    let actor = request.actor("single sign-on", None);
    writing.audit(record::audit_entry(&actor, action, ("user", &user.email), detail, now));
    server.commit(writing).await?;
    Ok(user)
}

fn check_enabled(user: User) -> Result<User, SsoError> {
    match (user.is_root, user.disabled_at) {
        (true, _) => Err(SsoError::Root),
        (false, Some(_)) => Err(SsoError::Disabled),
        (false, None) => Ok(user),
    }
}

fn new_user(identity: &ProviderIdentity, email: String, now: windlass_core::time::Timestamp) -> User {
    User {
        id: new_id(),
        email,
        name: identity.name.clone(),
        password_hash: Redacted::new(String::new()),
        must_change_password: false,
        is_root: false,
        disabled_at: None,
        created_at: now,
    }
}

/// Logs the groups for whoever maps groups to roles. The page does not show them.
fn log_groups(identity: &ProviderIdentity, email: &str) {
    let groups: Vec<&String> = identity.groups.iter().take(50).collect();
    tracing::warn!(email, ?groups, count = identity.groups.len(), "none of the user's groups grants a role");
}

/// Records in the audit log that a sign-in through the provider was rejected.
pub(crate) async fn record_refusal(
    server: &Server,
    who: Option<&ProviderIdentity>,
    code: &str,
    request: &SsoRequest<'_>,
) -> Result<(), StoreError> {
    let name: String = who.map_or("someone", |identity| identity.email.as_str()).chars().take(200).collect();
    metrics::sign_in("sso", metrics::MetricOutcome::Refused);
    let detail: Value = json!({"by": "sso", "code": code});
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let actor = request.actor(&name, None);
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..record::audit_entry(&actor, "auth.login", ("user", &name), detail, now())
    });
    server.commit(writing).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership(account: &str, role: Role, origin: Origin) -> Membership {
        Membership { account_id: AccountId::new(account), role, origin }
    }

    #[test]
    fn groups_add_change_and_remove_roles_but_keep_manually_assigned_ones() {
        let held = [
            membership("changed", Role::Viewer, Origin::Groups),
            membership("gone", Role::Admin, Origin::Groups),
            membership("by-hand", Role::Viewer, Origin::Manual),
            membership("same", Role::Viewer, Origin::Groups),
        ];
        let granted = [
            ("by-hand", Role::Admin),
            ("changed", Role::Admin),
            ("new", Role::Operator),
            ("same", Role::Viewer),
        ];
        let granted = granted.into_iter().map(|(account, role)| (AccountId::new(account), role)).collect();
        let expected = [
            ("gone", MembershipChange::Remove),
            ("changed", MembershipChange::Change(Role::Admin)),
            ("new", MembershipChange::Add(Role::Operator)),
        ];
        assert_eq!(
            membership_changes(&held, &granted),
            expected.map(|(account, change)| (AccountId::new(account), change))
        );
    }

    #[test]
    fn of_several_roles_in_an_account_the_highest_counts_and_group_names_are_case_sensitive() {
        let grant = |group: &str, role, account: &str| GroupGrant {
            group: group.to_owned(),
            role,
            account_id: AccountId::new(account),
        };
        let grants = [
            grant("leads", Role::Approver, "a"),
            grant("everyone", Role::Viewer, "a"),
            grant("Leads", Role::Admin, "a"),
            grant("everyone", Role::Viewer, "b"),
        ];
        let identity = ProviderIdentity {
            subject: "1".to_owned(),
            email: "a@b".to_owned(),
            email_verification: EmailVerification::Unverified,
            name: String::new(),
            groups: ["leads", "everyone"].map(str::to_owned).into(),
        };
        let granted = granted_roles(&grants, &identity);
        assert_eq!(
            granted,
            BTreeMap::from([(AccountId::new("a"), Role::Approver), (AccountId::new("b"), Role::Viewer)])
        );
    }
}
