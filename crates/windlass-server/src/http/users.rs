//! The people of an account.

use axum::extract::{Path, State};
use serde_json::json;
use windlass_api::permission::Role;
use windlass_api::types::{SignsInWith, UserBody, UserCreated, UserInfo, UserList, UserPatch};
use windlass_core::redacted::Redacted;
use windlass_store::{AccountWriting, Member, Reading, User, new_id};

use super::error::HttpError;
use super::request::{Answer, Body, created, done, ok};
use crate::auth::{Identity, hash_password, one_time_password};
use crate::clock::now;
use crate::server::Server;
use crate::tell;

fn info(member: &Member) -> UserInfo {
    UserInfo {
        id: member.user.id.clone(),
        email: member.user.email.clone(),
        name: member.user.name.clone(),
        role: Role::from_slug(&member.role).unwrap_or(Role::Viewer),
        disabled: member.user.disabled_at.is_some(),
        created_at: member.user.created_at.to_string(),
        signs_in_with: SignsInWith::Password,
    }
}

pub(super) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&UserList { users: load_all(&mut reading, &who).await? })
}

/// The people of the caller's account.
pub(crate) async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<UserInfo>, HttpError> {
    let known_elsewhere = reading.identity_members(&who.account_id).await?;
    let members = reading.members(&who.account_id).await?;
    let people = members.iter().map(|member| UserInfo {
        signs_in_with: match known_elsewhere.contains(&member.user.id) {
            true => SignsInWith::Sso,
            false => SignsInWith::Password,
        },
        ..info(member)
    });
    Ok(people.collect())
}

/// An address good enough to tell people apart: something, `@`, something, nothing invisible.
pub(crate) fn check_email(email: &str) -> Result<String, HttpError> {
    let email = email.trim().to_lowercase();
    let (name, host) = email.split_once('@').unwrap_or_default();
    let is_plain = email.len() <= 254 && !email.chars().any(|c| c.is_whitespace() || c.is_control());
    if name.is_empty() || host.is_empty() || !is_plain {
        let message = "that is not an e-mail address";
        return Err(HttpError::unprocessable("bad-value", message, "write it as ada@example.com"));
    }
    Ok(email)
}

async fn new_password() -> Result<(Redacted<String>, Redacted<String>), HttpError> {
    let password = one_time_password();
    let hash = hash_password(password.clone()).await;
    let hash = hash.ok_or_else(|| HttpError::unprocessable("password", "no password could be made", ""))?;
    Ok((password, hash))
}

pub(super) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<UserBody>,
) -> Answer {
    created(&add(&server, &who, &body).await?)
}

/// Adds someone to the caller's account.
pub(crate) async fn add(server: &Server, who: &Identity, body: &UserBody) -> Result<UserCreated, HttpError> {
    let email = check_email(&body.email)?;
    let (password, hash) = new_password().await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    if writing.member(&who.account_id, &email).await?.is_some() {
        return Err(HttpError::conflict(
            "taken",
            "they are in this account already",
            "change their role instead",
        ));
    }
    let known = writing.user(&email).await?;
    let is_new = known.is_none();
    let user = match known {
        Some(user) => user,
        None => {
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
            user
        }
    };
    writing.member_set(&who.account_id, &user.id, body.role.slug(), now).await?;
    let detail = json!({"role": body.role});
    writing.audit(tell::entry(&who.actor(), "user.add", ("user", &email), detail, now));
    server.commit(writing).await?;
    let user = info(&Member { user, role: body.role.slug().to_owned() });
    Ok(UserCreated { user, one_time_password: is_new.then(|| password.expose().clone()) })
}

/// Whether the account would be left without an admin.
async fn is_last_admin(
    writing: &mut AccountWriting,
    who: &Identity,
    user_id: &str,
) -> Result<bool, HttpError> {
    let members = writing.members(&who.account_id).await?;
    let mut others = members.iter().filter(|member| {
        member.role == Role::Admin.slug() && member.user.disabled_at.is_none() && member.user.id != user_id
    });
    Ok(others.next().is_none())
}

fn last_admin() -> HttpError {
    HttpError::conflict(
        "last-admin",
        "the account would have no admin left",
        "make someone else an admin first",
    )
}

/// What belongs to the person and not to the account is changed only by their only account, or by the installation's
/// administrators.
async fn may_touch_person(
    writing: &mut AccountWriting,
    who: &Identity,
    user: &User,
) -> Result<bool, HttpError> {
    let memberships = writing.memberships(&user.id).await?;
    Ok(who.is_root || (memberships.len() == 1 && !user.is_root))
}

pub(super) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<UserPatch>,
) -> Answer {
    ok(&alter(&server, &who, &id, &body).await?)
}

/// Changes someone's role, lets them in or out, resets their password.
pub(crate) async fn alter(
    server: &Server,
    who: &Identity,
    id: &str,
    body: &UserPatch,
) -> Result<UserCreated, HttpError> {
    let (password, hash) = new_password().await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let member = writing.member(&who.account_id, id).await?.ok_or_else(HttpError::not_found)?;
    let user_id = member.user.id.clone();
    let is_demoted = body.role.is_some_and(|role| role != Role::Admin) || body.disabled == Some(true);
    if is_demoted && member.role == Role::Admin.slug() && is_last_admin(&mut writing, who, &user_id).await? {
        return Err(last_admin());
    }
    let touches_person = body.disabled.is_some() || body.reset_password;
    if touches_person && !may_touch_person(&mut writing, who, &member.user).await? {
        let message = "they are in other accounts too, or administer the installation";
        return Err(HttpError::forbidden(message, "ask an administrator of the installation"));
    }
    let is_known_elsewhere = !writing.identity_issuers(&user_id).await?.is_empty();
    if body.reset_password && is_known_elsewhere {
        let message = "they sign in through single sign-on and have no password here";
        return Err(HttpError::conflict("sso", message, "have it reset where they sign in"));
    }
    if let Some(role) = body.role {
        writing.member_set(&who.account_id, &user_id, role.slug(), now).await?;
    }
    if let Some(disabled) = body.disabled {
        writing.user_set_disabled(&user_id, disabled.then_some(now)).await?;
    }
    if body.reset_password {
        writing.user_set_password(&user_id, &hash, true).await?;
        writing.throttle_clear(&format!("email:{}", member.user.email)).await?;
    }
    let detail = json!({"role": body.role, "disabled": body.disabled, "reset_password": body.reset_password});
    writing.audit(tell::entry(&who.actor(), "user.change", ("user", &member.user.email), detail, now));
    let member = writing.member(&who.account_id, &user_id).await?.ok_or_else(HttpError::not_found)?;
    server.commit(writing).await?;
    let one_time_password = body.reset_password.then(|| password.expose().clone());
    let mut user = info(&member);
    if is_known_elsewhere {
        user.signs_in_with = SignsInWith::Sso;
    }
    Ok(UserCreated { user, one_time_password })
}

pub(super) async fn remove(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    expel(&server, &who, &id).await?;
    done()
}

/// Takes someone out of the caller's account.
pub(crate) async fn expel(server: &Server, who: &Identity, id: &str) -> Result<(), HttpError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let member = writing.member(&who.account_id, id).await?.ok_or_else(HttpError::not_found)?;
    if member.role == Role::Admin.slug() && is_last_admin(&mut writing, who, &member.user.id).await? {
        return Err(last_admin());
    }
    writing.member_remove(&who.account_id, &member.user.id).await?;
    writing.audit(tell::entry(&who.actor(), "user.remove", ("user", &member.user.email), json!({}), now));
    server.commit(writing).await?;
    Ok(())
}
