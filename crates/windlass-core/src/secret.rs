//! Recognises secrets in fleet files and texts, and masks them in all output.
//!
//! Not every secret can be recognised. This module knows common key names and unmistakable texts. Recognised secrets
//! are reported without the value, masked in excerpts and hidden in differences.

use std::borrow::Cow;
use std::ops::Range;

use crate::diagnostic::{Code, Finding};

/// The text that is printed in place of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Whether a text is a mask: [`HIDDEN`] itself, or a URL in which it replaces the secret part.
pub fn is_mask(text: &str) -> bool {
    text == HIDDEN
        || text.match_indices(HIDDEN).any(|(start, mask)| {
            let (before, after) = (&text[..start], &text[start + mask.len()..]);
            (before.ends_with("://") && after.starts_with('@'))
                || SECRET_WEBHOOK_URLS.iter().any(|hook| before.ends_with(hook))
        })
}

/// The problem of a masked value in a file.
pub fn mask_finding(span: Range<usize>) -> Finding {
    Finding::new(Code::MaskedValue, span, format!("{HIDDEN} is the mask of a hidden value")).help(
        "write the value itself, or a reference such as `vault:path#field`; `windlass export --show-secrets` \
            prints it",
    )
}

/// Whether a key with this name usually has a secret value: `db_password` does, `password_file` does not.
pub fn is_secret_key_name(key: &str) -> bool {
    let (before_last, last) = last_words(key);
    let is_one_of = |word: &str, known: &[&str]| known.iter().any(|known| is_word(word, known));
    is_one_of(last, SECRET_WORDS) || (is_word(last, "key") && is_one_of(before_last, SECRET_KEY_WORDS))
}

/// Last words of keys with secret values.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secrets",
    "token",
    "apikey",
    "credential",
    "credentials",
    "psk",
];

/// Words before `key` in keys with secret values.
const SECRET_KEY_WORDS: &[&str] = &["api", "private", "access", "secret", "signing", "encryption", "ssh"];

/// The last two words of a key: `clientDbPassword` → `Db`, `Password`. Allocates nothing, because every key of every
/// plan is checked.
fn last_words(key: &str) -> (&str, &str) {
    let (mut before_last, mut last) = ("", "");
    let mut take = |start: usize, end: usize| {
        if start < end {
            before_last = last;
            last = &key[start..end];
        }
    };
    let mut start = 0;
    let mut previous_is_lower = false;
    for (position, c) in key.char_indices() {
        if !c.is_alphanumeric() {
            take(start, position);
            start = position + c.len_utf8();
        } else if c.is_uppercase() && previous_is_lower {
            take(start, position);
            start = position;
        }
        previous_is_lower = c.is_lowercase() || c.is_numeric();
    }
    take(start, key.len());
    (before_last, last)
}

fn is_word(text: &str, word: &str) -> bool {
    match text.is_ascii() {
        true => text.eq_ignore_ascii_case(word),
        false => text.chars().flat_map(char::to_lowercase).eq(word.chars()),
    }
}

/// Whether a value is itself the secret, and not empty or a reference to one.
pub fn is_literal(value: &str) -> bool {
    let references = ["vault:", "sops:", "env:", "ENC[", "${", "{{", "secret/", "file:", "age:"];
    !value.trim().is_empty() && !references.iter().any(|prefix| value.trim_start().starts_with(prefix))
}

/// Whether the text is a private key in PEM or OpenSSH armour.
pub fn is_private_key(text: &str) -> bool {
    text.contains("-----BEGIN") && text.contains("PRIVATE KEY")
}

/// The problem of a secret in git. Never contains the value.
pub fn inline_finding(span: Range<usize>, what: &str) -> Finding {
    Finding::new(Code::SecretInline, span, format!("{what} must not be in git"))
        .help("store it in Vault and refer to it by path; if it was ever pushed, rotate it")
}

