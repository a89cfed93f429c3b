//! A single sign-on provider: the authorization code flow of OpenID Connect, with users that tests define.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;

use super::{ChildProcess, are_installed, find, free_port};

/// A running provider.
pub struct OidcServer {
    port: u16,
    _server: ChildProcess,
}

impl OidcServer {
    /// Starts a provider. `None`, with a message, if the program is missing.
    pub fn start() -> Option<OidcServer> {
        if !are_installed(&["oidc-provider-mock"]) {
            return None;
        }
        let port = free_port();
        let mut command = Command::new(find("oidc-provider-mock").expect("it was found before"));
        command.args(["--host", "127.0.0.1", "--port", &port.to_string(), "--require-nonce", "true"]);
        let server = ChildProcess::start(&mut command);
        server.wait_for_port(port);
        Some(OidcServer { port, _server: server })
    }

    /// Its issuer.
    pub fn issuer(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Adds or replaces a user with these claims.
    pub fn put(&self, subject: &str, claims: &Value) {
        let body = claims.to_string();
        let request = format!(
            "PUT /users/{subject} HTTP/1.0\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it answers");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.split(' ').nth(1) == Some("204"), "{answer}");
    }
}
