//! The secret key of an installation. It is stored outside the database, so that someone who can read or write the database
//! can neither sign in as someone else, nor forge webhooks, nor sign the audit log.
//!
//! Windlass signs sessions, forms and notices with it, and derives from it the webhooks' secrets, the key pair that signs
//! checkpoints of the audit log, the certificate authority of agents and the key pair that signs their assignments. The database stores only its fingerprint: a server with a different key does not start.
//! After a rotation, the previous key is accepted besides the new one until a date.

pub mod admit;
pub mod change;
pub mod error;
pub mod file;
pub mod signed_heads;
pub mod signing;

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;

use crate::keys::signing::Signer;

/// The file in the data directory.
const FILE: &str = "secret.key";

/// The setting in the database with the key's fingerprint.
const FINGERPRINT: &str = "secret_key_fingerprint";

/// The setting in which databases of earlier versions store the key itself.
const OLD_SETTING: &str = "session_key";

/// Shorter keys can be guessed.
const SHORTEST: usize = 32;

/// Longer texts are not keys.
const LONGEST: usize = 512;

/// Where the secret key comes from.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// The file `secret.key` in the data directory, created at the first start.
    #[default]
    DataDirectory,
    /// A file that the operator manages, such as a mounted secret.
    File(PathBuf),
    /// The key itself, from the environment.
    Given(Redacted<String>),
}

impl KeySource {
    /// The file, if it is one.
    pub fn path(&self, data_dir: &Path) -> Option<PathBuf> {
        match self {
            KeySource::DataDirectory => Some(data_dir.join(FILE)),
            KeySource::File(path) => Some(path.clone()),
            KeySource::Given(_) => None,
        }
    }
}

/// One secret key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretKey(Redacted<String>);

impl SecretKey {
    /// A new key of 256 random bits.
    fn random() -> SecretKey {
        SecretKey(Redacted::new(URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())))
    }

    fn parse(text: &str) -> Result<SecretKey, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !is_plain || !(SHORTEST..=LONGEST).contains(&text.len()) {
            return Err(format!(
                "a secret key must have {SHORTEST} to {LONGEST} printable characters without spaces"
            ));
        }
        Ok(SecretKey(Redacted::new(text.to_owned())))
    }

    fn bytes(&self) -> &[u8] {
        self.0.expose().as_bytes()
    }

    /// 32 bytes for one purpose, from which the key cannot be computed.
    pub(crate) fn derived(&self, purpose: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(hmac::sign(&key, purpose.as_bytes()).as_ref());
        bytes
    }

    /// Identifies the key without revealing anything about it.
    fn fingerprint(&self) -> String {
        self.derived("windlass secret key fingerprint 1")[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The key pair that signs checkpoints.
    pub(crate) fn signer(&self) -> Option<Signer> {
        Signer::from_seed(&self.derived("windlass audit signing key 1"))
    }

    /// The key pair that signs assignments of targets.
    fn assignment_signer(&self) -> Option<Signer> {
        Signer::from_seed(&self.derived("windlass assignment signing key 1"))
    }
}

/// The key that the current one replaced.
#[derive(Clone, Debug)]
struct PreviousKey {
    key: SecretKey,
    /// Until when it is accepted; without a date, as long as it is configured.
    until: Option<Timestamp>,
}

/// The current key and, after a rotation, the previous one.
#[derive(Clone, Debug)]
pub struct Keyring {
    current: SecretKey,
    previous: Option<PreviousKey>,
}

impl Keyring {
    fn new(current: SecretKey) -> Keyring {
        Keyring { current, previous: None }
    }

    /// Parses `KEY`, optionally followed by a line end or comma and `KEY until 2026-12-01T00:00:00Z`. Lines that begin with `#`
    /// are comments.
    pub(crate) fn parse(text: &str) -> Result<Keyring, String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let entries: Vec<&str> =
            lines.flat_map(|line| line.split(',')).map(str::trim).filter(|entry| !entry.is_empty()).collect();
        let (current, previous) = match entries.as_slice() {
            [] => return Err("it is empty".to_owned()),
            [current] => (current, None),
            [current, previous] => (current, Some(previous)),
            _ => return Err("it contains more than two keys".to_owned()),
        };
        let current = SecretKey::parse(current)?;
        let previous = previous.map(|entry| read_previous(entry)).transpose()?;
        Ok(Keyring { current, previous })
    }

    /// The keys as the text of a file.
    fn text(&self) -> Redacted<String> {
        let mut text = format!("{}\n", self.current.0.expose());
        if let Some(previous) = &self.previous {
            text.push_str(previous.key.0.expose());
            if let Some(until) = previous.until {
                text.push_str(&format!(" until {until}"));
            }
            text.push('\n');
        }
        Redacted::new(text)
    }

    /// A new key as the current one. The old one stays accepted for the overlap.
    fn rotated(&self, overlap: Duration, now: Timestamp) -> Keyring {
        let until = Some(now.plus(overlap));
        let previous = Some(PreviousKey { key: self.current.clone(), until });
        Keyring { current: SecretKey::random(), previous }
    }

    /// The key that signs.
    pub fn signing_key(&self) -> &[u8] {
        self.current.bytes()
    }

    /// The keys whose signatures are valid, the current one first.
    pub fn accepted_keys(&self, now: Timestamp) -> impl Iterator<Item = &[u8]> {
        self.accepted(now).map(SecretKey::bytes)
    }

    /// The accepted keys, the current one first.
    fn accepted(&self, now: Timestamp) -> impl Iterator<Item = &SecretKey> {
        let previous = self.previous_key().filter(|_| self.accepts_previous(now));
        std::iter::once(&self.current).chain(previous)
    }

    /// Until when the previous key is accepted; none if there is none, or as long as it is configured.
    pub(crate) fn previous_until(&self) -> Option<Timestamp> {
        self.previous.as_ref().and_then(|previous| previous.until)
    }

    /// Whether the previous key is accepted.
    pub(crate) fn accepts_previous(&self, now: Timestamp) -> bool {
        self.previous.as_ref().is_some_and(|previous| previous.until.is_none_or(|until| now < until))
    }

    /// The key pair that signs assignments of targets. Agents get its public half when they enrol and when they renew.
    pub(crate) fn assignment_signer(&self) -> Option<Signer> {
        self.current.assignment_signer()
    }

    /// The public keys whose signatures of assignments are valid, the current one first, as URL-safe base64.
    pub(crate) fn assignment_keys(&self, now: Timestamp) -> Vec<String> {
        let previous = self.previous_key().filter(|_| self.accepts_previous(now));
        let previous = previous.and_then(SecretKey::assignment_signer);
        let signers = self.assignment_signer().into_iter().chain(previous);
        signers.map(|signer| signer.public_key()).collect()
    }

    /// The current key.
    pub(crate) fn current_key(&self) -> &SecretKey {
        &self.current
    }

    /// The previous key, whether it is still accepted or not.
    pub(crate) fn previous_key(&self) -> Option<&SecretKey> {
        self.previous.as_ref().map(|previous| &previous.key)
    }
}

