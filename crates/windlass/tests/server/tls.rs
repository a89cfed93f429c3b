//! A server with TLS: its certificate, and its headers for browsers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use reqwest::tls::TlsInfo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use windlass_testkit::servers::CertificateAuthority;

use crate::installation::{Installation, Server, TIMEOUT};

/// A certificate and its key in files that can be replaced.
struct Files {
    directory: TempDir,
}

impl Files {
    fn of(pair: &(String, String)) -> Files {
        let files = Files { directory: tempfile::tempdir().unwrap() };
        files.replace(&pair.0, &pair.1);
        files
    }

    fn certificate(&self) -> PathBuf {
        self.directory.path().join("server.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.path().join("server.key")
    }

    /// Replaces each file atomically, one after the other.
    fn replace(&self, certificate: &str, key: &str) {
        let put = |path: &Path, text: &str| {
            let new = path.with_extension("new");
            fs::write(&new, text).unwrap();
            fs::rename(&new, path).unwrap();
        };
        put(&self.certificate(), certificate);
        put(&self.key(), key);
    }

    fn options(&self) -> [String; 4] {
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        ["--tls-cert".to_owned(), text(self.certificate()), "--tls-key".to_owned(), text(self.key())]
    }
}

/// A client that trusts the authority and opens a new connection for each request.
struct TlsClient {
    runtime: Runtime,
    http: reqwest::Client,
    base: String,
}

/// A response as a client sees it.
struct SeenResponse {
    status: u16,
    version: reqwest::Version,
    headers: reqwest::header::HeaderMap,
    certificate: Vec<u8>,
    text: String,
}

impl TlsClient {
    fn of(server: &Server, authority: &CertificateAuthority) -> TlsClient {
        let pem = fs::read(authority.ca_file()).unwrap();
        let http = reqwest::Client::builder()
            .add_root_certificate(reqwest::Certificate::from_pem(&pem).unwrap())
            .tls_info(true)
            .pool_max_idle_per_host(0)
            .timeout(TIMEOUT)
            .build()
            .unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        TlsClient { runtime, http, base: server.address.clone() }
    }

    fn get(&self, path: &str) -> SeenResponse {
        self.send(self.http.get(format!("{}{path}", self.base)))
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> SeenResponse {
        self.send(self.http.post(format!("{}{path}", self.base)).bearer_auth(token).json(body))
    }

    fn send(&self, request: reqwest::RequestBuilder) -> SeenResponse {
        self.runtime.block_on(async {
            let response = request.send().await.unwrap();
            let info = response.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
            SeenResponse {
                status: response.status().as_u16(),
                version: response.version(),
                headers: response.headers().clone(),
                certificate: info.unwrap().to_vec(),
                text: response.text().await.unwrap(),
            }
        })
    }

    fn wait_for(&self, what: &str, mut is_so: impl FnMut(&TlsClient) -> bool) {
        let deadline = Instant::now() + TIMEOUT;
        while !is_so(self) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
        }
    }

    /// A session of the first administrator, with a password of their own.
    fn session(&self, server: &Server) -> String {
        let login = server.first_login.clone().unwrap();
        let enter = |password: &str| {
            let body = json!({"email": login.email, "password": password});
            let seen = self.post("/api/v1/auth/login", "", &body);
            let session: Value = serde_json::from_str(&seen.text).unwrap();
            session["token"].as_str().unwrap_or_else(|| panic!("{session}")).to_owned()
        };
        let own = "a password for tests alone";
        let body = json!({"current_password": login.password, "new_password": own});
        let once = enter(&login.password);
        assert_eq!(self.post("/api/v1/auth/password", &once, &body).status, 204);
        enter(own)
    }
}

fn launch(installation: &Installation, files: &Files) -> Server {
    let options = files.options();
    let server = installation.launch(None, &options.each_ref().map(String::as_str));
    assert!(server.address.starts_with("https://"), "{}", server.address);
    server
}

#[test]
fn the_server_speaks_tls_itself_and_browsers_are_told_to_stay_with_it() {
    let Some(authority) = CertificateAuthority::new() else { return };
    let files = Files::of(&authority.issue());
    let installation = Installation::new();
    let server = launch(&installation, &files);
    let client = TlsClient::of(&server, &authority);
    let seen = client.get("/healthz");
    assert_eq!((seen.status, seen.version), (200, reqwest::Version::HTTP_2));
    assert_eq!(seen.headers["strict-transport-security"], "max-age=31536000");
    let page = client.get("/app/sign-in");
    let cookie = page.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-windlass_visit=") && cookie.contains("; Secure"), "{cookie}");
    assert!(page.headers.contains_key("strict-transport-security"));

    // The command line trusts a private authority that is configured.
    let token = client.session(&server);
    let whoami = |ca_file: Option<PathBuf>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.arg("whoami").env("WINDLASS_SERVER", &server.address).env("WINDLASS_TOKEN", &token);
        command.env_remove("WINDLASS_CA_FILE").env("XDG_CONFIG_HOME", installation.data());
        command.envs(ca_file.map(|file| ("WINDLASS_CA_FILE", file)));
        command.output().unwrap()
    };
    assert_eq!(whoami(None).status.code(), Some(69));
    let trusted = whoami(Some(authority.ca_file()));
    assert_eq!(trusted.status.code(), Some(0), "{trusted:?}");
    server.stop();
}

#[test]
fn a_new_certificate_is_used_without_a_restart_and_a_broken_one_is_ignored() {
    let Some(authority) = CertificateAuthority::new() else { return };
    let first = authority.issue();
    let files = Files::of(&first);
    let installation = Installation::new();
    let server = launch(&installation, &files);
    let client = TlsClient::of(&server, &authority);
    let before = client.get("/healthz").certificate;

    let second = authority.issue();
    files.replace(&second.0, &second.1);
    client.wait_for("the new certificate", |client| client.get("/healthz").certificate != before);
    let current = client.get("/healthz").certificate;

    // A key that belongs to another certificate.
    files.replace(&second.0, &first.1);
    let failed = "windlass_tls_reloads_total{outcome=\"failed\"} 1";
    client.wait_for("the report", |client| client.get("/metrics").text.contains(failed));
    assert_eq!(client.get("/healthz").certificate, current);
    let log = installation.log();
    assert!(log.contains("keeping the old one") && log.contains("server.pem"), "{log}");
    let doctor = installation.command("doctor").args(files.options()).output().unwrap();
    let told = String::from_utf8_lossy(&doctor.stdout);
    assert!(told.contains("FAULT the TLS certificate"), "{told}");

    files.replace(&first.0, &first.1);
    client.wait_for("the first certificate", |client| client.get("/healthz").certificate == before);
    server.stop();
}

#[test]
fn a_pair_that_does_not_fit_is_told_before_anything_is_begun() {
    let Some(authority) = CertificateAuthority::new() else { return };
    let (one, other) = (authority.issue(), authority.issue());
    let files = Files::of(&(one.0, other.1));
    let installation = Installation::new();
    let serve = |options: &[String]| {
        let mut command = installation.command("serve");
        let output = command.args(["--listen", "127.0.0.1:0"]).args(options).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = serve(&files.options());
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("cannot be used together") && told.contains("--tls-cert"), "{told}");
    let (code, told) = serve(&files.options()[..2]);
    assert_eq!(code, Some(64), "{told}");
    let plain = [&files.options()[..], &["--public-url".to_owned(), "http://a.example".to_owned()]].concat();
    let (code, told) = serve(&plain);
    assert_eq!(code, Some(64), "{told}");
    assert!(told.contains("--public-url"), "{told}");
}
