//! The people of an account.

use serde_json::json;
use windlass_api::permission::Role;
use windlass_api::types::{SignsInWith, UserAdded, UserBody, UserCreated, UserInfo, UserPatch};
use windlass_core::access::{
    AdminScope, InviteeStatus, JoinMethod, MemberFacts, PersonChange, PersonChangeRefusal, Tenancy,
    check_person_change, join_method,
};
use windlass_core::id::{AccountId, UserId};
use windlass_core::inbound::throttle::FailureSubject;
use windlass_core::redacted::Redacted;
use windlass_store::{AccountWriting, Member, Reading, StoreError, User, Writing, new_id};

use crate::ask::invitation;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::email::check_email;
use crate::flow::gate::revoked_approver::{lapse_approvals, reconsider_approvals_in};
use crate::password::{hash_password, one_time_password};
use crate::record;
use crate::refusal::Refusal;

/// Clears the failed sign-ins of a person who gets a new password.
pub(crate) async fn clear_failures(writing: &mut Writing, email: &str) -> Result<(), StoreError> {
    writing.failures_clear(&FailureSubject::Person(email).key()).await?;
    writing.failures_clear_all(&FailureSubject::keys_of_person(email)).await
}

fn info(member: &Member) -> UserInfo {
    UserInfo {
        id: member.user.id.to_string(),
        email: member.user.email.clone(),
        name: member.user.name.clone(),
        role: member.role,
        disabled: member.user.disabled_at.is_some(),
        created_at: member.user.created_at.to_string(),
        signs_in_with: SignsInWith::Password,
    }
}

/// The people of the caller's account.
pub async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<UserInfo>, Refusal> {
    let sso_members = reading.identity_members(&who.account_id).await?;
    let members = reading.members(&who.account_id).await?;
    let people = members.iter().map(|member| UserInfo {
        signs_in_with: match sso_members.contains(&member.user.id) {
            true => SignsInWith::Sso,
            false => SignsInWith::Password,
        },
        ..info(member)
    });
    Ok(people.collect())
}

async fn new_password() -> Result<(Redacted<String>, Redacted<String>), Refusal> {
    let password = one_time_password();
    let hash = hash_password(password.clone()).await;
    let hash = hash.ok_or_else(|| Refusal::unprocessable("password", "could not create a password", ""))?;
    Ok((password, hash))
}

