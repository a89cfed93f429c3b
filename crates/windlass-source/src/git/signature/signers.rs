//! The list of trusted signing keys: OpenSSH keys line by line, and armoured OpenPGP keys.

use pgp::composed::{Deserializable as _, SignedPublicKey};
use ssh_key::PublicKey;
use windlass_core::time::Timestamp;

const ARMOUR_BEGIN: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";
const ARMOUR_END: &str = "-----END PGP PUBLIC KEY BLOCK-----";
/// More than the number of people who push to one fleet.
const MAX_KEYS: usize = 1000;

/// Why a list of keys cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the signers: {reason}")]
pub struct SignersError {
    /// The line, counted from 1.
    pub line: usize,
    /// The reason.
    pub reason: String,
}

/// Trusted signing keys.
#[derive(Clone, Debug, Default)]
pub struct Signers {
    pub(super) openssh: Vec<SshSigner>,
    pub(super) openpgp: Vec<SignedPublicKey>,
}

/// An OpenSSH key and its period of validity.
#[derive(Clone, Debug)]
pub(super) struct SshSigner {
    pub(super) key: PublicKey,
    pub(super) name: String,
    pub(super) valid_after: Option<Timestamp>,
    pub(super) valid_before: Option<Timestamp>,
}

impl Signers {
    /// Parses keys: lines of an authorized_keys or allowed_signers file, and armoured OpenPGP public keys, in any
    /// order. Empty lines and lines that begin with `#` are skipped.
    pub fn parse(text: &str) -> Result<Signers, SignersError> {
        let mut signers = Signers::default();
        let mut lines = text.lines().enumerate();
        while let Some((index, line)) = lines.next() {
            let fail = |reason: &str| SignersError { line: index + 1, reason: reason.to_owned() };
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line == ARMOUR_BEGIN {
                let mut armour = format!("{line}\n");
                let end = lines.by_ref().map(|(_, line)| line.trim()).find(|line| {
                    armour.push_str(line);
                    armour.push('\n');
                    *line == ARMOUR_END
                });
                end.ok_or_else(|| fail("the OpenPGP key has no end"))?;
                signers.openpgp.extend(openpgp_keys(&armour).map_err(fail)?);
            } else if line.starts_with("-----") {
                return Err(fail("this is neither an OpenPGP nor an OpenSSH public key"));
            } else {
                signers.openssh.push(openssh_key(line).map_err(fail)?);
            }
            if signers.len() > MAX_KEYS {
                return Err(fail("there are more than 1000 keys"));
            }
        }
        Ok(signers)
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.openssh.len() + self.openpgp.len()
    }

    /// Whether the list is empty, so that no signature counts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn openpgp_keys(armour: &str) -> Result<Vec<SignedPublicKey>, &'static str> {
    let unreadable = "the OpenPGP key cannot be read";
    let (keys, _) = SignedPublicKey::from_string_many(armour).map_err(|_| unreadable)?;
    let keys: Vec<SignedPublicKey> = keys.collect::<Result<_, _>>().map_err(|_| unreadable)?;
    if keys.is_empty() { Err("the armour contains no OpenPGP key") } else { Ok(keys) }
}

/// `[principals] [options] type base64 [comment]`.
fn openssh_key(line: &str) -> Result<SshSigner, &'static str> {
    let words = split_words(line);
    let is_type = |word: &String| {
        word.starts_with("ssh-") || word.starts_with("ecdsa-sha2-") || word.starts_with("sk-")
    };
    let at = words.iter().position(is_type).ok_or("the OpenSSH public key is missing")?;
    let base64 = words.get(at + 1).ok_or("the key after its type is missing")?;
    let key = PublicKey::from_openssh(&format!("{} {base64}", words[at]))
        .map_err(|_| "the OpenSSH public key cannot be read")?;
    let mut signer = SshSigner { key, name: String::new(), valid_after: None, valid_before: None };
    for word in &words[..at] {
        apply_option(word, &mut signer)?;
    }
    if let Some(comment) = words.get(at + 2) {
        signer.name = comment.clone();
    }
    Ok(signer)
}