/// The problem of a key whose name suggests a secret. Never contains the value.
pub fn suspected_finding(span: Range<usize>, key: &str) -> Finding {
    Finding::new(Code::SecretSuspected, span, format!("`{key}` looks like a secret"))
        .help("if it is one, store it in Vault and write a reference such as `vault:path#field`")
}

/// A text with recognised secrets masked: private keys, credentials in URLs, and URLs that are secrets themselves.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if is_private_key(text) {
        return Cow::Borrowed(HIDDEN);
    }
    let found = secrets_of_urls(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut told) = (String::new(), 0);
    for secret in found {
        shown.push_str(&text[told..secret.start]);
        shown.push_str(HIDDEN);
        told = secret.end;
    }
    shown.push_str(&text[told..]);
    Cow::Owned(shown)
}

/// The characters that end a URL in a text, each one byte.
const WORD_ENDS: [char; 6] = [' ', '\t', '\n', '"', '\'', '`'];

/// How many schemes of one word are examined. A word with more is not a URL.
const MAX_SCHEMES: usize = 8;

/// URLs whose remainder allows anyone to send messages.
const SECRET_WEBHOOK_URLS: &[&str] = &[
    "hooks.slack.com/",
    "hooks.slack-gov.com/",
    "discord.com/api/webhooks/",
    "discordapp.com/api/webhooks/",
    ".webhook.office.com/",
    ".logic.azure.com/",
    ".logic.azure.com:443/",
    ".api.powerplatform.com/",
    ".api.powerplatform.com:443/",
];

/// The secret parts of the URLs in a text: at most one in each word, in time proportional to the text.
fn secrets_of_urls(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for word in text.split(WORD_ENDS) {
        let secret = match (url_credentials(word), webhook_secret(word)) {
            (Some(one), Some(other)) => Some(one.start.min(other.start)..one.end.max(other.end)),
            (one, other) => one.or(other),
        };
        found.extend(secret.map(|secret| start + secret.start..start + secret.end));
        start += word.len() + 1;
    }
    found
}

/// The secret part of a word that is a chat's incoming webhook: everything after the host.
fn webhook_secret(word: &str) -> Option<Range<usize>> {
    let ends = SECRET_WEBHOOK_URLS.iter().filter_map(|hook| word.find(hook).map(|found| found + hook.len()));
    ends.min().filter(|end| *end < word.len()).map(|end| end..word.len())
}

/// The credentials of a word that is a URL with user and password: between `://` and the last `@`.
fn url_credentials(word: &str) -> Option<Range<usize>> {
    let last = word.rfind('@')?;
    let mut schemes = word.match_indices("://").map(|(found, mark)| found + mark.len()).take(MAX_SCHEMES);
    schemes.find(|start| *start <= last && !is_path(&word[*start..last])).map(|start| start..last)
}

/// Whether an `@` after this text is in the path of a URL, and not after credentials.
fn is_path(before: &str) -> bool {
    before.split_once('/').is_some_and(|(host, _)| !host.contains(':'))
}

/// A line of a text with secrets replaced by `*`, byte for byte, so that columns stay the same. Lines that continue a
/// secret from above, and lines of a private key, are masked completely. Also works on text that is not valid YAML:
/// there the structure is unknown, and masking too much is better than too little.
pub fn mask_excerpt(text: &str, line: Range<usize>) -> String {
    let (above, line) = (&text[..line.start], &text[line]);
    if is_inside_private_key(above) || continues_secret(above, line) { stars(line) } else { mask_line(line) }
}

fn is_inside_private_key(above: &str) -> bool {
    let begin = above.rfind("-----BEGIN");
    begin.is_some_and(|begin| is_private_key(&above[begin..]) && !above[begin..].contains("-----END"))
}

