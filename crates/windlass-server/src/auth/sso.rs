//! From someone whom the provider knows to a session: which person that is here, and what their groups give them now.
//!
//! The provider's subject is the person. An e-mail address is for show, and only once, when it is verified, the way to
//! someone who was added by hand before. Administrators of the installation never come in this way.

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

use crate::auth::login::{AuthenticatedUser, SignedIn, begin_session};
use crate::auth::throttle::AttemptCount;
use crate::state::Server;

/// Why someone whom the provider knows may not come in.
#[derive(Debug)]
pub(crate) enum SsoError {
    /// The address is none.
    Email,
    /// Someone here has that address, and the provider does not say that it is theirs.
    Unverified,
    /// Someone else of the same provider has that address here.
    Taken,
    /// The address is an administrator's of the installation.
    Root,
    /// They were disabled.
    Disabled,
    /// Neither groups nor anyone here gives them a role, or none in the account they named.
    NoRole,
    /// The database could not tell.
    Store(StoreError),
}

impl From<StoreError> for SsoError {
    fn from(error: StoreError) -> SsoError {
        SsoError::Store(error)
    }
}

/// Where and as part of what someone signs in.
pub(crate) struct SsoRequest<'e> {
    /// The account they named.
    pub(crate) account: Option<&'e str>,
    /// Their network address.
    pub(crate) address: &'e str,
    /// The request.
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

/// Lets someone in whom the provider knows.
pub(crate) async fn sign_in_with_provider(
    server: &Server,
    oidc: &Oidc,
    stranger: &ProviderIdentity,
    entry: &SsoRequest<'_>,
    counted: &AttemptCount,
) -> Result<SignedIn, SsoError> {
    let given = given_by(oidc.grants(), stranger);
    let user = person_of(server, oidc, stranger, entry, &given).await?;
    let held = server.store().read().await?.membership_origins(&user.id).await?;
    let lapsed = lapsed_accounts(server, &user, &held).await?;
    for (account_id, step) in membership_changes(&held, &given) {
        take_step(server, &user, &account_id, step, entry).await?;
    }
    note_proof(server, oidc, stranger, &user).await?;
    // What they approved counts again where their groups still let them.
    for account_id in &lapsed {
        let mut writing = server.store().write_account(account_id).await?;
        re_evaluate_open_proposals(&mut writing, now()).await?;
        server.commit(writing).await?;
        server.nudges().apply.notify_one();
    }
    let memberships = server.store().read().await?.memberships(&user.id).await?;
    let wanted = |(id, name, _): &(AccountId, String, Role)| {
        entry.account.is_none_or(|account| account == id.as_str() || account == name)
    };
    let Some((account_id, _, _)) = memberships.into_iter().find(wanted) else {
        log_groups(stranger, &user.email);
        return Err(SsoError::NoRole);
    };
    let actor = entry.actor(&user.email, Some(&user.id));
    let proven = AuthenticatedUser { user: &user, account_id: &account_id, actor: &actor, by: "sso" };
    let signed_in = begin_session(server, &proven, counted).await?;
    signed_in.ok_or(SsoError::NoRole)
}

/// The accounts in which someone has a role of their groups that holds no longer, because they did not sign in for long.
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

/// Notes that the groups give all that is left of what they gave, and whether the address is proved to be theirs.
async fn note_proof(
    server: &Server,
    oidc: &Oidc,
    stranger: &ProviderIdentity,
    user: &User,
) -> Result<(), StoreError> {
    let is_theirs = stranger.email_verification == EmailVerification::Verified
        && stranger.email.to_lowercase() == user.email;
    let mut writing = server.store().write().await?;
    writing.memberships_prove(&user.id, now()).await?;
    writing.identity_set_verified(&oidc.settings().issuer, &stranger.subject, is_theirs).await?;
    writing.commit().await
}

/// Which role the groups give in which account: of several the one that comes last in viewer, operator, approver, admin.
fn given_by(grants: &[GroupGrant], stranger: &ProviderIdentity) -> BTreeMap<AccountId, Role> {
    let mut given: BTreeMap<AccountId, Role> = BTreeMap::new();
    for grant in grants.iter().filter(|grant| stranger.groups.contains(&grant.group)) {
        let role = given.entry(grant.account_id.clone()).or_insert(grant.role);
        *role = grant.role.max(*role);
    }
    given
}

/// What is to be done about a membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MembershipChange {
    Take,
    Change(Role),
    Give(Role),
}

/// How memberships become what the groups give. Those that someone gave by hand stay. What is taken comes first.
fn membership_changes(
    held: &[Membership],
    given: &BTreeMap<AccountId, Role>,
) -> Vec<(AccountId, MembershipChange)> {
    let mut steps = Vec::new();
    for membership in held.iter().filter(|membership| membership.origin == Origin::Groups) {
        match given.get(&membership.account_id) {
            None => steps.push((membership.account_id.clone(), MembershipChange::Take)),
            Some(role) if *role != membership.role => {
                steps.push((membership.account_id.clone(), MembershipChange::Change(*role)));
            }
            Some(_) => {}
        }
    }
    steps.sort_by_key(|(_, step)| *step != MembershipChange::Take);
    let is_new = |account: &&AccountId| !held.iter().any(|membership| membership.account_id == **account);
    let new =
        given.keys().filter(is_new).map(|account| (account.clone(), MembershipChange::Give(given[account])));
    steps.extend(new);
    steps
}

