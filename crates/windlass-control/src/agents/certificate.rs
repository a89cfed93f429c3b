//! Reads what agents show: certificate requests and client certificates. Both are bytes of strangers.

use rcgen::{PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData as _, SubjectPublicKeyInfo};
use windlass_core::digest::Digest;
use windlass_core::enrolment::{CertificateValidity, certificate_validity};
use windlass_core::id::AgentId;
use windlass_core::time::Timestamp;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The longest certificate request. One with a small key has less than a kilobyte.
const MAX_REQUEST_BYTES: usize = 8 * 1024;

/// The longest id of an agent in a certificate.
const MAX_ID: usize = 64;

/// What the identity in a certificate begins with; the id of the agent follows.
const IDENTITY: &str = "windlass://agent/";

/// The identity of an agent in its certificate.
pub(crate) fn identity_uri(agent: &AgentId) -> String {
    format!("{IDENTITY}{agent}")
}

/// The public key of a certificate request whose sender has the private key. Nothing else of the request counts: the server
/// decides names, dates and purposes.
pub(crate) struct RequestedKey {
    pub(crate) public_key: SubjectPublicKeyInfo,
    /// The SHA-256 digest of the key's SubjectPublicKeyInfo, in hex.
    pub(crate) fingerprint: String,
}

impl RequestedKey {
    /// Reads a certificate request and verifies that it is signed with its own key; none if it cannot be used.
    pub(crate) fn read(pem: &str) -> Option<RequestedKey> {
        if pem.len() > MAX_REQUEST_BYTES {
            return None;
        }
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
        let (rest, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
        if !rest.is_empty() || request.verify_signature().is_err() {
            return None;
        }
        let key = request.certification_request_info.subject_pki.raw;
        let public_key = SubjectPublicKeyInfo::from_der(key).ok()?;
        if ![&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256].contains(&public_key.algorithm()) {
            return None;
        }
        let digest = Digest::of(&public_key.subject_public_key_info());
        let fingerprint = digest.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(RequestedKey { public_key, fingerprint })
    }
}

/// What a client certificate says. Only the TLS handshake proves that our authority issued it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The agent.
    pub agent_id: AgentId,
    /// From when on it is valid.
    pub not_before: Timestamp,
    /// Until when it is valid.
    pub not_after: Timestamp,
}

impl PeerCertificate {
    /// Reads a certificate; none if it is no certificate of an agent.
    pub fn read(der: &[u8]) -> Option<PeerCertificate> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = certificate.subject_alternative_name().ok()??;
        let [GeneralName::URI(identity)] = names.value.general_names.as_slice() else { return None };
        let id = identity.strip_prefix(IDENTITY)?;
        let is_id = (1..=MAX_ID).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let moment = |seconds: i64| Timestamp::from_millis(seconds.saturating_mul(1000));
        let validity = certificate.validity();
        is_id.then(|| PeerCertificate {
            agent_id: AgentId::new(id),
            not_before: moment(validity.not_before.timestamp()),
            not_after: moment(validity.not_after.timestamp()),
        })
    }

    /// What it admits to now.
    pub fn validity(&self, now: Timestamp) -> CertificateValidity {
        certificate_validity(self.not_before, self.not_after, now)
    }
}
