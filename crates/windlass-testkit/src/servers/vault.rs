//! OpenBao, which has Vault's API: ready to use, or uninitialised.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ChildProcess, are_installed, find, free_port};

/// The root token of a ready server.
const ROOT: &str = "planted-root-token-5V";

/// A running OpenBao.
pub struct VaultServer {
    directory: TempDir,
    port: u16,
    root: String,
    key: String,
    server: Option<ChildProcess>,
}

impl VaultServer {
    /// Starts a ready server, with KV version 2 at `secret/`. `None`, with a message, if the program is missing.
    pub fn start() -> Option<VaultServer> {
        let mut vault = VaultServer::prepare()?;
        let listen = format!("-dev-listen-address=127.0.0.1:{}", vault.port);
        let root = format!("-dev-root-token-id={ROOT}");
        vault.run(&["server", "-dev", "-dev-no-store-token", &listen, &root]);
        ROOT.clone_into(&mut vault.root);
        vault.wait_until("secret/config", 200);
        Some(vault)
    }

    /// Starts an uninitialised server. Its data lasts as long as it runs, sealed or not.
    pub fn start_empty() -> Option<VaultServer> {
        let mut vault = VaultServer::prepare()?;
        let config = json!({
            "storage": {"inmem": {}},
            "listener": {"tcp": {"address": format!("127.0.0.1:{}", vault.port), "tls_disable": true}},
            "api_addr": vault.url(),
        });
        let file = format!("{}/config.json", vault.directory.path().display());
        fs::write(&file, config.to_string()).expect("a file");
        vault.run(&["server", &format!("-config={file}")]);
        vault.wait_until("sys/health", 501);
        Some(vault)
    }

    fn prepare() -> Option<VaultServer> {
        if !are_installed(&["bao"]) {
            return None;
        }
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (root, key) = (String::new(), String::new());
        Some(VaultServer { directory, port: free_port(), root, key, server: None })
    }

    fn run(&mut self, arguments: &[&str]) {
        let program = find("bao").expect("it was found before");
        let mut command = Command::new(program);
        command.args(arguments).env("HOME", self.directory.path());
        self.server = Some(ChildProcess::start(&mut command));
    }

    fn wait_until(&mut self, path: &str, status: u16) {
        let (port, root) = (self.port, self.root.clone());
        let server = self.server.as_mut().expect("it was started");
        server.wait_for(|| {
            exchange(port, &root, "GET", path, &Value::Null).is_some_and(|(got, _)| got == status)
        });
    }

    /// Initialises a server that was started empty, and leaves it unsealed with KV version 2 at `secret/`.
    pub fn set_up(&mut self) {
        let made =
            self.request_as_root("PUT", "sys/init", &json!({"secret_shares": 1, "secret_threshold": 1}));
        made["root_token"].as_str().expect("a token").clone_into(&mut self.root);
        made["keys"][0].as_str().expect("a key").clone_into(&mut self.key);
        self.unseal();
        self.request_as_root(
            "POST",
            "sys/mounts/secret",
            &json!({"type": "kv", "options": {"version": "2"}}),
        );
        self.wait_until("secret/config", 200);
    }

    /// Unseals an initialised server.
    pub fn unseal(&mut self) {
        self.request_as_root("PUT", "sys/unseal", &json!({"key": self.key}));
        self.wait_until("sys/health", 200);
    }

    /// Seals it.
    pub fn seal(&self) {
        self.request_as_root("PUT", "sys/seal", &Value::Null);
    }

    /// Kills it, as if its machine had failed.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The root token.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Sends a request as root. Panics unless it succeeds.
    pub fn request_as_root(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = exchange(self.port, &self.root, method, path, body)
            .unwrap_or_else(|| panic!("no answer: {path}"));
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Writes a new version of a secret below `secret/`.
    pub fn put(&self, path: &str, fields: &Value) {
        self.request_as_root("POST", &format!("secret/data/{path}"), &json!({"data": fields}));
    }

    /// Creates a policy with read and list permission below a path of `secret/`.
    pub fn create_read_policy(&self, policy: &str, path: &str) {
        let rules = format!(
            "path \"secret/data/{path}/*\" {{ capabilities = [\"read\"] }}\n\
             path \"secret/metadata/{path}/*\" {{ capabilities = [\"list\"] }}\n"
        );
        self.request_as_root("PUT", &format!("sys/policies/acl/{policy}"), &json!({"policy": rules}));
    }

    /// Creates a token with a policy that expires after an hour unless it is renewed.
    pub fn token(&self, policy: &str) -> String {
        let made =
            self.request_as_root("POST", "auth/token/create", &json!({"policies": [policy], "ttl": "1h"}));
        made["auth"]["client_token"].as_str().expect("a token").to_owned()
    }

    /// Revokes a token.
    pub fn revoke(&self, token: &str) {
        self.request_as_root("POST", "auth/token/revoke", &json!({"token": token}));
    }

    /// Creates an AppRole with a policy, and returns its role id and a secret id.
    pub fn app_role(&self, name: &str, policy: &str) -> (String, String) {
        let methods = self.request_as_root("GET", "sys/auth", &Value::Null);
        if methods["data"].get("approle/").is_none() {
            self.request_as_root("POST", "sys/auth/approle", &json!({"type": "approle"}));
        }
        let role = format!("auth/approle/role/{name}");
        self.request_as_root("POST", &role, &json!({"token_policies": [policy], "token_ttl": "1h"}));
        let id = self.request_as_root("GET", &format!("{role}/role-id"), &Value::Null);
        let secret = self.request_as_root("POST", &format!("{role}/secret-id"), &json!({}));
        let text = |value: &Value| value.as_str().expect("an id").to_owned();
        (text(&id["data"]["role_id"]), text(&secret["data"]["secret_id"]))
    }

    /// Every token but the root token, with state and lifetime.
    pub fn tokens(&self) -> Vec<Value> {
        let list = self.request_as_root("GET", "auth/token/accessors?list=true", &Value::Null);
        let accessors = list["data"]["keys"].as_array().expect("a list").iter();
        let looked = accessors.map(|accessor| {
            self.request_as_root("POST", "auth/token/lookup-accessor", &json!({"accessor": accessor}))["data"].clone()
        });
        looked.filter(|token| token["policies"] != json!(["root"])).collect()
    }

    /// Sets the remaining lifetime of a token.
    pub fn set_token_ttl(&self, accessor: &Value, life: &str) {
        self.request_as_root(
            "POST",
            "auth/token/renew-accessor",
            &json!({"accessor": accessor, "increment": life}),
        );
    }
}

/// Sends one request on a connection of its own. `None` if the server does not answer.
fn exchange(port: u16, token: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    // With HTTP 1.0 the response is not chunked and ends with the connection.
    let request = format!(
        "{method} /v1/{path} HTTP/1.0\r\nHost: 127.0.0.1\r\nX-Vault-Token: {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}
