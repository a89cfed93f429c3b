//! The agent's own key. It is made on the host and never leaves it.

use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use windlass_api::agent::SecretText;

use crate::connection::KeyError;

/// A new key, and the request for a certificate of it.
pub(crate) struct NewKey {
    /// The private key as PEM.
    pub(crate) private: SecretText,
    /// The certificate request as PEM. The server takes nothing of it but the public key.
    pub(crate) request: String,
}

impl NewKey {
    /// Makes a key.
    pub(crate) fn generate() -> Result<NewKey, KeyError> {
        let failed = |error: rcgen::Error| KeyError::new(error);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let params = CertificateParams::new(Vec::new()).map_err(failed)?;
        let request = params.serialize_request(&key).and_then(|request| request.pem()).map_err(failed)?;
        Ok(NewKey { private: SecretText::new(key.serialize_pem()), request })
    }
}
