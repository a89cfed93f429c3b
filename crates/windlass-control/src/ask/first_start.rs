//! The first start: the first account and its administrator.

use serde_json::json;
use windlass_api::permission::Role;
use windlass_core::redacted::Redacted;
use windlass_store::{Actor, Store, StoreError, User, new_id};

use crate::clock::now;
use crate::password::{hash_password, one_time_password};
use crate::record;

/// Why the first administrator could not be created.
#[derive(Debug, thiserror::Error)]
pub enum FirstStartError {
    /// The database failed.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
    /// No password could be created.
    #[error("cannot create a password for the first administrator")]
    Password,
}

/// A login that is printed once: at the first start, or when the administrator is recovered.
#[derive(Clone, Debug)]
pub struct FirstLogin {
    /// The e-mail address.
    pub email: String,
    /// The password, to be changed at the first sign-in.
    pub password: Redacted<String>,
    /// The account.
    pub account: String,
}

/// At the first start, creates an account and its administrator, with a password that is shown once.
pub async fn first_start(
    store: &Store,
    account: &str,
    admin: &str,
) -> Result<Option<FirstLogin>, FirstStartError> {
    if store.read().await?.users_count().await? > 0 {
        return Ok(None);
    }
    let password = one_time_password();
    let hash = hash_password(password.clone()).await.ok_or(FirstStartError::Password)?;
    let now = now();
    let mut writing = store.write().await?;
    let account_id = match writing.account(account).await? {
        Some(known) => known.id,
        None => {
            let id = new_id();
            writing.account_add(&id, account, now).await?;
            id
        }
    };
    let user = User {
        id: new_id(),
        email: admin.to_lowercase(),
        name: "Administrator".to_owned(),
        password_hash: hash,
        must_change_password: true,
        is_root: true,
        disabled_at: None,
        created_at: now,
    };
    writing.user_add(&user).await?;
    writing.member_set(&account_id, &user.id, Role::Admin, now).await?;
    let mut writing = store.continue_in_account(writing, &account_id).await?;
    writing.audit(record::audit_entry(
        &Actor::windlass(),
        "user.add",
        ("user", &user.email),
        json!({"role": "admin"}),
        now,
    ));
    writing.commit().await?;
    Ok(Some(FirstLogin { email: user.email, password, account: account.to_owned() }))
}
