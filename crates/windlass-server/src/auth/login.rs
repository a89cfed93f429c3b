//! Signing in, with patience that grows with every failure.

use std::time::Duration;

use serde_json::json;
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;
use windlass_store::{Actor, AuditEntry, Outcome, Session, StoreError, User, new_id};

use super::identity::sign_session;
use super::password::verify_password;
use crate::clock::now;
use crate::numbers;
use crate::oidc::Passwords;
use crate::server::Server;
use crate::tell;

/// How long a session lasts, and what someone's groups give them.
pub(super) const SESSION: Duration = Duration::from_secs(12 * 3600);

/// Failures of one person that cost nothing: people mistype.
const FREE_FOR_PERSON: i64 = 5;

/// Failures of one address that cost nothing: many people can share one.
const FREE_FOR_ADDRESS: i64 = 20;

/// The longest wait between tries.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Whose failures are counted.
pub(crate) struct Subject {
    name: String,
    free: i64,
}

impl Subject {
    /// A person, by e-mail address.
    pub(crate) fn person(email: &str) -> Subject {
        Subject { name: format!("email:{}", email.trim().to_lowercase()), free: FREE_FOR_PERSON }
    }

    /// A network address.
    pub(crate) fn address(address: &str) -> Subject {
        Subject { name: format!("address:{address}"), free: FREE_FOR_ADDRESS }
    }

    /// What the store counts it by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// A session that began.
pub(crate) struct SignedIn {
    pub(crate) token: Redacted<String>,
    pub(crate) expires_at: Timestamp,
}

/// Why someone could not sign in.
#[derive(Debug)]
pub(crate) enum LoginError {
    /// Wrong e-mail address, password or account: which, is not told.
    Refused,
    /// The same where passwords are for administrators of the installation alone.
    RefusedHere,
    /// Too many failures; wait so long.
    Throttled(Duration),
    /// The database could not tell.
    Store(StoreError),
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> LoginError {
        LoginError::Store(error)
    }
}

/// Signs someone in.
pub(crate) async fn login(
    server: &Server,
    email: &str,
    password: Redacted<String>,
    account: Option<&str>,
    address: &str,
    request_id: &str,
) -> Result<SignedIn, LoginError> {
    let subjects = [Subject::person(email), Subject::address(address)];
    count_attempt(server, &subjects).await?;
    let mut reading = server.store().read().await?;
    let user = reading.user(email.trim()).await?.filter(|user| user.email == email.trim().to_lowercase());
    let passwords = server.oidc().map(|oidc| oidc.settings().passwords).unwrap_or_default();
    let may_use_one = |user: &&User| {
        let is_theirs = passwords == Passwords::Everyone || user.is_root;
        user.disabled_at.is_none() && is_theirs && !user.password_hash.expose().is_empty()
    };
    let hash = user.as_ref().filter(may_use_one).map(|user| user.password_hash.clone());
    let is_right = verify_password(password, hash).await;
    let memberships = match &user {
        Some(user) => reading.memberships(&user.id).await?,
        None => Vec::new(),
    };
    drop(reading);
    let chosen = memberships
        .into_iter()
        .find(|(id, name, _)| account.is_none_or(|wanted| wanted == id || wanted == name));
    let actor = Actor {
        name: email.trim().chars().take(200).collect(),
        id: user.as_ref().map(|user| user.id.clone()),
        token_id: None,
        address: Some(address.to_owned()),
        request_id: Some(request_id.to_owned()),
    };
    let (Some(user), Some((account_id, _, _)), true) = (user, chosen, is_right) else {
        refuse(server, actor).await?;
        return Err(match passwords {
            Passwords::Everyone => LoginError::Refused,
            Passwords::RootOnly => LoginError::RefusedHere,
        });
    };
    let proven = Proven { user: &user, account_id: &account_id, actor: &actor, by: "password" };
    let signed_in = begin_session(server, &proven, &subjects).await?;
    signed_in.ok_or(LoginError::Refused)
}

/// Someone of whom it is proved who they are.
pub(super) struct Proven<'p> {
    pub(super) user: &'p User,
    pub(super) account_id: &'p str,
    pub(super) actor: &'p Actor,
    /// What proved it.
    pub(super) by: &'static str,
}

/// Begins a session, and forgets the failures before it.
pub(super) async fn begin_session(
    server: &Server,
    proven: &Proven<'_>,
    subjects: &[Subject],
) -> Result<Option<SignedIn>, StoreError> {
    let Proven { user, account_id, actor, by } = proven;
    let now = now();
    let session = Session {
        id: new_id(),
        user_id: user.id.clone(),
        account_id: (*account_id).to_owned(),
        address: actor.address.clone().unwrap_or_default(),
        created_at: now,
        expires_at: now.after(SESSION),
    };
    let mut writing = server.store().write_account(account_id).await?;
    for subject in subjects {
        writing.throttle_clear(subject.name()).await?;
    }
    writing.session_add(&session).await?;
    writing.audit(tell::entry(actor, "auth.login", ("user", &user.email), json!({"by": by}), now));
    server.commit(writing).await?;
    numbers::sign_in(by, numbers::Outcome::Done);
    let token = sign_session(server, &user.id, &session.id, session.expires_at);
    Ok(token.map(|token| SignedIn { token, expires_at: session.expires_at }))
}

/// Counts an attempt as a failure until it succeeds, so that many at once are not looked at before any is counted.
pub(crate) async fn count_attempt(server: &Server, subjects: &[Subject]) -> Result<(), LoginError> {
    let now = now();
    let mut writing = server.store().write().await?;
    for subject in subjects {
        let Some(throttle) = writing.throttle(&subject.name).await? else { continue };
        let wait = wait_after(throttle.failures - subject.free);
        let waited = now.since(throttle.last_at);
        if waited < wait {
            return Err(LoginError::Throttled(wait - waited));
        }
    }
    for subject in subjects {
        writing.throttle_count(&subject.name, now).await?;
    }
    Ok(writing.commit().await?)
}

/// How long to wait after so many failures beyond those that are free: twice as long each time.
fn wait_after(over: i64) -> Duration {
    if over < 0 {
        return Duration::ZERO;
    }
    Duration::from_secs(1_u64 << over.min(20)).min(LONGEST_WAIT)
}

async fn refuse(server: &Server, actor: Actor) -> Result<(), StoreError> {
    numbers::sign_in("password", numbers::Outcome::Refused);
    let mut writing = server.store().write_account("").await?;
    let target = actor.name.clone();
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..tell::entry(&actor, "auth.login", ("user", &target), json!({}), now())
    });
    server.commit(writing).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_asked_for_only_after_some_failures_and_never_for_ever() {
        assert_eq!(wait_after(-FREE_FOR_PERSON), Duration::ZERO);
        assert_eq!(wait_after(-1), Duration::ZERO);
        assert_eq!(wait_after(0), Duration::from_secs(1));
        assert_eq!(wait_after(3), Duration::from_secs(8));
        assert_eq!(wait_after(i64::MAX), LONGEST_WAIT);
    }
}
