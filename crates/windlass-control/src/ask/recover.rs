//! Recovering the installation's administrator, on the server's machine. It needs no permission but write access to the
//! database.

use serde_json::json;
use windlass_api::permission::Role;
use windlass_core::account::Account;
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, Store, StoreError, User, new_id};

use crate::ask::first_start::FirstLogin;
use crate::ask::user::clear_failures;
use crate::clock::now;
use crate::password::{hash_password, one_time_password};
use crate::{email, record};

/// The administrator to create if there is none.
const DEFAULT_EMAIL: &str = "admin@localhost";

/// Whose login to recover.
#[derive(Clone, Debug, Default)]
pub struct Recovery {
    /// Their e-mail address. Default: the first administrator of the installation.
    pub email: Option<String>,
    /// The account they become an admin of, if not one they are in already.
    pub account: Option<String>,
    /// What happens to their API tokens.
    pub tokens: TokenHandling,
}

/// What happens to a person's API tokens when their password is reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenHandling {
    /// They are revoked.
    #[default]
    End,
    /// They stay valid.
    Keep,
}

/// Why the login could not be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    /// They use single sign-on, which administrators of the installation cannot use.
    #[error("{email} signs in through single sign-on, which administrators of the installation cannot use")]
    Sso {
        /// Their e-mail address.
        email: String,
    },
    /// This is not an e-mail address.
    #[error("`{email}` is not an e-mail address")]
    Email {
        /// What was given.
        email: String,
    },
    /// There is no such account.
    #[error("account {account} does not exist")]
    Account {
        /// Its name.
        account: String,
    },
    /// No password could be created.
    #[error("could not create a password")]
    Password,
    /// The database cannot be used.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
}

/// Creates or repairs an administrator's login: sets a one-time password, enables it, makes the person an admin of an account
/// and clears failed sign-ins. Works whether a server runs or not.
pub async fn recover_admin(store: &Store, wanted: &Recovery) -> Result<FirstLogin, RecoveryError> {
    let password = one_time_password();
    let hash = hash_password(password.clone()).await.ok_or(RecoveryError::Password)?;
    let now = now();
    let mut writing = store.write_account(&AccountId::installation()).await?;
    let user = find_or_create_person(&mut writing, wanted.email.as_deref(), now).await?;
    if !writing.identity_issuers(&user.id).await?.is_empty() {
        return Err(RecoveryError::Sso { email: user.email });
    }
    let account = account_for(&mut writing, &user, wanted.account.as_deref()).await?;
    writing.user_set_password(&user.id, &hash, true).await?;
    writing.user_set_disabled(&user.id, None).await?;
    writing.user_make_root(&user.id).await?;
    clear_failures(&mut writing, &user.email).await?;
    let tokens_ended = match wanted.tokens {
        TokenHandling::End => writing.tokens_revoke_all(&user.id, now).await?,
        TokenHandling::Keep => 0,
    };
    writing.member_set(&account.id, &user.id, Role::Admin, now).await?;
    let actor = Actor { name: "windlass recover-admin".to_owned(), ..Actor::windlass() };
    let detail = json!({"account": account.name, "tokens_ended": tokens_ended});
    let entry = record::audit_entry(&actor, "user.recover", ("user", &user.email), detail, now);
    writing.audit(entry.clone());
    writing.commit().await?;
    // The account's own audit log records it, too.
    let mut writing = store.write_account(&account.id).await?;
    writing.audit(entry);
    writing.commit().await?;
    Ok(FirstLogin { email: user.email, password, account: account.name })
}

/// The person whose login to recover: by address, else the first administrator, else a new one.
async fn find_or_create_person(
    writing: &mut AccountWriting,
    email: Option<&str>,
    now: Timestamp,
) -> Result<User, RecoveryError> {
    let wanted = match email {
        Some(email) => email.trim().to_lowercase(),
        None => match writing.users_root().await?.into_iter().next() {
            Some(root) => return Ok(root),
            None => DEFAULT_EMAIL.to_owned(),
        },
    };
    let email = email::check_email(&wanted);
    let email = email.map_err(|_| RecoveryError::Email { email: wanted })?;
    if let Some(user) = writing.user(&email).await?.filter(|user| user.email == email) {
        return Ok(user);
    }
    let user = User {
        id: new_id(),
        email,
        name: "Administrator".to_owned(),
        password_hash: windlass_core::redacted::Redacted::new(String::new()),
        must_change_password: true,
        is_root: true,
        disabled_at: None,
        created_at: now,
    };
    writing.user_add(&user).await?;
    Ok(user)
}

/// The account they become an admin of: the named one, else one they are in, else the oldest.
async fn account_for(
    writing: &mut AccountWriting,
    user: &User,
    wanted: Option<&str>,
) -> Result<Account, RecoveryError> {
    let missing = |account: &str| RecoveryError::Account { account: account.to_owned() };
    if let Some(wanted) = wanted {
        return writing.account(wanted).await?.ok_or_else(|| missing(wanted));
    }
    if let Some((id, name, _)) = writing.memberships(&user.id).await?.into_iter().next() {
        return writing.account(id.as_str()).await?.ok_or_else(|| missing(&name));
    }
    let oldest = writing.accounts().await?.into_iter().min_by_key(|account| account.created_at);
    oldest.ok_or_else(|| missing("at all"))
}
