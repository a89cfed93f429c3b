use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::*;
use crate::agents::certificate::PeerCertificate;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn now() -> Timestamp {
    Timestamp::parse("2026-11-18T12:00:00.500Z").expect("a time")
}

fn authority(keys: &str) -> AgentAuthority {
    AgentAuthority::new(&Keyring::parse(keys).expect("keys")).expect("an authority")
}

fn rotated() -> AgentAuthority {
    authority(&format!("{B}\n{A} until 2026-11-19T00:00:00Z"))
}

fn after_the_overlap() -> Timestamp {
    Timestamp::parse("2026-11-19T00:00:00Z").expect("a time")
}

/// A certificate request of a new key that claims to be someone.
fn request(claim: impl FnOnce(&mut CertificateParams)) -> (KeyPair, String) {
    let pair = KeyPair::generate_for(&PKCS_ED25519).expect("a key");
    let mut params = CertificateParams::default();
    claim(&mut params);
    let request = params.serialize_request(&pair).expect("a request").pem().expect("PEM");
    (pair, request)
}

fn is_signed_by(certificate: &[u8], issuer: &[u8]) -> bool {
    let (_, certificate) = X509Certificate::from_der(certificate).expect("a certificate");
    let (_, issuer) = X509Certificate::from_der(issuer).expect("a certificate");
    certificate.issuer() == issuer.subject()
        && certificate.verify_signature(Some(issuer.public_key())).is_ok()
}

fn first_certificate(pem: &str) -> Vec<u8> {
    x509_parser::pem::parse_x509_pem(pem.as_bytes()).expect("PEM").1.contents
}

#[test]
fn every_replica_makes_the_same_authority_and_server_certificate() {
    for keys in [A.to_owned(), format!("{B}\n{A}")] {
        let (one, other) = (authority(&keys), authority(&keys));
        assert_eq!(one.server_identity(now()).chain, other.server_identity(now()).chain);
        assert_eq!(one.server_identity(now()).key.expose(), other.server_identity(now()).key.expose());
        assert_eq!((one.pin(), one.trust(now())), (other.pin(), other.trust(now())));
    }
    assert_ne!(authority(A).pin(), authority(B).pin());
    assert_eq!(authority(A).pin().len(), 64);
}

#[test]
fn the_pin_is_the_digest_of_the_public_key_of_a_certificate_in_the_chain() {
    let authority = authority(A);
    let chain = authority.server_identity(now()).chain;
    let (_, certificate) = X509Certificate::from_der(&chain[1]).expect("a certificate");
    assert_eq!(hex(Digest::of(certificate.public_key().raw).as_bytes()), authority.pin());
    assert!(is_signed_by(&chain[0], &chain[1]), "the server's certificate leads to the authority");
    assert!(is_signed_by(&chain[1], &chain[1]), "which signs itself");
    assert_eq!(chain.len(), 2);
}

#[test]
fn during_the_overlap_the_chain_leads_to_both_authorities() {
    let (before, after) = (authority(A), rotated());
    let chain = after.server_identity(now()).chain;
    let [server, current, cross_signed, previous] = chain.as_slice() else { panic!("four certificates") };
    assert_eq!(previous, &before.server_identity(now()).chain[1]);
    assert_eq!(current, &authority(B).server_identity(now()).chain[1]);
    assert!(is_signed_by(server, current) && is_signed_by(server, cross_signed));
    assert!(is_signed_by(cross_signed, previous));
    assert!(!is_signed_by(server, previous));
    assert_eq!(after.accepted_authorities(now()), [current.clone(), previous.clone()]);
    assert_eq!(after.trust(now()).authorities.len(), 2);
    assert_eq!(after.trust(now()).assignment_keys.len(), 2);
    let over = after_the_overlap();
    assert_eq!(after.server_identity(over).chain.len(), 2);
    assert_eq!(after.accepted_authorities(over), std::slice::from_ref(current));
    assert_eq!(after.trust(over).authorities.len(), 1);
}

#[test]
fn a_request_that_claims_to_be_someone_else_gets_its_own_identity_and_nothing_more() {
    let authority = authority(A);
    let (pair, pem) = request(|params| {
        params.distinguished_name.push(DnType::CommonName, "agent other");
        params.subject_alt_names = vec![
            SanType::URI("windlass://agent/other".try_into().expect("text")),
            SanType::DnsName(SERVER_NAME.try_into().expect("a name")),
        ];
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    let key = RequestedKey::read(&pem).expect("a valid request");
    let issued = authority.issue(&AgentId::new("0198-mine"), &key, now()).expect("a certificate");
    let der = first_certificate(&issued.issued.pem);
    let peer = PeerCertificate::read(&der).expect("a certificate of an agent");
    assert_eq!(peer.agent_id, AgentId::new("0198-mine"));
    let (_, certificate) = X509Certificate::from_der(&der).expect("a certificate");
    assert_eq!(certificate.subject().to_string(), "CN=agent 0198-mine");
    assert_eq!(certificate.public_key().raw, pair.subject_public_key_info());
    assert!(!certificate.is_ca());
    let usage = certificate.extended_key_usage().expect("readable").expect("present").value;
    assert!(usage.client_auth && !usage.server_auth);
    assert!(is_signed_by(&der, &authority.server_identity(now()).chain[1]));
}

#[test]
fn a_client_certificate_is_valid_for_a_day_and_is_renewed_after_two_thirds() {
    let (_, pem) = request(|_| {});
    let key = RequestedKey::read(&pem).expect("a valid request");
    let issued = authority(A).issue(&AgentId::new("a"), &key, now()).expect("a certificate");
    let peer = PeerCertificate::read(&first_certificate(&issued.issued.pem)).expect("of an agent");
    let second = |text: &str| Timestamp::parse(text).expect("a time");
    assert_eq!(peer.not_before, second("2026-11-18T11:50:00Z"));
    assert_eq!(peer.not_after, second("2026-11-19T12:00:00Z"));
    assert_eq!(issued.issued.valid_for_seconds, 24 * 3600);
    assert_eq!(issued.issued.renew_after_seconds, 16 * 3600);
    assert_eq!(issued.issued.pem.matches("BEGIN CERTIFICATE").count(), 1);
    let again = authority(A).issue(&AgentId::new("a"), &key, now()).expect("a certificate");
    assert_ne!(issued.serial, again.serial);
    let overlap = rotated().issue(&AgentId::new("a"), &key, now()).expect("a certificate");
    assert_eq!(
        overlap.issued.pem.matches("BEGIN CERTIFICATE").count(),
        2,
        "with the way to the previous authority"
    );
}

#[test]
fn a_request_that_is_not_signed_with_its_key_or_is_no_request_is_refused() {
    let (_, pem) = request(|_| {});
    let (_, other) = request(|_| {});
    // The signature is the last 64 bytes.
    let (mut body, other) = (first_certificate(&pem), first_certificate(&other));
    let end = body.len() - 64;
    body.truncate(end);
    body.extend(&other[other.len() - 64..]);
    let forged = pem::encode("CERTIFICATE REQUEST", &body);
    let large = "x".repeat(9_000);
    for wrong in
        ["", "nonsense", forged.as_str(), large.as_str(), authority(A).current.certificate.pem().as_str()]
    {
        assert!(RequestedKey::read(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn a_certificate_that_names_no_agent_is_none() {
    let authority = authority(A);
    assert_eq!(PeerCertificate::read(&authority.server_identity(now()).chain[0]), None);
    assert_eq!(PeerCertificate::read(b"nonsense"), None);
}

mod pem {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    pub(super) fn encode(label: &str, der: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
    }
}