async fn take_step(
    server: &Server,
    user: &User,
    account_id: &AccountId,
    step: MembershipChange,
    entry: &SsoRequest<'_>,
) -> Result<(), SsoError> {
    let now = now();
    let mut writing = server.store().write_account(account_id).await?;
    // Someone may have changed it by hand just now, and that counts.
    let held = writing.membership_origins(&user.id).await?;
    let held = held.into_iter().find(|membership| membership.account_id == *account_id);
    if held.is_some_and(|membership| membership.origin == Origin::Hand) {
        return Ok(());
    }
    let (action, role) = match step {
        MembershipChange::Take => ("user.remove", None),
        MembershipChange::Change(role) => ("user.change", Some(role)),
        MembershipChange::Give(role) => ("user.add", Some(role)),
    };
    match role {
        Some(role) => writing.member_grant(account_id, &user.id, role, now).await?,
        None => {
            writing.member_remove(account_id, &user.id, now).await?;
        }
    }
    let detail = json!({"role": role, "by": "groups"});
    let actor = entry.actor("single sign-on", None);
    writing.audit(record::audit_entry(&actor, action, ("user", &user.email), detail, now));
    lapse_approvals(&mut writing, &user.email, &actor, now).await?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(())
}

/// The person someone is here: known by their subject, else by a verified address, else new.
async fn person_of(
    server: &Server,
    oidc: &Oidc,
    stranger: &ProviderIdentity,
    entry: &SsoRequest<'_>,
    given: &BTreeMap<AccountId, Role>,
) -> Result<User, SsoError> {
    let issuer = oidc.settings().issuer.as_str();
    let email = check_email(&stranger.email).map_err(|_| SsoError::Email)?;
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let known = writing.identity_user(issuer, &stranger.subject).await?;
    let known = match known {
        Some(id) => writing.user(id.as_str()).await?,
        None => None,
    };
    if let Some(user) = known {
        return check_enabled(user);
    }
    let now = now();
    let detail = json!({"issuer": issuer, "subject": stranger.subject});
    let (user, action) = match writing.user(&email).await?.filter(|user| user.email == email) {
        Some(user) => {
            if stranger.email_verification != EmailVerification::Verified {
                return Err(SsoError::Unverified);
            }
            let user = check_enabled(user)?;
            if writing.identity_issuers(&user.id).await?.iter().any(|known| known == issuer) {
                return Err(SsoError::Taken);
            }
            // Whoever added them may know the password, and any session or API token may be theirs.
            writing.user_set_password(&user.id, &Redacted::new(String::new()), false).await?;
            writing.tokens_revoke_all(&user.id, now).await?;
            (user, "user.link")
        }
        // Nobody is remembered who may do nothing.
        None if given.is_empty() => {
            log_groups(stranger, &email);
            return Err(SsoError::NoRole);
        }
        None => {
            let user = new_user(stranger, email, now);
            writing.user_add(&user).await?;
            (user, "user.add")
        }
    };
    writing.identity_add(issuer, &stranger.subject, &user.id, now).await?;
    let actor = entry.actor("single sign-on", None);
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

fn new_user(stranger: &ProviderIdentity, email: String, now: windlass_core::time::Timestamp) -> User {
    User {
        id: new_id(),
        email,
        name: stranger.name.clone(),
        password_hash: Redacted::new(String::new()),
        must_change_password: false,
        is_root: false,
        disabled_at: None,
        created_at: now,
    }
}

/// For whoever maps groups. The page says nothing of them.
fn log_groups(stranger: &ProviderIdentity, email: &str) {
    let groups: Vec<&String> = stranger.groups.iter().take(50).collect();
    tracing::warn!(email, ?groups, count = stranger.groups.len(), "none of the user's groups grants a role");
}

/// Notes that someone could not sign in through the provider.
pub(crate) async fn record_refusal(
    server: &Server,
    who: Option<&ProviderIdentity>,
    code: &str,
    entry: &SsoRequest<'_>,
) -> Result<(), StoreError> {
    let name: String = who.map_or("someone", |stranger| stranger.email.as_str()).chars().take(200).collect();
    metrics::sign_in("sso", metrics::MetricOutcome::Refused);
    let detail: Value = json!({"by": "sso", "code": code});
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let actor = entry.actor(&name, None);
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
    fn groups_give_change_and_take_and_leave_alone_what_was_given_by_hand() {
        let held = [
            membership("changed", Role::Viewer, Origin::Groups),
            membership("gone", Role::Admin, Origin::Groups),
            membership("by-hand", Role::Viewer, Origin::Hand),
            membership("same", Role::Viewer, Origin::Groups),
        ];
        let given = [
            ("by-hand", Role::Admin),
            ("changed", Role::Admin),
            ("new", Role::Operator),
            ("same", Role::Viewer),
        ];
        let given = given.into_iter().map(|(account, role)| (AccountId::new(account), role)).collect();
        let expected = [
            ("gone", MembershipChange::Take),
            ("changed", MembershipChange::Change(Role::Admin)),
            ("new", MembershipChange::Give(Role::Operator)),
        ];
        assert_eq!(
            membership_changes(&held, &given),
            expected.map(|(account, step)| (AccountId::new(account), step))
        );
    }

    #[test]
    fn of_several_roles_in_an_account_the_last_in_order_counts_and_spelling_matters() {
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
        let stranger = ProviderIdentity {
            subject: "1".to_owned(),
            email: "a@b".to_owned(),
            email_verification: EmailVerification::Unverified,
            name: String::new(),
            groups: ["leads", "everyone"].map(str::to_owned).into(),
        };
        let given = given_by(&grants, &stranger);
        assert_eq!(
            given,
            BTreeMap::from([(AccountId::new("a"), Role::Approver), (AccountId::new("b"), Role::Viewer)])
        );
    }
}
