//! The certificate authority of agents.
//!
//! Everything here is derived from the installation's secret key, so every replica has the same authority and stores no
//! key for it. The certificates of the authority and of the server have fixed dates and serial numbers, and Ed25519
//! signatures are deterministic: replicas agree on every byte. After a rotation of the secret key, the new authority is
//! also signed by the previous one, so that agents that know only the previous one go on trusting the server.

use std::time::Duration;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ED25519, PublicKeyData, SanType, SerialNumber,
};
use windlass_api::agent::{IssuedCertificate, SERVER_NAME, TrustBundle};
use windlass_core::digest::Digest;
use windlass_core::enrolment::{CERTIFICATE_BACKDATED, CERTIFICATE_LIFETIME, renew_after_seconds};
use windlass_core::id::AgentId;
use windlass_core::redacted::Redacted;
use windlass_core::time::Timestamp;

use crate::agents::certificate::{RequestedKey, identity_uri};
use crate::keys::{Keyring, SecretKey};

/// The head of an Ed25519 private key as PKCS #8; the 32 bytes of the seed follow.
const PKCS8_ED25519: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// The serial numbers of the certificates that every replica makes alike.
const AUTHORITY_SERIAL: u64 = 1;
const CROSS_SIGNED_SERIAL: u64 = 2;
const SERVER_SERIAL: u64 = 3;

/// A certificate could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate: {0}")]
pub struct AuthorityError(#[from] rcgen::Error);

/// The authority, and after a rotation of the secret key the one before it.
#[derive(Debug)]
pub struct AgentAuthority {
    keys: Keyring,
    current: Authority,
    previous: Option<PreviousAuthority>,
    server_key: Redacted<Vec<u8>>,
    server: Vec<u8>,
}

#[derive(Debug)]
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    params: CertificateParams,
    certificate: Certificate,
}

#[derive(Debug)]
struct PreviousAuthority {
    authority: Authority,
    /// The current authority, signed by this one.
    cross_signed: Certificate,
}

/// What the server shows to agents.
pub struct ServerIdentity {
    /// The server's certificate, followed by the authority's and, during the overlap of a rotation, by the one that leads
    /// to the previous authority, and by that authority's. All as DER.
    pub chain: Vec<Vec<u8>>,
    /// The private key, as PKCS #8.
    pub key: Redacted<Vec<u8>>,
}

/// A certificate for an agent.
pub(crate) struct ClientCertificate {
    /// What the agent gets.
    pub(crate) issued: IssuedCertificate,
    /// The serial number, in hex.
    pub(crate) serial: String,
    /// When it expires.
    pub(crate) expires_at: Timestamp,
}

impl Authority {
    fn new(key: &SecretKey) -> Result<Authority, AuthorityError> {
        let pair = key_pair(&key.derived("windlass agent authority 1"))?;
        let params = authority_params(&pair, AUTHORITY_SERIAL);
        let certificate = params.self_signed(&pair)?;
        Ok(Authority { issuer: Issuer::new(params.clone(), pair), params, certificate })
    }

    fn public_key(&self) -> &KeyPair {
        self.issuer.key()
    }
}

fn key_pair(seed: &[u8; 32]) -> Result<KeyPair, rcgen::Error> {
    let der = private_key(seed);
    KeyPair::from_pkcs8_der_and_sign_algo(&der.expose().as_slice().into(), &PKCS_ED25519)
}

fn private_key(seed: &[u8; 32]) -> Redacted<Vec<u8>> {
    Redacted::new([PKCS8_ED25519.as_slice(), seed].concat())
}