fn apply_option(word: &str, signer: &mut SshSigner) -> Result<(), &'static str> {
    let mut is_option = false;
    for option in split_at_commas(word) {
        let (name, value) = option.split_once('=').unwrap_or((&option, ""));
        match name.to_ascii_lowercase().as_str() {
            "valid-after" => {
                signer.valid_after = Some(parse_timestamp(value).ok_or("valid-after is not a date")?);
            }
            "valid-before" => {
                signer.valid_before = Some(parse_timestamp(value).ok_or("valid-before is not a date")?);
            }
            "namespaces" if !value.split(',').any(|namespace| namespace == "git") => {
                return Err("the key may not sign for git: `namespaces` does not name it");
            }
            "cert-authority" => {
                return Err("certificate authorities are not supported; list the keys themselves");
            }
            "namespaces" => {}
            _ => continue,
        }
        is_option = true;
    }
    if !is_option && signer.name.is_empty() {
        signer.name = word.to_owned();
    }
    Ok(())
}

/// `20261116`, `202611160930` or `20261116093015`, in UTC with or without `Z`.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let digits = text.strip_suffix('Z').unwrap_or(text);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole = match digits.len() {
        8 => format!("{digits}000000"),
        12 => format!("{digits}00"),
        14 => digits.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| &whole[from..to];
    Timestamp::parse(&format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    ))
}

/// Splits at spaces; quotes keep words together and are removed.
fn split_words(line: &str) -> Vec<String> {
    split_outside_quotes(line, char::is_whitespace).into_iter().filter(|word| !word.is_empty()).collect()
}

/// Splits options at commas. Quotes were removed before, so a comma inside a value joins the parts.
fn split_at_commas(word: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for piece in word.split(',') {
        match options.last_mut() {
            Some(last) if last.starts_with("namespaces=") && !piece.contains('=') => {
                last.push(',');
                last.push_str(piece);
            }
            _ => options.push(piece.to_owned()),
        }
    }
    options
}

fn split_outside_quotes(text: &str, separates: impl Fn(char) -> bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut is_quoted = false;
    for char in text.chars() {
        if char == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && separates(char) {
            pieces.push(String::new());
        } else if let Some(piece) = pieces.last_mut() {
            piece.push(char);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn keys_are_read_as_both_files_of_openssh_write_them() {
        for (line, name) in [
            (KEY.to_owned(), ""),
            (format!("{KEY} ana@example.com"), "ana@example.com"),
            (format!("ana@example.com {KEY}"), "ana@example.com"),
            (format!("ana@example.com namespaces=\"git,file\" {KEY}"), "ana@example.com"),
            (format!("no-pty,command=\"a b\" {KEY} ana"), "ana"),
        ] {
            let signers =
                Signers::parse(&format!("# people\n\n{line}\n")).unwrap_or_else(|e| panic!("{line}: {e}"));
            assert_eq!(signers.openssh[0].name, name, "{line}");
        }
        let dated = format!("ana valid-after=\"20260101\",valid-before=\"202612312359Z\" {KEY}");
        let signer = Signers::parse(&dated).expect("valid").openssh.remove(0);
        assert_eq!(signer.valid_after.map(|at| at.to_string()).as_deref(), Some("2026-01-01T00:00:00.000Z"));
        assert_eq!(signer.valid_before.map(|at| at.to_string()).as_deref(), Some("2026-12-31T23:59:00.000Z"));
    }

    #[test]
    fn what_is_no_key_is_refused_with_its_line() {
        for bad in [
            "ssh-ed25519",
            "ssh-ed25519 AAAA",
            "someone",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----",
            &format!("ana valid-before=tomorrow {KEY}"),
            &format!("ana namespaces=file {KEY}"),
            &format!("*@example.com cert-authority {KEY}"),
        ] {
            let error = Signers::parse(&format!("{KEY}\n{bad}\n")).expect_err(bad);
            assert_eq!(error.line, 2, "{bad}: {error}");
        }
        assert!(Signers::parse("").expect("empty").is_empty());
    }
}
