//! The keys of an ssh host.
//!
//! They are learned once, and the caller stores them. This module compares and prints keys; it never connects to a
//! host.

use std::collections::BTreeSet;
use std::fmt;

use ssh_key::{HashAlg, PublicKey};

/// A host has only a few keys; more are rejected.
const MAX_KEYS: usize = 16;

/// Why a text does not hold host keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostKeysError {
    /// A line is not a key.
    #[error("line {line} of the host keys is not a key type followed by a key in base64")]
    NotAKey {
        /// The line, counted from 1.
        line: usize,
    },
    /// There is no key.
    #[error("the host key is missing")]
    Empty,
    /// There are more keys than a host has.
    #[error("there are more than {MAX_KEYS} host keys")]
    TooMany,
}

/// The pinned keys of an ssh host, one line `type base64` each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeys(BTreeSet<String>);

impl HostKeys {
    /// Parses keys, one per line: `type base64`, optionally after host names as in known_hosts and the output of
    /// ssh-keyscan. Empty lines and comments are skipped.
    pub fn parse(text: &str) -> Result<HostKeys, HostKeysError> {
        let mut keys = BTreeSet::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            keys.insert(key_of(line).ok_or(HostKeysError::NotAKey { line: index + 1 })?);
            if keys.len() > MAX_KEYS {
                return Err(HostKeysError::TooMany);
            }
        }
        if keys.is_empty() { Err(HostKeysError::Empty) } else { Ok(HostKeys(keys)) }
    }

    /// The fingerprints of the keys as `ssh-keygen -l` prints them, joined by commas.
    pub fn fingerprint(&self) -> String {
        let fingerprints: Vec<String> = self
            .0
            .iter()
            .filter_map(|line| PublicKey::from_openssh(line).ok())
            .map(|key| key.fingerprint(HashAlg::Sha256).to_string())
            .collect();
        fingerprints.join(", ")
    }

    /// The keys as lines of a known_hosts file for one host.
    pub(crate) fn known_hosts(&self, host: &str, port: u16) -> String {
        let name = known_name(host, port);
        self.0.iter().map(|line| format!("{name} {line}\n")).collect()
    }
}

/// The name of a host in known_hosts.
pub(crate) fn known_name(host: &str, port: u16) -> String {
    if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") }
}

impl fmt::Display for HostKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.0 {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// The type and the key of a line, without the host names before them.
fn key_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    words.windows(2).take(2).find_map(|pair| {
        let text = format!("{} {}", pair[0], pair[1]);
        PublicKey::from_openssh(&text).ok().map(|_| text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn host_keys_are_read_with_and_without_hosts_and_stored_without() {
        let scanned = format!("# example.com:22 SSH-2.0-OpenSSH\n\n[example.com]:2222 {KEY}\n");
        let keys = HostKeys::parse(&scanned).expect("keys");
        assert_eq!(keys.to_string(), format!("{KEY}\n"));
        assert_eq!(HostKeys::parse(&keys.to_string()), Ok(keys.clone()));
        assert_eq!(keys.known_hosts("h", 22), format!("h {KEY}\n"));
        assert_eq!(keys.known_hosts("h", 2222), format!("[h]:2222 {KEY}\n"));
        assert!(keys.fingerprint().starts_with("SHA256:"));
    }

    #[test]
    fn what_is_no_key_is_refused_with_its_line() {
        assert_eq!(HostKeys::parse("\n# only a comment\n"), Err(HostKeysError::Empty));
        assert_eq!(
            HostKeys::parse(&format!("{KEY}\nssh-ed25519 AAAA")),
            Err(HostKeysError::NotAKey { line: 2 })
        );
    }
}