/// Adds someone to the caller's account, or invites them.
pub async fn add(server: &Control, who: &Identity, body: &UserBody) -> Result<UserAdded, Refusal> {
    let email = check_email(&body.email)?;
    // Created in every case, so that the response time does not reveal whether the person exists.
    let (password, hash) = new_password().await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    if writing.member(&who.account_id, &email).await?.is_some() {
        return Err(Refusal::conflict(
            "taken",
            "they are already in this account",
            "change their role instead",
        ));
    }
    let known = writing.user(&email).await?.filter(|user| user.email == email);
    let id = id_of(known.as_ref());
    let uses_sso = !writing.identity_issuers(&id).await?.is_empty();
    let addition = addition_of(&mut writing, who, known.as_ref()).await?;
    let (user, has_password) = match (addition, known) {
        (JoinMethod::Restore, Some(user)) => {
            if !uses_sso {
                writing.user_set_password(&user.id, &hash, true).await?;
            }
            writing.tokens_revoke_all(&user.id, now).await?;
            (user, !uses_sso)
        }
        (JoinMethod::Create, _) => {
            let name: String = body.name.trim().chars().filter(|c| !c.is_control()).take(100).collect();
            let user = User {
                id: new_id(),
                email: email.clone(),
                name,
                password_hash: hash,
                must_change_password: true,
                is_root: false,
                disabled_at: None,
                created_at: now,
            };
            writing.user_add(&user).await?;
            (user, true)
        }
        (JoinMethod::Invite | JoinMethod::Restore, _) => {
            return invitation::invite(server, who, writing, &email, body.role).await;
        }
    };
    writing.member_set(&who.account_id, &user.id, body.role, now).await?;
    let detail = json!({"role": body.role});
    writing.audit(record::audit_entry(&who.actor(), "user.add", ("user", &email), detail, now));
    let member = writing.member(&who.account_id, user.id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    let mut user = info(&member);
    if uses_sso {
        user.signs_in_with = SignsInWith::Sso;
    }
    let one_time_password = has_password.then(|| password.expose().clone());
    Ok(UserAdded { user: Some(user), one_time_password, invitation: None })
}

/// The id of a known person; otherwise an id that nobody has.
fn id_of(known: Option<&User>) -> UserId {
    known.map_or_else(|| UserId::new(""), |user| user.id.clone())
}

/// How a person joins the caller's account. Sends the same queries whether or not the person exists.
async fn addition_of(
    writing: &mut AccountWriting,
    who: &Identity,
    known: Option<&User>,
) -> Result<JoinMethod, Refusal> {
    let memberships = writing.memberships(&id_of(known)).await?;
    let status = match known {
        None => InviteeStatus::Unknown,
        Some(user) if memberships.is_empty() && !user.is_root => InviteeStatus::InNoAccount,
        Some(_) => InviteeStatus::Established,
    };
    let tenancy = match writing.accounts().await?.len() {
        0 | 1 => Tenancy::OneAccount,
        _ => Tenancy::SeveralAccounts,
    };
    Ok(join_method(caller(who), tenancy, status))
}

fn caller(who: &Identity) -> AdminScope {
    if who.is_root { AdminScope::Root } else { AdminScope::AccountAdmin }
}

/// The facts that decide whether a member may be changed.
async fn target_of(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    member: &Member,
) -> Result<MemberFacts, Refusal> {
    let user = &member.user;
    let is_other = |other: &User| other.disabled_at.is_none() && other.id != user.id;
    let members = writing.members(account_id).await?;
    let is_other_admin = |other: &Member| other.role == Role::Admin && is_other(&other.user);
    Ok(MemberFacts {
        is_root: user.is_root,
        is_only_root: user.is_root && !writing.users_root().await?.iter().any(is_other),
        is_only_admin: member.role == Role::Admin && !members.iter().any(is_other_admin),
        accounts: writing.memberships(&user.id).await?.len(),
    })
}

fn refused(refusal: PersonChangeRefusal) -> Refusal {
    const ASK: &str = "ask an administrator of the installation";
    match refusal {
        // One message for both: the account must not learn what the person is elsewhere.
        PersonChangeRefusal::Root | PersonChangeRefusal::InOtherAccounts => {
            Refusal::forbidden("they are also in other accounts, or administer the installation", ASK)
        }
        PersonChangeRefusal::OnlyAdmin => Refusal::conflict(
            "last-admin",
            "the account would have no admin left",
            "make someone else an admin first",
        ),
        PersonChangeRefusal::OnlyRoot => Refusal::conflict(
            "last-root",
            "the installation would have no administrator left",
            "create another administrator with `windlass recover-admin` on the server's machine",
        ),
        PersonChangeRefusal::OnlyAccountOfRoot => Refusal::conflict(
            "last-root",
            "they administer the installation and would have no account left",
            "add them to another account first",
        ),
    }
}

/// The changes to a person that a request contains.
fn changes(body: &UserPatch) -> Vec<PersonChange> {
    let role = body.role.map(|role| match role {
        Role::Admin => PersonChange::Promote,
        _ => PersonChange::Demote,
    });
    let access = body.disabled.map(|disabled| match disabled {
        true => PersonChange::Disable,
        false => PersonChange::Enable,
    });
    role.into_iter().chain(access).chain(body.reset_password.then_some(PersonChange::ResetPassword)).collect()
}

/// Changes a person's role, enables or disables them, or resets their password.
pub async fn change_user(
    server: &Control,
    who: &Identity,
    id_or_email: &str,
    body: &UserPatch,
) -> Result<UserCreated, Refusal> {
    let (password, hash) = new_password().await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let member = writing.member(&who.account_id, id_or_email).await?.ok_or_else(Refusal::not_found)?;
    let user_id = member.user.id.clone();
    let target = target_of(&mut writing, &who.account_id, &member).await?;
    for change in changes(body) {
        check_person_change(caller(who), target, change).map_err(refused)?;
    }
    let uses_sso = !writing.identity_issuers(&user_id).await?.is_empty();
    if body.reset_password && uses_sso {
        let message = "they sign in through single sign-on and have no password here";
        return Err(Refusal::conflict("sso", message, "reset it at the single sign-on provider"));
    }
    if let Some(role) = body.role {
        writing.member_set(&who.account_id, &user_id, role, now).await?;
    }
    if let Some(disabled) = body.disabled {
        writing.user_set_disabled(&user_id, disabled.then_some(now)).await?;
    }
    lapse_approvals(&mut writing, &member.user.email, &who.actor(), now).await?;
    let mut tokens_ended = 0;
    if body.reset_password {
        writing.user_set_password(&user_id, &hash, true).await?;
        if !body.keep_tokens {
            tokens_ended = writing.tokens_revoke_all(&user_id, now).await?;
        }
        clear_failures(&mut writing, &member.user.email).await?;
    }
    let detail = json!({"role": body.role, "disabled": body.disabled, "reset_password": body.reset_password,
        "tokens_ended": tokens_ended});
    writing.audit(record::audit_entry(
        &who.actor(),
        "user.change",
        ("user", &member.user.email),
        detail,
        now,
    ));
    let member = writing.member(&who.account_id, user_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let memberships = writing.memberships(&user_id).await?;
    server.commit(writing).await?;
    if body.disabled == Some(true) {
        // A disabled person loses access to every account.
        let others = memberships.into_iter().map(|(id, _, _)| id).filter(|id| *id != who.account_id);
        let others: Vec<AccountId> = others.collect();
        reconsider_approvals_in(server, &others, &member.user.email, &who.actor(), now).await?;
    }
    server.nudges().apply.notify_one();
    let one_time_password = body.reset_password.then(|| password.expose().clone());
    let mut user = info(&member);
    if uses_sso {
        user.signs_in_with = SignsInWith::Sso;
    }
    Ok(UserCreated { user, one_time_password })
}

/// Removes a person from the caller's account, with their sessions and API tokens there.
pub async fn remove_user(server: &Control, who: &Identity, id_or_email: &str) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let member = writing.member(&who.account_id, id_or_email).await?.ok_or_else(Refusal::not_found)?;
    let target = target_of(&mut writing, &who.account_id, &member).await?;
    check_person_change(caller(who), target, PersonChange::Remove).map_err(refused)?;
    writing.member_remove(&who.account_id, &member.user.id, now).await?;
    writing.audit(record::audit_entry(
        &who.actor(),
        "user.remove",
        ("user", &member.user.email),
        json!({}),
        now,
    ));
    lapse_approvals(&mut writing, &member.user.email, &who.actor(), now).await?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(())
}
