//! TLS with a private CA, and an nginx that terminates TLS for a plain HTTP server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::{ChildProcess, are_installed, find, free_port, run};

/// A running nginx that forwards requests over TLS to another server.
pub struct TlsFront {
    directory: TempDir,
    port: u16,
    _server: ChildProcess,
}

impl TlsFront {
    /// Starts nginx in front of a server, `http://127.0.0.1:…`. `None`, with a message, if a program for it is missing.
    pub fn start(upstream: &str) -> Option<TlsFront> {
        if !are_installed(&["nginx", "openssl"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let at = directory.path();
        make_certificates(at);
        let port = free_port();
        fs::write(at.join("nginx.conf"), configuration(at, port, upstream)).expect("a file");
        let server = ChildProcess::start(
            Command::new(find("nginx")?).arg("-p").arg(at).arg("-c").arg(at.join("nginx.conf")),
        );
        server.wait_for_port(port);
        Some(TlsFront { directory, port, _server: server })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The file with the CA's certificate, in PEM.
    pub fn ca_file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }
}

/// A private CA that issues certificates for this machine.
pub struct CertificateAuthority {
    directory: TempDir,
}

impl CertificateAuthority {
    /// Creates a CA. `None`, with a message, if openssl is missing.
    pub fn new() -> Option<CertificateAuthority> {
        if !are_installed(&["openssl"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        make_certificates(directory.path());
        Some(CertificateAuthority { directory })
    }

    /// The file with the CA's certificate, in PEM.
    pub fn ca_file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Issues a certificate and returns it with its key, both in PEM.
    pub fn issue(&self) -> (String, String) {
        make_server_certificate(self.directory.path());
        let read =
            |name: &str| fs::read_to_string(self.directory.path().join(name)).expect("openssl wrote it");
        (read("server.pem"), read("server.key"))
    }
}

/// Creates a CA (`ca.pem`), and a certificate that it issues for this machine.
pub(super) fn make_certificates(at: &Path) {
    let openssl = |arguments: &str| {
        run(Command::new("openssl").current_dir(at).args(arguments.split(' ')));
    };
    openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test-ca \
         -keyout ca.key -out ca.pem",
    );
    make_server_certificate(at);
}

fn make_server_certificate(at: &Path) {
    let openssl = |arguments: &str| {
        run(Command::new("openssl").current_dir(at).args(arguments.split(' ')));
    };
    openssl(
        "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key \
         -out server.csr",
    );
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
    fs::write(at.join("names"), names).expect("a file");
    openssl(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
}

/// The user of nginx's workers: without root's privileges they could not read the directory.
pub(super) fn nginx_user() -> &'static str {
    if run(Command::new("id").arg("-u")).trim() == "0" { "user root;" } else { "" }
}

fn configuration(at: &Path, port: u16, upstream: &str) -> String {
    let user = nginx_user();
    let at = at.display();
    format!(
        "{user}\ndaemon off;\nmaster_process off;\npid {at}/nginx.pid;\nerror_log {at}/error.log;\n\
         events {{ worker_connections 64; }}\n\
         http {{\n\
         access_log off;\n\
         client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;\n\
         uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
         server {{\n\
         listen 127.0.0.1:{port} ssl;\n\
         ssl_certificate {at}/server.pem; ssl_certificate_key {at}/server.key;\n\
         location / {{ proxy_pass {upstream}; }}\n\
         }}\n}}\n"
    )
}
