//! Passwords: argon2id, on threads that may block.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::sync::Semaphore;
use windlass_core::redacted::Redacted;

/// Shorter ones can be guessed.
const MIN_LENGTH: usize = 12;

/// Longer ones only cost time.
const MAX_LENGTH: usize = 1024;

/// Verified when there is no such person, so that both cases take the same time.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Passwords that are hashed or verified at once: each takes 19 MiB and a core. The thread itself holds the permit,
/// because it continues when the client disconnects.
const MAX_CONCURRENT_HASHES: usize = 4;

static HASH_PERMITS: Semaphore = Semaphore::const_new(MAX_CONCURRENT_HASHES);

/// Hashes a password.
pub async fn hash_password(password: Redacted<String>) -> Option<Redacted<String>> {
    let permit = HASH_PERMITS.acquire().await.ok()?;
    let hash = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        Argon2::default().hash_password(password.expose().as_bytes()).ok().map(|hash| hash.to_string())
    });
    hash.await.ok().flatten().map(Redacted::new)
}

/// Whether a password matches a hash. Takes the same time when there is no hash.
pub async fn verify_password(password: Redacted<String>, hash: Option<Redacted<String>>) -> bool {
    let Ok(permit) = HASH_PERMITS.acquire().await else { return false };
    let verified = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let is_known = hash.is_some();
        let text = hash.map_or_else(|| DUMMY_HASH.to_owned(), |hash| hash.expose().clone());
        let Ok(parsed) = PasswordHash::new(&text) else { return false };
        Argon2::default().verify_password(password.expose().as_bytes(), &parsed).is_ok() && is_known
    });
    verified.await.unwrap_or(false)
}

/// Rejects a weak password, with the reason.
pub fn check_strength(password: &str, email: &str) -> Result<(), String> {
    let length = password.chars().count();
    if length < MIN_LENGTH {
        return Err(format!("a password must have at least {MIN_LENGTH} characters, this one has {length}"));
    }
    if password.len() > MAX_LENGTH {
        return Err(format!("a password can have at most {MAX_LENGTH} bytes"));
    }
    let mut seen: Vec<char> = password.chars().collect();
    seen.sort_unstable();
    seen.dedup();
    if seen.len() < 5 || password.eq_ignore_ascii_case(email) {
        return Err("this password is too easy to guess".to_owned());
    }
    Ok(())
}

/// A password that is shown once and changed at the first sign-in.
pub(crate) fn one_time_password() -> Redacted<String> {
    Redacted::new(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 15]>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_matches_only_its_own_hash_and_never_a_missing_one() {
        let secret = |text: &str| Redacted::new(text.to_owned());
        let hash = hash_password(secret("correct horse battery")).await;
        assert!(hash.as_ref().is_some_and(|hash| hash.expose().starts_with("$argon2id$")));
        assert!(verify_password(secret("correct horse battery"), hash.clone()).await);
        assert!(!verify_password(secret("Correct horse battery"), hash).await);
        assert!(!verify_password(secret("anything"), None).await);
    }

    #[test]
    fn weak_passwords_are_rejected() {
        assert!(check_strength("short", "a@b").is_err());
        assert!(check_strength("aaaaaaaaaaaaaaaa", "a@b").is_err());
        assert!(check_strength("ada@example.com", "Ada@example.com").is_err());
        assert!(check_strength("correct horse battery", "a@b").is_ok());
    }
}
