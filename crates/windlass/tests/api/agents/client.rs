//! A small agent: a key, a certificate, and what it trusts.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{
    CertificateParams, DistinguishedName, ExtendedKeyUsagePurpose, Issuer, KeyPair, PKCS_ED25519, SanType,
};
use serde_json::{Value, json};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};
use windlass_api::agent::{ENROLL, EnrolmentKey, RENEW, SERVER_NAME, STREAM};
use windlass_core::digest::Digest;
use windlass_core::resource::{Kind, ResourceKey, Spec};

use crate::harness::{Installation, Person, Reply, now};

/// A response that takes longer is a failure.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Adds an accepted node.
pub(super) async fn add_node(installation: &Installation, name: &str, labels: Value) {
    let spec = json!({"template": "edge-base", "labels": labels}).to_string();
    let spec = Spec::read(Kind::Node, &spec).spec.unwrap();
    let mut writing = installation.store.write_account(&installation.account).await.unwrap();
    let key = ResourceKey::new(Kind::Node, name);
    writing.resource_put(&key, &spec, None, "ada", now()).await.unwrap();
    writing.commit().await.unwrap();
}

/// Reads an enrolment key.
pub(super) fn read_key(text: &str) -> EnrolmentKey {
    let json = URL_SAFE_NO_PAD.decode(text.strip_prefix("windlass1.").unwrap()).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// The key that `windlass node enroll` prints.
pub(super) async fn enrolment_key(installation: &Installation, who: &Person, node: &str) -> EnrolmentKey {
    let path = format!("/api/v1/system/nodes/{node}/enrollment");
    let created = installation.ask(&who.token, "POST", &path).await.expect(201);
    assert_eq!(created["command"], format!("windlass-agent enroll {}", created["key"].as_str().unwrap()));
    read_key(created["key"].as_str().unwrap())
}

/// A client certificate and its private key, as PEM.
#[derive(Clone, Debug)]
pub(super) struct Credential {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// An agent.
#[derive(Clone, Debug)]
pub(super) struct TestAgent {
    pub(super) address: SocketAddr,
    pub(super) credential: Option<Credential>,
    pub(super) authorities: Vec<String>,
    pub(super) identity: Value,
}

/// A certificate request of a new key, with what it claims, and the key.
pub(super) fn request(claim: impl FnOnce(&mut CertificateParams)) -> (String, KeyPair) {
    let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let mut params = CertificateParams::default();
    claim(&mut params);
    (params.serialize_request(&key).unwrap().pem().unwrap(), key)
}

impl TestAgent {
    /// An agent that trusts the pinned authority, and has no certificate.
    pub(super) async fn new(address: SocketAddr, pin: &str) -> TestAgent {
        let authority = pinned_authority(address, pin).await;
        TestAgent { address, credential: None, authorities: vec![authority], identity: Value::Null }
    }

    /// A node that enrolled.
    pub(super) async fn enrolled(installation: &Installation, who: &Person, node: &str) -> TestAgent {
        let key = enrolment_key(installation, who, node).await;
        let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
        agent.enrol(key.token.expose(), node).await.expect(201);
        agent
    }

    pub(super) fn http(&self) -> reqwest::Client {
        let roots = self.authorities.iter();
        let roots = roots.map(|pem| reqwest::Certificate::from_pem(pem.as_bytes()).unwrap());
        let mut builder = reqwest::Client::builder()
            .resolve(SERVER_NAME, self.address)
            .tls_certs_only(roots)
            .http2_prior_knowledge()
            .no_proxy()
            .timeout(TIMEOUT);
        if let Some(credential) = &self.credential {
            let pem = format!("{}{}", credential.certificate, credential.key);
            builder = builder.identity(reqwest::Identity::from_pem(pem.as_bytes()).unwrap());
        }
        builder.build().unwrap()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("https://{SERVER_NAME}:{}{path}", self.address.port())
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        self.try_send(method, path, body).await.unwrap()
    }

    pub(super) async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Reply> {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http().request(method, self.url(path));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let is_stream = path == STREAM && status == 200;
        let text = if is_stream { String::new() } else { response.text().await? };
        Ok(Reply { status, headers, text })
    }

    /// Enrols with a token, with a new key.
    pub(super) async fn enrol(&mut self, token: &str, hostname: &str) -> Reply {
        let (request, key) = request(|_| {});
        self.enrol_with(token, hostname, &request, &key).await
    }

    pub(super) async fn enrol_with(
        &mut self,
        token: &str,
        hostname: &str,
        request: &str,
        key: &KeyPair,
    ) -> Reply {
        let body = json!({"token": token, "certificate_request": request, "agent_version": "0.1.0",
            "hostname": hostname});
        let reply = self.send("POST", ENROLL, Some(&body)).await;
        if reply.status == 201 {
            let answer = reply.json();
            self.identity = answer["identity"].clone();
            self.take(&answer, key);
        }
        reply
    }

    /// Renews, with a certificate request that makes some claim.
    pub(super) async fn renew(&mut self, claim: impl FnOnce(&mut CertificateParams)) -> Reply {
        let (request, key) = request(claim);
        let body = json!({"certificate_request": request, "agent_version": "0.1.1"});
        let reply = self.send("POST", RENEW, Some(&body)).await;
        if reply.status == 200 {
            self.take(&reply.json(), &key);
        }
        reply
    }

    fn take(&mut self, answer: &Value, key: &KeyPair) {
        let certificate = answer["certificate"]["pem"].as_str().unwrap().to_owned();
        self.credential = Some(Credential { certificate, key: key.serialize_pem() });
        let authorities = answer["trust"]["authorities"].as_array().unwrap().iter();
        self.authorities = authorities.map(|pem| pem.as_str().unwrap().to_owned()).collect();
    }

    /// Whether the server lets the agent do what valid agents may.
    pub(super) async fn works(&self) -> bool {
        matches!(self.try_send("GET", STREAM, None).await, Ok(reply) if reply.status == 200)
    }

    pub(super) fn agent_id(&self) -> String {
        self.identity["agent_id"].as_str().unwrap().to_owned()
    }

    /// Opens the stream.
    pub(super) async fn stream(&self) -> Lines {
        let response = self.http().get(self.url(STREAM)).send().await.unwrap();
        assert_eq!(response.status(), 200);
        Lines { response, text: String::new() }
    }
}

/// The lines of a stream.
pub(super) struct Lines {
    response: reqwest::Response,
    text: String,
}

impl Lines {
    /// The next message; none when the stream ended.
    pub(super) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let message = serde_json::from_str(line).unwrap();
                self.text = rest.to_owned();
                return Some(message);
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await.unwrap();
            self.text.push_str(std::str::from_utf8(&chunk.ok()??).unwrap());
        }
    }

    /// The next message that is no ping.
    pub(super) async fn next_news(&mut self) -> Option<Value> {
        loop {
            match self.next().await {
                Some(message) if message["message"] == "ping" => {}
                other => return other,
            }
        }
    }
}

