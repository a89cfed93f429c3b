//! A single sign-on provider that a test controls. Otherwise it follows the standard: a code is valid once, and only
//! with the verifier of its challenge.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use windlass_core::digest::Digest;

/// The client id.
pub(crate) const CLIENT: &str = "windlass";

/// Key pairs from the examples of RFC 8032: seed and public half.
const PAIRS: [(&str, &str); 2] = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    ),
];

/// How a token is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Signed {
    /// With a key of the provider, which the token names.
    By(usize),
    /// With one key, but naming another.
    InTheNameOf(usize, usize),
    /// Unsigned.
    Not,
    /// With a shared secret: the public half of a key, which everyone knows.
    WithPublicHalf(usize),
}

/// The behaviour of the provider.
pub(crate) struct Forgery {
    /// Claims that replace those of a valid token; null removes one.
    pub(crate) claims: Value,
    pub(crate) signed: Signed,
    /// The keys it lists.
    pub(crate) listed: Vec<usize>,
    /// Replaces parts of its discovery document.
    pub(crate) document: Value,
    /// Issued codes: their challenge and nonce.
    codes: BTreeMap<String, (String, String)>,
    /// The requests it received, with bodies.
    pub(crate) asked: Vec<String>,
}

pub(crate) struct Forger {
    pub(crate) issuer: String,
    forgery: Arc<Mutex<Forgery>>,
}

impl Forger {
    pub(crate) fn start() -> Forger {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let forgery = Arc::new(Mutex::new(Forgery {
            claims: json!({}),
            signed: Signed::By(0),
            listed: vec![0],
            document: json!({}),
            codes: BTreeMap::new(),
            asked: Vec::new(),
        }));
        let (at, state) = (issuer.clone(), Arc::clone(&forgery));
        // Ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &at, &mut state.lock().unwrap());
            }
        });
        Forger { issuer, forgery }
    }

    pub(crate) fn forgery(&self) -> MutexGuard<'_, Forgery> {
        self.forgery.lock().unwrap()
    }

    /// Signs in the browser that comes with this URL, and issues a code.
    pub(crate) fn code_for(&self, location: &str) -> String {
        let mut forgery = self.forgery();
        let code = format!("planted-code-{}", forgery.codes.len() + forgery.asked.len());
        assert_eq!(word(location, "code_challenge_method"), "S256");
        forgery.codes.insert(code.clone(), (word(location, "code_challenge"), word(location, "nonce")));
        code
    }
}

/// A query parameter of a URL.
pub(crate) fn word(address: &str, name: &str) -> String {
    let pairs = address.split(['?', '&']).skip(1).filter_map(|pair| pair.split_once('='));
    pairs.filter(|(found, _)| *found == name).map(|(_, value)| value.to_owned()).next().unwrap_or_default()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A private key in PKCS#8.
fn private_half(pair: usize) -> EncodingKey {
    let wrapped = format!("302e020100300506032b657004220420{}", PAIRS[pair].0);
    EncodingKey::from_ed_der(&bytes(&wrapped))
}

fn public_half(pair: usize) -> Value {
    let x = URL_SAFE_NO_PAD.encode(bytes(PAIRS[pair].1));
    json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": format!("key-{pair}"), "x": x})
}

fn merge(into: &mut Value, from: &Value) {
    for (name, value) in from.as_object().unwrap() {
        match value {
            Value::Null => {
                into.as_object_mut().unwrap().remove(name);
            }
            value => into[name] = value.clone(),
        }
    }
}

fn answer(stream: &mut TcpStream, issuer: &str, forgery: &mut Forgery) {
    let Some((path, body)) = read(stream) else { return };
    forgery.asked.push(format!("{path} {body}"));
    let (status, json) = match path.as_str() {
        "/.well-known/openid-configuration" => {
            let mut document = json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "jwks_uri": format!("{issuer}/jwks"),
            });
            merge(&mut document, &forgery.document);
            (200, document)
        }
        "/jwks" => {
            let keys: Vec<Value> = forgery.listed.iter().map(|pair| public_half(*pair)).collect();
            (200, json!({"keys": keys}))
        }
        "/token" => exchange(issuer, forgery, &body),
        _ => (404, json!({})),
    };
    let text = json.to_string();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nconnection: close\r\n");
    let _ = stream.write_all(format!("{head}content-length: {}\r\n\r\n{text}", text.len()).as_bytes());
}

fn exchange(issuer: &str, forgery: &mut Forgery, body: &str) -> (u16, Value) {
    let field = |name: &str| word(&format!("?{body}"), name);
    let refused = (400, json!({"error": "invalid_grant", "error_description": "<script>alert(1)</script>"}));
    let Some((challenge, nonce)) = forgery.codes.remove(&field("code")) else { return refused };
    let verifier = field("code_verifier");
    if URL_SAFE_NO_PAD.encode(Digest::of(verifier.as_bytes()).as_bytes()) != challenge {
        return refused;
    }
    let mut claims = json!({
        "iss": issuer, "aud": CLIENT, "sub": "subject-1", "nonce": nonce, "iat": 1, "exp": 4_000_000_000_u64,
        "email": "ada@example.com", "email_verified": true, "name": "Ada", "groups": ["ops"],
    });
    merge(&mut claims, &forgery.claims);
    (
        200,
        json!({"token_type": "Bearer", "access_token": "planted-access-token", "id_token": sign(forgery.signed, &claims)}),
    )
}

fn sign(signed: Signed, claims: &Value) -> String {
    let header = |algorithm, name: usize| {
        let mut header = Header::new(algorithm);
        header.kid = Some(format!("key-{name}"));
        header
    };
    let (header, key) = match signed {
        Signed::By(pair) => (header(Algorithm::EdDSA, pair), private_half(pair)),
        Signed::InTheNameOf(pair, name) => (header(Algorithm::EdDSA, name), private_half(pair)),
        Signed::WithPublicHalf(pair) => {
            (header(Algorithm::HS256, pair), EncodingKey::from_secret(&bytes(PAIRS[pair].1)))
        }
        Signed::Not => {
            let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            return format!("{}.{}.", part(&json!({"alg": "none", "typ": "JWT"})), part(claims));
        }
    };
    jsonwebtoken::encode(&header, claims, &key).unwrap()
}

/// The path and the body of a request.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, String::from_utf8_lossy(&body).into_owned()))
}