/// Whether a line is part of a value whose key, further up, looks like that of a secret.
fn continues_secret(above: &str, line: &str) -> bool {
    let mut column = content_column(line);
    let mut has_key = last_key(line).is_some();
    let mut is_next = true;
    for line in above.lines().rev() {
        let is_comment = line.trim_start().starts_with('#');
        if line.trim().is_empty() || is_comment {
            continue;
        }
        let is_above = content_column(line) < column;
        if let Some((key, value)) = last_key(line) {
            let is_open_quote =
                |quote: char| value.starts_with(quote) && value.matches(quote).count() % 2 == 1;
            let is_owner = is_above || !has_key || (is_next && (is_open_quote('"') || is_open_quote('\'')));
            if is_owner && is_secret_key_name(key) {
                return true;
            }
            has_key = true;
            is_next = false;
        }
        if is_above {
            column = content_column(line);
        }
        if column == 0 && has_key {
            return false;
        }
    }
    false
}

/// The column where the content of a line begins, after its indentation and list dashes.
fn content_column(line: &str) -> usize {
    let content = line.trim_start_matches([' ', '\t']);
    // A tab is not valid indentation, but whoever types one means a deeper level.
    let width = |c: char| if c == '\t' { 8 } else { 1 };
    let mut column: usize = line[..line.len() - content.len()].chars().map(width).sum();
    let mut rest = content;
    while let Some(item) = rest.strip_prefix("- ") {
        let item = item.trim_start_matches(' ');
        column += rest.len() - item.len();
        rest = item;
    }
    column
}

/// The last key of a line and the text after it.
fn last_key(line: &str) -> Option<(&str, &str)> {
    let is_end = |position: usize| line[position + 1..].chars().next().is_none_or(char::is_whitespace);
    let colon = line.match_indices(':').map(|(found, _)| found).rfind(|found| is_end(*found));
    let Some(colon) = colon.filter(|colon| !line[..*colon].trim().is_empty()) else {
        // `? key` alone on its line; its value follows after a `:`.
        return line.trim_start().strip_prefix("? ").map(|key| (key_before(key), ""));
    };
    Some((key_before(&line[..colon]), line[colon + 1..].trim()))
}

/// The key at the end of a text.
fn key_before(text: &str) -> &str {
    let text = text.trim_end_matches(['"', '\'', ' ']);
    text.rsplit(['{', ',', ' ', '"', '\'', '[', '\t']).next().unwrap_or("")
}

/// Masks one line: everything after a secret-looking key, and credentials in URLs.
fn mask_line(line: &str) -> String {
    if is_armour(line) {
        return stars(line);
    }
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(colon) = rest.find([':', '=']) {
        let (before, after) = rest.split_at(colon + 1);
        masked.push_str(before);
        let end = value_end(after);
        if is_secret_key_name(key_before(&before[..colon]))
            && is_literal(after[..end].trim_matches(['"', '\'', ' ']))
        {
            masked.push_str(&stars(&after[..end]));
            rest = &after[end..];
        } else {
            rest = after;
        }
    }
    masked.push_str(rest);
    mask_credentials(&mut masked);
    masked
}

fn mask_credentials(line: &mut String) {
    for found in secrets_of_urls(line) {
        let hidden = stars(&line[found.clone()]);
        line.replace_range(found, &hidden);
    }
}

/// The end of a value that begins here: its closing quote, or a `,` or `}` that ends an entry of a flow map.
fn value_end(text: &str) -> usize {
    let begin = text.len() - text.trim_start().len();
    if let Some(quote) = text[begin..].chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = text[begin + 1..].rfind(quote).map_or(text.len(), |found| begin + 1 + found + 1);
        let follows = text[end..].trim_start().chars().next();
        let is_closed = follows.is_none_or(|c| matches!(c, ',' | '}' | ']' | '#'));
        return if is_closed { end } else { text.len() };
    }
    let ends = |position: usize| {
        let next = text[position + 1..].chars().next();
        next.is_none_or(|next| next.is_whitespace() || matches!(next, ',' | '}' | ']'))
    };
    text.match_indices([',', '}']).map(|(found, _)| found).find(|found| ends(*found)).unwrap_or(text.len())
}

fn is_armour(line: &str) -> bool {
    let trimmed = line.trim();
    let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    is_private_key(line) || (trimmed.len() >= 60 && trimmed.chars().all(base64))
}

