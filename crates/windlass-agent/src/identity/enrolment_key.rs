//! The enrolment key: what an operator pastes on the host.

use windlass_api::agent::EnrolmentKey;

use super::decode_base64;
use crate::connection::ServerAddress;
use crate::error::AgentError;

/// Long enough for every key that a server makes.
const MAX_CHARS: usize = 4096;

/// Reads an enrolment key and checks its parts. No error repeats the key.
pub(crate) fn parse(text: &str) -> Result<EnrolmentKey, AgentError> {
    let bad = |problem: &'static str| AgentError::BadEnrolmentKey { problem };
    let text = text.trim();
    if text.len() > MAX_CHARS {
        return Err(bad("it is too long"));
    }
    let encoded =
        text.strip_prefix("windlass1.").ok_or_else(|| bad("it does not start with `windlass1.`"))?;
    let json = decode_base64(encoded).ok_or_else(|| bad("a part of it is missing or was changed"))?;
    let key: EnrolmentKey =
        serde_json::from_slice(&json).map_err(|_| bad("a part of it is missing or was changed"))?;
    ServerAddress::parse(&key.server)?;
    let is_digest = key.authority.len() == 64 && key.authority.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_digest || key.token.expose().is_empty() {
        return Err(bad("a part of it is missing or was changed"));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use windlass_api::agent::SecretText;

    use super::*;

    fn written(server: &str, authority: &str, token: &str) -> String {
        let (server, authority) = (server.to_owned(), authority.to_owned());
        let key = EnrolmentKey { server, authority, token: SecretText::new(token) };
        format!("windlass1.{}", super::super::BASE64.encode(serde_json::to_vec(&key).unwrap()))
    }

    #[test]
    fn a_key_is_read_with_and_without_padding_and_line_ends() {
        let text = written("https://windlass.example.com:3443", &"ab".repeat(32), "wlenroll_1");
        for text in [text.clone(), text.trim_end_matches('=').to_owned(), format!(" {text}\n")] {
            let key = parse(&text).unwrap();
            assert_eq!(
                (key.server.as_str(), key.token.expose()),
                ("https://windlass.example.com:3443", "wlenroll_1")
            );
        }
    }

    #[test]
    fn a_cut_or_changed_key_is_rejected_without_repeating_it() {
        let whole = written("https://windlass.example.com:3443", &"ab".repeat(32), "wlenroll_1");
        let texts = [
            "",
            "wlenroll_1",
            &whole[1..],
            &whole[..whole.len() - 9],
            &written("http://windlass.example.com", &"ab".repeat(32), "t"),
            &written("https://windlass.example.com", "ab", "t"),
            &written("https://windlass.example.com", &"ab".repeat(32), ""),
            &"windlass1.".repeat(1000),
        ];
        for text in texts {
            let error = parse(text).unwrap_err();
            assert!(!error.to_string().contains("wlenroll"), "{error}");
        }
    }
}
