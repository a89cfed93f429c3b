//! Receivers of notifications: their URLs, mail addresses, and the paths of their credentials.
//!
//! None of them may contain a secret. A rejected text is not repeated: it may be a secret.

use super::checked_text;
use crate::secret;
use crate::shape::InvalidText;

checked_text! {
    /// The address of a receiver, without anything secret in it.
    ReceiverUrl: "an https or smtp URL", Some("^(https?|smtps?)://[^\\s@?#]+$"), check_receiver
}

checked_text! {
    /// A mail address.
    MailAddress: "a mail address", Some("^[^\\s@<>(),:;\"\\\\\\[\\]]{1,64}@[A-Za-z0-9.-]{1,253}$"), check_mail
}

checked_text! {
    /// The path under which a credential is kept, in Vault or in files.
    CredentialPath: "the path of a credential", Some("^[A-Za-z0-9_@=-][A-Za-z0-9._@=-]*(/[A-Za-z0-9_@=-][A-Za-z0-9._@=-]*)*$"),
    check_credential
}

impl ReceiverUrl {
    /// The text before `://`.
    pub fn scheme(&self) -> &str {
        self.as_str().split_once("://").map_or("", |(scheme, _)| scheme)
    }
}

fn check_receiver(text: &str) -> Result<(), InvalidText> {
    if text.contains(['@', '?', '#']) || secret::without_secrets(text) != text {
        return Err(InvalidText::value("the address contains a part that is usually secret")
            .help("store the whole address in the credential, as the field `url`, and omit `address`"));
    }
    let refuse = || {
        InvalidText::value("not a receiver's address")
            .help("write it like `https://hooks.example.com/windlass` or `smtps://mail.example.com:465`")
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(refuse)?;
    let host = rest.split('/').next().unwrap_or_default();
    let is_clean = text.len() <= 2048 && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    let is_known = matches!(scheme, "https" | "http" | "smtp" | "smtps");
    if is_known && is_clean && !host.is_empty() && !host.starts_with(['-', ':']) {
        Ok(())
    } else {
        Err(refuse())
    }
}

fn check_mail(text: &str) -> Result<(), InvalidText> {
    let refuse = || InvalidText::value("not a mail address").help("write it like `ops@example.com`");
    let (local, domain) = text.rsplit_once('@').ok_or_else(refuse)?;
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "@<>(),:;\"\\[]".contains(c);
    let is_local = (1..=64).contains(&local.len()) && !local.contains(forbidden);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let is_domain =
        (1..=253).contains(&domain.len()) && domain.bytes().all(fits) && !domain.starts_with(['-', '.']);
    if is_local && is_domain { Ok(()) } else { Err(refuse()) }
}

fn check_credential(text: &str) -> Result<(), InvalidText> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@=".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.bytes().all(fits);
    if text.len() <= 512 && text.split('/').all(is_part) {
        return Ok(());
    }
    Err(InvalidText::value("not the path of a credential")
        .help("write a path such as `notifications/team-chat`; the secret itself must not be in git"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::TextValue as _;

    #[test]
    fn addresses_with_secret_parts_are_refused_without_repeating_them() {
        for text in [
            "https://me:hunter2@example.com",
            "https://example.com/hook?token=hunter2",
            "https://hooks.slack.com/services/T0/B0/hunter2",
            "https://discord.com/api/webhooks/1/hunter2",
            "ftp://hunter2",
            "https://",
        ] {
            let complaint = ReceiverUrl::read(text).unwrap_err();
            assert!(!format!("{complaint:?}").contains("hunter2"), "{text}");
        }
        assert_eq!(ReceiverUrl::read("smtps://mail.example.com:465").unwrap().scheme(), "smtps");
        assert!(ReceiverUrl::read("http://127.0.0.1:9093/alerts").is_ok());
    }

    #[test]
    fn a_secret_in_the_place_of_its_path_is_refused_without_repeating_it() {
        for text in ["https://hooks.slack.com/services/hunter2", "a b", "../x", "", "a//b", "x\nhunter2"] {
            let complaint = CredentialPath::read(text).unwrap_err();
            assert!(!format!("{complaint:?}").contains("hunter2"), "{text}");
        }
        assert!(CredentialPath::read("secret/data/notifications/team-chat").is_ok());
    }

    #[test]
    fn mail_addresses_carry_no_header_and_no_second_address() {
        for text in ["ops", "a@b\r\nBcc: c@d", "a@b,c@d", "<a@b>", "a b@c", "@c", "a@", "a@-b"] {
            assert!(MailAddress::read(text).is_err(), "{text:?}");
        }
        assert!(MailAddress::read("ops+windlass@mail.example.com").is_ok());
    }
}
