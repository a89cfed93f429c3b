//! The authority and the keys of the fake server.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, CertifiedIssuer, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, PKCS_ED25519, PublicKeyData as _, date_time_ymd,
};
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use windlass_api::agent::TrustBundle;
use windlass_core::digest::Digest;

/// A private authority with a certificate of a server, and a key that signs assignments.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    server: (CertificateDer<'static>, Vec<u8>),
    signing: Ed25519KeyPair,
    /// What the server sends after its own certificate and the authority's.
    more_chain: Vec<CertificateDer<'static>>,
}

impl Authority {
    /// Valid long before and long after now.
    pub(super) fn new() -> Authority {
        Authority::valid(2020, 2120)
    }

    /// Valid from the first day of one year to that of another.
    pub(super) fn valid(from: i32, until: i32) -> Authority {
        let (from, until) = (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let mut params = authority_params(&key);
        (params.not_before, params.not_after) = (from, until);
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let mut params = CertificateParams::new(vec!["agents.windlass".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        (params.not_before, params.not_after) = (from, until);
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let server = (certificate.der().clone(), key.serialize_der());
        Authority { issuer, server, signing: Ed25519KeyPair::generate().unwrap(), more_chain: Vec::new() }
    }

    /// The next authority, which this one signs too.
    pub(super) fn next(&self) -> Authority {
        let mut next = Authority::new();
        let params = authority_params(next.issuer.key());
        let cross_signed = params.signed_by(next.issuer.key(), &self.issuer).unwrap();
        next.more_chain = vec![cross_signed.der().clone(), self.issuer.der().clone()];
        next
    }

    /// A server that shows a certificate which this authority issued to an agent.
    pub(super) fn impersonated(&self) -> Authority {
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let request =
            CertificateParams::new(Vec::new()).unwrap().serialize_request(&key).unwrap().pem().unwrap();
        let certificate = CertificateDer::from_pem_slice(self.issue(&request).as_bytes()).unwrap();
        let mut thief = Authority::new();
        thief.server = (certificate, key.serialize_der());
        thief.more_chain = vec![self.issuer.der().clone()];
        thief
    }

    /// What agents pin: the SHA-256 digest of the authority's public key, in hex.
    pub(super) fn pin(&self) -> String {
        let digest = Digest::of(&self.issuer.key().subject_public_key_info()).to_string();
        digest.trim_start_matches("sha256:").to_owned()
    }

    pub(super) fn trust(&self) -> TrustBundle {
        TrustBundle {
            authorities: vec![self.issuer.pem()],
            assignment_keys: vec![URL_SAFE_NO_PAD.encode(self.signing.public_key())],
        }
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(self.signing.sign(bytes))
    }

    /// A certificate for the public key of a request. Its validity does not matter: the server's clock judges it.
    pub(super) fn issue(&self, request: &str) -> String {
        let mut request = CertificateSigningRequestParams::from_pem(request).unwrap();
        request.params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        (request.params.not_before, request.params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2120, 1, 1));
        request.signed_by(&self.issuer).unwrap().pem()
    }

    /// Accepts connections with and without a certificate of this authority, or of the one before.
    pub(super) fn acceptor(&self, before: Option<&Authority>) -> TlsAcceptor {
        let provider = Arc::new(default_provider());
        let mut roots = RootCertStore::empty();
        for authority in std::iter::once(self).chain(before) {
            roots.add(authority.issuer.der().clone()).unwrap();
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .unwrap();
        let mut chain = vec![self.server.0.clone(), self.issuer.der().clone()];
        chain.extend(self.more_chain.iter().cloned());
        let key = PrivateKeyDer::try_from(self.server.1.clone()).unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

fn authority_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    let name = Digest::of(&key.subject_public_key_info()).short();
    params.distinguished_name.push(DnType::CommonName, format!("authority {name}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}
