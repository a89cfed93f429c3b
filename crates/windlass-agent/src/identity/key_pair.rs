//! The agent's own key. It is made on the host and never leaves it.

use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, PublicKeyData as _};
use windlass_api::agent::SecretText;
use windlass_core::digest::Digest;

use crate::connection::KeyError;

/// A new key, and the request for a certificate of it.
pub(crate) struct NewKey {
    /// The private key as PEM.
    pub(crate) private: SecretText,
    /// The certificate request as PEM. The server takes nothing of it but the public key.
    pub(crate) request: String,
    /// The SHA-256 digest of the public key, in hex, as the server shows it to whoever approves that the host joins.
    pub(crate) fingerprint: String,
}

impl NewKey {
    /// Makes a key.
    pub(crate) fn generate() -> Result<NewKey, KeyError> {
        let failed = |error: rcgen::Error| KeyError::new(error);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let params = CertificateParams::new(Vec::new()).map_err(failed)?;
        let request = params.serialize_request(&key).and_then(|request| request.pem()).map_err(failed)?;
        let digest = Digest::of(&key.subject_public_key_info()).to_string();
        let fingerprint = digest.trim_start_matches("sha256:").to_owned();
        Ok(NewKey { private: SecretText::new(key.serialize_pem()), request, fingerprint })
    }
}
