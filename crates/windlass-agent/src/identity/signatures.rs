//! Signatures of assignments.

use aws_lc_rs::signature::{ED25519, UnparsedPublicKey};
use windlass_api::agent::TrustBundle;
use windlass_core::target_assignment::VerifySignature;

use super::decode_base64;

/// The Ed25519 keys that may sign assignments.
#[derive(Clone, Debug, Default)]
pub(crate) struct AssignmentKeys(Vec<Vec<u8>>);

impl AssignmentKeys {
    /// The keys that the server named at enrolment or at the last renewal. A key that cannot be read verifies nothing.
    pub(crate) fn of(trust: &TrustBundle) -> AssignmentKeys {
        AssignmentKeys(trust.assignment_keys.iter().filter_map(|key| decode_base64(key)).collect())
    }
}

impl VerifySignature for AssignmentKeys {
    fn is_valid(&self, bytes: &[u8], signature: &str) -> bool {
        let Some(signature) = decode_base64(signature) else { return false };
        self.0.iter().any(|key| UnparsedPublicKey::new(&ED25519, key).verify(bytes, &signature).is_ok())
    }
}