/// One star per byte, so that the byte offsets after it stay the same.
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
            assert!(is_secret_key_name(key), "{key}");
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
            assert!(!is_secret_key_name(key), "{key}");
        }
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
        assert_eq!(mask_line("token: \"a, b\" # c"), "token: *** ** # c");
        assert_eq!(mask_line("{token: a}b, c: d}"), "{token: ***, c: d}");
        assert_eq!(mask_line("url: https://me:pw@x.y/z"), "url: https://*****@x.y/z");
        assert_eq!(mask_line("[git://a:b@x, git://c:d@y]"), "[git://***@x, git://***@y]");
        assert_eq!(mask_line("url: https://x.y/@z"), "url: https://x.y/@z");
    }

    fn shown(text: &str, needle: &str) -> bool {
        let start = text[..text.find(needle).unwrap()].rfind('\n').map_or(0, |found| found + 1);
        let end = text[start..].find('\n').map_or(text.len(), |found| start + found);
        mask_excerpt(text, start..end).contains(needle)
    }

    #[test]
    fn lines_that_carry_on_a_secret_are_masked() {
        for text in [
            "password:\n  hunter2\n",
            "- password: |\n    one: two\n    hunter2: x\n",
            "secrets:\n- hunter2\n",
            "secrets:\n  # note\n\n  a: [hunter2]\n",
            "a: {password:\n  hunter2, b: c}\n",
            "a:\n  password: \"one\n  hunter2\", b: c\n",
            "password: one\nhunter2\n",
            "? password\n: hunter2\n",
            "password: 'one' hunter2\n",
            "a:\n  password: |\n    one\n\thunter2: x\n",
            "key: |\n  -----BEGIN PRIVATE KEY-----\nhunter2\n  -----END PRIVATE KEY-----\n",
        ] {
            assert!(!shown(text, "hunter2"), "{text}");
        }
        for text in [
            "- password: x\n  harmless: y\n",
            "password:\nharmless: y\n",
            "a:\n  password: x\nb:\n  harmless\n",
            "password: vault:x\nharmless: y\n",
            "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\nharmless: y\n",
        ] {
            assert!(shown(text, "harmless"), "{text}");
        }
    }

    #[test]
    fn messages_do_not_repeat_keys_and_credentials() {
        assert_eq!(without_secrets("-----BEGIN PRIVATE KEY-----\nabc"), HIDDEN);
        assert_eq!(without_secrets("see http://me:pw@x.y and x@y"), "see http://(hidden)@x.y and x@y");
        assert_eq!(without_secrets("https://x.y/@z"), "https://x.y/@z");
        let hook = "posting to https://hooks.slack.com/services/T0/B0/abc failed";
        assert_eq!(without_secrets(hook), "posting to https://hooks.slack.com/(hidden) failed");
        let two = "https://a:b@x.y https://discord.com/api/webhooks/1/z hooks.slack.com/";
        let hidden = "https://(hidden)@x.y https://discord.com/api/webhooks/(hidden) hooks.slack.com/";
        assert_eq!(without_secrets(two), hidden);
        assert_eq!(mask_line("url: https://hooks.slack.com/x/y"), "url: https://hooks.slack.com/***");
    }

    #[test]
    fn what_stands_for_a_hidden_value_is_told_from_a_value() {
        for text in
            ["-----BEGIN PRIVATE KEY-----", "https://u:p@host/x", "see https://hooks.slack.com/services/T0"]
        {
            assert!(!is_mask(text) && is_mask(&without_secrets(text)), "{text}");
        }
        for text in ["", "hidden", "a (hidden) track", "https://x.y/(hidden)", "(hidden)@x"] {
            assert!(!is_mask(text), "{text}");
        }
    }

    #[test]
    fn hiding_takes_time_in_proportion_to_the_text() {
        for piece in ["://", "a://b@c ", "hooks.slack.com/x ", "://hooks.slack.com/@", "@"] {
            let text = piece.repeat(100_000);
            assert!(!without_secrets(&text).is_empty());
        }
    }
}
