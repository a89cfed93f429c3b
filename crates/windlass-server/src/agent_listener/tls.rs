//! TLS of the agent listener: which client certificates are let through the handshake.
//!
//! A certificate must lead to our authority; a client without one may only enrol. Dates are not judged here: an expired
//! certificate admits a renewal, which the guard decides, request by request. There is no resumption, so every connection proves
//! its key.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, UnixTime};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{
    self, CertificateError, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig,
    SignatureScheme, version,
};
use windlass_control::agents::authority::AgentAuthority;
use windlass_control::agents::certificate::PeerCertificate;
use windlass_control::clock::now;
use windlass_core::id::AgentId;
use windlass_core::time::Timestamp;

/// Why the agent listener cannot use TLS.
#[derive(Debug, thiserror::Error)]
pub enum AgentTlsError {
    /// The certificate or its key cannot be used.
    #[error("cannot use the certificate of the agent listener: {0}")]
    Certificate(#[from] rustls::Error),
    /// The authority cannot be used to verify clients.
    #[error("cannot use the authority of agents: {0}")]
    Authority(#[from] VerifierBuilderError),
}

tokio::task_local! {
    /// The agent that a refused certificate of this handshake names.
    static REFUSED_CLAIM: RefusedClaim;
}

/// Which agent a certificate named that the handshake refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedClaim(Arc<Mutex<Option<AgentId>>>);

impl RefusedClaim {
    /// Runs a handshake that notes the claim here.
    pub(crate) async fn during<F: Future>(&self, handshake: F) -> F::Output {
        REFUSED_CLAIM.scope(self.clone(), handshake).await
    }

    /// The agent, if a certificate was refused.
    pub(crate) fn take(&self) -> Option<AgentId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn note(agent_id: &AgentId) {
        let _ = REFUSED_CLAIM.try_with(|claim| {
            *claim.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(agent_id.clone());
        });
    }
}

/// What accepts connections of agents.
pub(crate) fn acceptor(authority: &AgentAuthority) -> Result<TlsAcceptor, AgentTlsError> {
    let provider = Arc::new(default_provider());
    let now = now();
    let identity = authority.server_identity(now);
    let chain = identity.chain.into_iter().map(CertificateDer::from).collect();
    let key = PrivatePkcs8KeyDer::from(identity.key.expose().clone());
    let verifier = AgentVerifier::new(authority, &provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(chain, key.into())?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Verifies client certificates.
#[derive(Debug)]
struct AgentVerifier {
    /// For each authority, the newest first: what verifies its certificates, and until when it is accepted.
    authorities: Vec<(Arc<dyn ClientCertVerifier>, AuthorityTerm)>,
}

/// How long an authority is accepted.
#[derive(Clone, Copy, Debug)]
enum AuthorityTerm {
    Always,
    /// As long as the overlap of a rotation lasts.
    Until(Timestamp),
}

impl AgentVerifier {
    fn new(
        authority: &AgentAuthority,
        provider: &Arc<CryptoProvider>,
    ) -> Result<AgentVerifier, AgentTlsError> {
        let term = |position: usize| match (position, authority.overlap_until()) {
            (0, _) | (_, None) => AuthorityTerm::Always,
            (_, Some(until)) => AuthorityTerm::Until(until),
        };
        let verify = |(position, der): (usize, Vec<u8>)| {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from(der))?;
            let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
            Ok((builder.allow_unauthenticated().build()?, term(position)))
        };
        let authorities = authority.accepted_authorities(now()).into_iter().enumerate();
        Ok(AgentVerifier { authorities: authorities.map(verify).collect::<Result<_, AgentTlsError>>()? })
    }

    fn newest(&self) -> &dyn ClientCertVerifier {
        self.authorities[0].0.as_ref()
    }

    fn accepted(&self, now: Timestamp) -> impl Iterator<Item = &Arc<dyn ClientCertVerifier>> {
        let is_accepted = move |term: &AuthorityTerm| match term {
            AuthorityTerm::Always => true,
            AuthorityTerm::Until(until) => now < *until,
        };
        self.authorities.iter().filter(move |(_, term)| is_accepted(term)).map(|(verifier, _)| verifier)
    }
}

impl ClientCertVerifier for AgentVerifier {
    fn client_auth_mandatory(&self) -> bool {
        // Who enrols has no certificate yet.
        false
    }

    /// Clients have one certificate and need no hint which one to send.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let unusable = rustls::Error::InvalidCertificate(CertificateError::BadEncoding);
        let peer = PeerCertificate::read(end_entity).ok_or(unusable)?;
        // At a moment when it was valid: whether it is now, the guard decides.
        let begin = Duration::from_millis(u64::try_from(peer.not_before.as_millis()).unwrap_or(0));
        let moment = UnixTime::since_unix_epoch(begin);
        let mut refused = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for verifier in self.accepted(now()) {
            match verifier.verify_client_cert(end_entity, intermediates, moment) {
                Ok(verified) => return Ok(verified),
                Err(error) => refused = error,
            }
        }
        RefusedClaim::note(&peer.agent_id);
        Err(refused)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.newest().verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.newest().verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.newest().supported_verify_schemes()
    }
}
