//! Secrets that ended up where they do not belong, and keeping them out of everything we print.
//!
//! Nothing here can know every secret. It knows key names people use for them and texts that are nothing else. What
//! it recognises is reported without the value, masked in excerpts and hidden in differences.

use std::ops::Range;

use crate::diagnostic::{Code, Finding};

/// What is printed instead of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Whether a key of this name usually holds a secret: `db_password` does, `password_file` does not.
pub fn looks_secret(key: &str) -> bool {
    let words = words_of(key);
    let last = words.last().map_or("", String::as_str);
    let before_last = words.len().checked_sub(2).map_or("", |index| words[index].as_str());
    match last {
        "password" | "passwd" | "passphrase" | "secret" | "secrets" | "token" | "apikey" | "credential"
        | "credentials" | "psk" => true,
        "key" => {
            matches!(before_last, "api" | "private" | "access" | "secret" | "signing" | "encryption" | "ssh")
        }
        _ => false,
    }
}

fn words_of(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_is_lower = false;
    for c in key.chars() {
        let boundary = !c.is_alphanumeric() || (c.is_uppercase() && previous_is_lower);
        previous_is_lower = c.is_lowercase() || c.is_numeric();
        if boundary {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a value is itself the secret, rather than empty or a reference to where the secret is.
pub fn is_literal(value: &str) -> bool {
    let references = ["vault:", "sops:", "env:", "ENC[", "${", "{{", "secret/", "file:", "age:"];
    !value.trim().is_empty() && !references.iter().any(|prefix| value.trim_start().starts_with(prefix))
}

/// Whether the text is a private key in PEM or OpenSSH armour.
pub fn is_private_key(text: &str) -> bool {
    text.contains("-----BEGIN") && text.contains("PRIVATE KEY")
}

/// The report of a secret in git. Never carries the value.
pub fn inline_finding(span: Range<usize>, what: &str) -> Finding {
    Finding::new(Code::SecretInline, span, format!("{what} must not be in git"))
        .help("keep it in Vault and refer to it by path; if it was ever pushed, rotate it")
}

/// The report of a key whose name suggests a secret. Never carries the value.
pub fn suspected_finding(span: Range<usize>, key: &str) -> Finding {
    Finding::new(Code::SecretSuspected, span, format!("`{key}` looks like a secret"))
        .help("if it is one, keep it in Vault and write a reference such as `vault:path#field`")
}

/// A text with the passwords of URLs in it replaced: `postgres://app:secret@db` → `postgres://app:(hidden)@db`.
pub fn hide_url_passwords(text: &str) -> String {
    let mut shown = text.to_owned();
    for password in url_passwords(text).into_iter().rev() {
        shown.replace_range(password, HIDDEN);
    }
    shown
}

/// Where passwords of URLs stand in a text.
fn url_passwords(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(scheme) = text[from..].find("://") {
        let start = from + scheme + 3;
        let authority =
            text[start..].split(['/', '?', '#', ' ', '"', '\'', ',', '\t']).next().unwrap_or_default();
        if let Some((credentials, _)) = authority.rsplit_once('@')
            && let Some((user, password)) = credentials.split_once(':')
            && is_literal(password)
        {
            let begin = start + user.len() + 1;
            found.push(begin..begin + password.len());
        }
        from = start;
    }
    found
}

/// A source line with everything after a secret-looking key replaced by `*`, byte for byte, so that columns stay.
/// Lines of a private key are replaced whole.
pub fn mask_line(line: &str) -> String {
    if is_armour(line) {
        return stars(line);
    }
    let mut line = line.to_owned();
    for password in url_passwords(&line) {
        let hidden = stars(&line[password.clone()]);
        line.replace_range(password, &hidden);
    }
    let line = line.as_str();
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(colon) = rest.find([':', '=']) {
        let (before, after) = rest.split_at(colon + 1);
        masked.push_str(before);
        let key = before[..colon].trim_end_matches(['"', '\'', ' ']);
        let key = key.rsplit(['{', ',', ' ', '"', '\'', '[', '\t']).next().unwrap_or("");
        let value_end = after.find([',', '}']).unwrap_or(after.len());
        if looks_secret(key) && is_literal(after[..value_end].trim_matches(['"', '\'', ' '])) {
            masked.push_str(&stars(&after[..value_end]));
            rest = &after[value_end..];
        } else {
            rest = after;
        }
    }
    masked.push_str(rest);
    masked
}

fn is_armour(line: &str) -> bool {
    let trimmed = line.trim();
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    is_private_key(line) || (trimmed.len() >= 60 && trimmed.chars().all(base64))
}

/// One star per byte, so that the byte offsets of everything after it stay what they were.
fn stars(text: &str) -> String {
    let star = |c: char| if c.is_whitespace() { c.to_string() } else { "*".repeat(c.len_utf8()) };
    text.chars().map(star).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_tell_secrets_from_what_is_about_them() {
        for key in
            ["password", "db_password", "apiToken", "API_KEY", "ssh-key", "clientSecret", "wireguard_psk"]
        {
            assert!(looks_secret(key), "{key}");
        }
        for key in [
            "password_file",
            "token_ttl",
            "secret_name",
            "key",
            "keyboard",
            "vault_credential_path",
            "tokens_per_s",
        ] {
            assert!(!looks_secret(key), "{key}");
        }
    }

    #[test]
    fn passwords_in_urls_are_hidden() {
        let hidden = hide_url_passwords("a postgres://app:hunter2@db/x and https://b@c and redis://:p@r");
        assert_eq!(hidden, "a postgres://app:(hidden)@db/x and https://b@c and redis://:(hidden)@r");
        let line = "    url: \"https://user:hunter2@example.com\"";
        assert_eq!(mask_line(line).len(), line.len());
        assert!(!mask_line(line).contains("hunter2"));
        assert_eq!(hide_url_passwords("https://app:{{ config.pw }}@db"), "https://app:{{ config.pw }}@db");
    }

    #[test]
    fn masking_hides_the_value_and_keeps_columns() {
        let line = "  - {name: db, password: hunter2, port: 5432}";
        let masked = mask_line(line);
        assert!(!masked.contains("hunter2"));
        assert_eq!(masked.len(), line.len());
        assert!(masked.ends_with(", port: 5432}"));
        assert_eq!(mask_line("password: vault:db#password"), "password: vault:db#password");
        assert!(!mask_line("passwrd_token: \"a:b=c\"").contains("a:b=c"));
    }
}