/// The pin of a public key: the SHA-256 digest of its SubjectPublicKeyInfo, in hex.
fn pin_of(key: &impl PublicKeyData) -> String {
    hex(Digest::of(&key.subject_public_key_info()).as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Dates that no clock of a host falls outside of: whether an agent trusts the server does not depend on its clock.
fn always_valid(params: &mut CertificateParams) {
    params.not_before = rcgen::date_time_ymd(1970, 1, 1);
    params.not_after = rcgen::date_time_ymd(9999, 12, 31);
}

fn named(common_name: String) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    params.distinguished_name = name;
    params
}

fn authority_params(pair: &KeyPair, serial: u64) -> CertificateParams {
    let mut params = named(format!("Windlass agent authority {}", &pin_of(pair)[..16]));
    always_valid(&mut params);
    params.serial_number = Some(SerialNumber::from(serial));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn server_params() -> CertificateParams {
    let mut params = named(SERVER_NAME.to_owned());
    always_valid(&mut params);
    params.serial_number = Some(SerialNumber::from(SERVER_SERIAL));
    params.subject_alt_names = SERVER_NAME.try_into().map(SanType::DnsName).into_iter().collect();
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

fn client_params(agent: &AgentId, serial: [u8; 16], now: Timestamp) -> CertificateParams {
    let mut params = named(format!("agent {agent}"));
    let since_1970 = |at: Timestamp| Duration::from_millis(u64::try_from(at.as_millis()).unwrap_or(0));
    // Certificates have whole seconds.
    let moment =
        |at: Timestamp| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(since_1970(at).as_secs());
    params.not_before = moment(now.minus(CERTIFICATE_BACKDATED));
    params.not_after = moment(now.plus(CERTIFICATE_LIFETIME));
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.subject_alt_names = identity_uri(agent).try_into().map(SanType::URI).into_iter().collect();
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// A random serial number: positive, and not zero.
fn random_serial() -> [u8; 16] {
    let mut serial = rand::random::<[u8; 16]>();
    serial[0] = serial[0] & 0x7f | 0x40;
    serial
}

impl AgentAuthority {
    /// The authority of the keys.
    pub fn new(keys: &Keyring) -> Result<AgentAuthority, AuthorityError> {
        let current = Authority::new(keys.current_key())?;
        let previous = keys.previous_key().map(|key| previous(key, &current)).transpose()?;
        let seed = keys.current_key().derived("windlass agent listener 1");
        let server = server_params().signed_by(&key_pair(&seed)?, &current.issuer)?;
        Ok(AgentAuthority {
            keys: keys.clone(),
            previous,
            server_key: private_key(&seed),
            server: server.der().to_vec(),
            current,
        })
    }

    /// The previous authority, during the overlap of a rotation.
    fn accepted_previous(&self, now: Timestamp) -> Option<&PreviousAuthority> {
        self.previous.as_ref().filter(|_| self.keys.accepts_previous(now))
    }

    /// Until when the previous authority is accepted; none if there is none, or if no end was set.
    pub fn overlap_until(&self) -> Option<Timestamp> {
        self.keys.previous_until()
    }

    /// What agents pin: the SHA-256 digest of the authority's SubjectPublicKeyInfo, in hex.
    pub fn pin(&self) -> String {
        pin_of(self.current.public_key())
    }

    /// What the server shows to agents.
    pub fn server_identity(&self, now: Timestamp) -> ServerIdentity {
        let mut chain = vec![self.server.clone(), self.current.certificate.der().to_vec()];
        if let Some(previous) = self.accepted_previous(now) {
            chain.push(previous.cross_signed.der().to_vec());
            chain.push(previous.authority.certificate.der().to_vec());
        }
        ServerIdentity { chain, key: self.server_key.clone() }
    }

    /// The certificates of the authorities whose client certificates are accepted, as DER, the newest first.
    pub fn accepted_authorities(&self, now: Timestamp) -> Vec<Vec<u8>> {
        let previous = self.accepted_previous(now).map(|previous| &previous.authority);
        [Some(&self.current), previous]
            .into_iter()
            .flatten()
            .map(|authority| authority.certificate.der().to_vec())
            .collect()
    }

    /// What an agent trusts from now on.
    pub(crate) fn trust(&self, now: Timestamp) -> TrustBundle {
        let previous = self.accepted_previous(now).map(|previous| previous.authority.certificate.pem());
        TrustBundle {
            authorities: std::iter::once(self.current.certificate.pem()).chain(previous).collect(),
            assignment_keys: self.keys.assignment_keys(now),
        }
    }

    /// A certificate for an agent. Only its public key is taken from the request.
    pub(crate) fn issue(
        &self,
        agent: &AgentId,
        key: &RequestedKey,
        now: Timestamp,
    ) -> Result<ClientCertificate, AuthorityError> {
        let serial = random_serial();
        let certificate =
            client_params(agent, serial, now).signed_by(&key.public_key, &self.current.issuer)?;
        // A replica that was not restarted since the rotation knows the previous authority only.
        let chain = self.accepted_previous(now).map(|previous| previous.cross_signed.pem());
        let expires_at = now.plus(CERTIFICATE_LIFETIME);
        let issued = IssuedCertificate {
            pem: format!("{}{}", certificate.pem(), chain.unwrap_or_default()),
            valid_for_seconds: CERTIFICATE_LIFETIME.as_secs(),
            renew_after_seconds: renew_after_seconds(expires_at, now),
        };
        Ok(ClientCertificate { issued, serial: hex(&serial), expires_at })
    }
}

fn previous(key: &SecretKey, current: &Authority) -> Result<PreviousAuthority, AuthorityError> {
    let authority = Authority::new(key)?;
    let mut params = current.params.clone();
    params.serial_number = Some(SerialNumber::from(CROSS_SIGNED_SERIAL));
    params.use_authority_key_identifier_extension = true;
    let cross_signed = params.signed_by(current.public_key(), &authority.issuer)?;
    Ok(PreviousAuthority { authority, cross_signed })
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
