//! The signature of a webhook. A receiver that has the secret can verify that Windlass sent the body, and when.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The value of `X-Windlass-Signature`: `t=…,v1=…`, HMAC-SHA256 in hex over the seconds since 1970, a dot and the body.
pub fn signature(secret: &[u8], seconds: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of every length");
    mac.update(seconds.to_string().as_bytes());
    mac.update(b".");
    mac.update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={seconds},v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_what_openssl_makes() {
        // printf '1700000000.{}' | openssl dgst -sha256 -hmac secret
        let expected = "t=1700000000,v1=b8569b78799ff9e3cbff0fc2d63a33a2b57f3282abd07c37ae5e8e7d79a5f163";
        assert_eq!(signature(b"secret", 1_700_000_000, b"{}"), expected);
    }
}