fn read_previous(entry: &str) -> Result<PreviousKey, String> {
    match entry.split_whitespace().collect::<Vec<_>>().as_slice() {
        [key] => Ok(PreviousKey { key: SecretKey::parse(key)?, until: None }),
        [key, "until", until] => {
            let until = Timestamp::parse(until).ok_or("the date after `until` is invalid")?;
            Ok(PreviousKey { key: SecretKey::parse(key)?, until: Some(until) })
        }
        _ => Err("write the previous key as `KEY until 2026-12-01T00:00:00Z`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn keys_are_read_as_they_are_written_and_invalid_text_is_rejected() {
        let now = Timestamp::from_millis(1_000_000);
        let one = Keyring::parse(&format!("# for people\n{A}\n")).expect("one key");
        assert_eq!(one.accepted_keys(now).collect::<Vec<_>>(), [A.as_bytes()]);
        let rotated = one.rotated(Duration::from_secs(60), now);
        let read = Keyring::parse(rotated.text().expose()).expect("two keys");
        assert_eq!(read.signing_key(), rotated.signing_key());
        assert_eq!(read.accepted_keys(now).nth(1), Some(A.as_bytes()));
        assert_eq!(read.accepted_keys(now.plus(Duration::from_secs(60))).count(), 1, "the overlap is over");
        assert_eq!(
            read.previous_key(),
            Some(one.current_key()),
            "and it is still known whom the key follows"
        );
        let given = Keyring::parse(&format!("{A},{B}")).expect("two keys in one line");
        assert_eq!(given.accepted_keys(now).count(), 2);
        for wrong in ["", "short", &format!("{A}\n{B}\n{A}"), &format!("{A}\n{B} until soon"), "# nothing"] {
            assert!(Keyring::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn assignments_are_signed_with_the_newest_key_and_both_are_trusted_during_the_overlap() {
        let now = Timestamp::from_millis(1_000_000);
        let before = Keyring::parse(A).expect("one key");
        let after = before.rotated(Duration::from_secs(60), now);
        let key_of = |keys: &Keyring| keys.assignment_signer().expect("any seed makes a key").public_key();
        assert_eq!(before.assignment_keys(now), [key_of(&before)]);
        assert_eq!(after.assignment_keys(now), [key_of(&after), key_of(&before)]);
        assert_eq!(after.assignment_keys(now.plus(Duration::from_secs(60))), [key_of(&after)]);
        let audit = before.current_key().signer().expect("any seed makes a key");
        assert_ne!(key_of(&before), audit.public_key(), "each purpose has a key of its own");
    }

    #[test]
    fn a_fingerprint_distinguishes_keys_and_reveals_nothing_about_them() {
        let (a, b) = (SecretKey::parse(A).expect("a key"), SecretKey::parse(B).expect("a key"));
        assert_eq!(a.fingerprint(), SecretKey::parse(A).expect("a key").fingerprint());
        assert_ne!(a.fingerprint(), b.fingerprint());
        assert_eq!(a.fingerprint().len(), 32);
        assert!(!format!("{:?}", Keyring::new(a)).contains(A));
    }
}
