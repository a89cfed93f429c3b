//! Whom the agent trusts.
//!
//! Trust depends on keys alone: on the authority that was pinned at enrolment, or on those of the last trust bundle. It
//! depends neither on the host's clock, which may be wrong until the agent has set it right, nor on the server's name, since
//! the authority signs for nobody else (docs/adr/2026-11-18-agent-trust-without-a-clock.md).

use std::sync::Arc;
use std::time::Duration;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use windlass_api::agent::SecretText;
use windlass_core::digest::Digest;

use super::der::certificate_parts;

/// The longest chain that the agent looks at.
const MAX_CHAIN: usize = 8;

/// Which servers the agent trusts.
#[derive(Clone, Debug)]
pub(crate) enum TrustedServer {
    /// Those of the authority whose public key has this SHA-256 digest, in hex. The server sends the authority's certificate.
    Pinned(String),
    /// Those of one of these authorities, as PEM.
    Authorities(Vec<String>),
}

/// The certificate of an agent, and its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientCertificate<'a> {
    /// The certificate chain as PEM.
    pub(crate) chain: &'a str,
    /// The private key as PEM.
    pub(crate) key: &'a SecretText,
}

/// A key or a certificate that the agent cannot make or use.
#[derive(Debug, thiserror::Error)]
#[error("cannot make or use the agent's key: {problem}")]
pub struct KeyError {
    problem: String,
}

impl KeyError {
    pub(crate) fn new(problem: impl ToString) -> KeyError {
        KeyError { problem: problem.to_string() }
    }
}

/// The settings of a connection: TLS 1.3, HTTP/2, the trusted servers, and the agent's certificate if it has one.
pub(crate) fn client_config(
    trusted: TrustedServer,
    certificate: Option<ClientCertificate<'_>>,
) -> Result<Arc<ClientConfig>, KeyError> {
    let failed = |error: Error| KeyError::new(error);
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Arc::new(Verifier { trusted, provider: provider.clone() });
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match certificate {
        None => builder.with_no_client_auth(),
        Some(certificate) => {
            let unreadable = |_| KeyError::new("the certificate or the key is not PEM");
            let chain: Vec<CertificateDer<'static>> =
                CertificateDer::pem_slice_iter(certificate.chain.as_bytes())
                    .collect::<Result<_, _>>()
                    .map_err(unreadable)?;
            let key =
                PrivateKeyDer::from_pem_slice(certificate.key.expose().as_bytes()).map_err(unreadable)?;
            builder.with_client_auth_cert(chain, key).map_err(failed)?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    // The agent connects seldom; a resumed session would carry the old certificate past a renewal.
    config.resumption = tokio_rustls::rustls::client::Resumption::disabled();
    Ok(Arc::new(config))
}

#[derive(Debug)]
struct Verifier {
    trusted: TrustedServer,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn anchors(&self, presented: &[&CertificateDer<'_>]) -> Result<RootCertStore, Error> {
        let mut anchors = RootCertStore::empty();
        match &self.trusted {
            TrustedServer::Pinned(pin) => {
                let pin = format!("sha256:{}", pin.to_ascii_lowercase());
                let is_pinned = |certificate: &&&CertificateDer<'_>| {
                    let parts = certificate_parts(certificate);
                    parts.is_some_and(|parts| Digest::of(parts.public_key).to_string() == pin)
                };
                if let Some(authority) = presented.iter().find(is_pinned) {
                    anchors.add((*authority).clone().into_owned())?;
                }
            }
            TrustedServer::Authorities(authorities) => {
                for authority in authorities {
                    let certificate = CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|_| {
                        Error::General("an authority of the trust bundle is not PEM".to_owned())
                    })?;
                    anchors.add(certificate)?;
                }
            }
        }
        match anchors.is_empty() {
            true => Err(CertificateError::UnknownIssuer.into()),
            false => Ok(anchors),
        }
    }
}

/// A time at which all of these certificates are valid, if there is one: the latest start of their validity.
fn time_of(certificates: &[&CertificateDer<'_>]) -> UnixTime {
    let starts = certificates.iter().filter_map(|certificate| certificate_parts(certificate));
    UnixTime::since_unix_epoch(starts.map(|parts| parts.valid_from).max().unwrap_or(Duration::ZERO))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if intermediates.len() >= MAX_CHAIN {
            return Err(CertificateError::BadEncoding.into());
        }
        let presented: Vec<&CertificateDer<'_>> = std::iter::once(end_entity).chain(intermediates).collect();
        let anchors = self.anchors(&presented)?;
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(end_entity)?,
            &anchors,
            intermediates,
            time_of(&presented),
            self.provider.signature_verification_algorithms.all,
        )?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("the agent speaks TLS 1.3 only".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