/// The authority in the server's chain that has the pinned key, as PEM. This is how an agent begins to trust a server.
async fn pinned_authority(address: SocketAddr, pin: &str) -> String {
    let chain = chain_of(address).await;
    let has_key = |der: &&CertificateDer<'static>| spki_digest(der) == pin;
    let authority = chain.iter().find(has_key).expect("an authority with the pinned key");
    pem_of("CERTIFICATE", authority)
}

pub(super) fn pem_of(label: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// The SHA-256 digest of an Ed25519 certificate's SubjectPublicKeyInfo, in hex.
fn spki_digest(der: &[u8]) -> String {
    // SEQUENCE { SEQUENCE { OID 1.3.101.112 } BIT STRING }, and 32 bytes of key; the algorithm of the signature is not followed
    // by a key.
    let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let at = der.windows(head.len()).position(|window| window == head).unwrap();
    let digest = Digest::of(&der[at..at + 44]);
    digest.to_string().trim_start_matches("sha256:").to_owned()
}

/// The certificates that the server shows.
pub(super) async fn chain_of(address: SocketAddr) -> Vec<CertificateDer<'static>> {
    let seen = Arc::new(SeenChain::default());
    let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(&seen) as Arc<dyn ServerCertVerifier>;
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    seen.0.lock().unwrap().clone()
}

/// Notes the chain and trusts it: the pin is compared afterwards.
#[derive(Debug, Default)]
struct SeenChain(Mutex<Vec<CertificateDer<'static>>>);

impl ServerCertVerifier for SeenChain {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let all = std::iter::once(end_entity).chain(intermediates);
        *self.0.lock().unwrap() = all.map(|der| der.clone().into_owned()).collect();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Who issues a certificate of a test.
pub(super) enum TestIssuer<'i> {
    /// The installation's authority, derived from its secret key as the server derives it.
    Installation(&'i Installation),
    /// An authority of its own.
    Stranger,
}

/// When a certificate of a test is valid, in hours from now.
pub(super) struct Hours {
    pub(super) from: i64,
    pub(super) to: i64,
}

/// A certificate for an agent.
pub(super) fn certificate(issuer: &TestIssuer<'_>, agent_id: &str, hours: Hours) -> Credential {
    let seed = match issuer {
        TestIssuer::Installation(installation) => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, installation.key());
            hmac::sign(&key, b"windlass agent authority 1").as_ref().to_vec()
        }
        TestIssuer::Stranger => vec![7; 32],
    };
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let der = [head.as_slice(), &seed].concat();
    let pair = KeyPair::from_pkcs8_der_and_sign_algo(&der.as_slice().into(), &PKCS_ED25519).unwrap();
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    let pin = spki_digest(CertificateParams::default().self_signed(&pair).unwrap().der());
    let name = format!("Windlass agent authority {}", &pin[..16]);
    authority.distinguished_name.push(rcgen::DnType::CommonName, name);
    let issuer = Issuer::new(authority, pair);
    let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let mut params = CertificateParams::default();
    let hour = |hours: i64| {
        let seconds = now().as_millis() / 1000 + hours * 3600;
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(seconds).unwrap())
    };
    (params.not_before, params.not_after) = (hour(hours.from), hour(hours.to));
    let uri = format!("windlass://agent/{agent_id}");
    params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    Credential { certificate, key: key.serialize_pem() }
}

/// The events of a kind, newest first.
pub(super) async fn events(installation: &Installation, who: &Person, kind: &str) -> Vec<Value> {
    let list = installation.get(who, &format!("/api/v1/system/fleet_events?kind={kind}")).await;
    list["fleet_events"].as_array().unwrap_or_else(|| panic!("{list}")).clone()
}
