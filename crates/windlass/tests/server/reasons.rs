//! Why a repository cannot be read: with real git servers over ssh and https and a real Vault, each failure has its own
//! reason, in the API, the web app and the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use windlass_api::types::{RepositoryFields, RunErrorInfo, RunInfo};
use windlass_testkit::servers::{GitHttps, GitSsh, VaultServer};

use crate::fleet::{nodes, repository_with};
use crate::installation::{Installation, Server};

/// Git servers, and a Vault with their credentials.
struct GitAndVaultSetup {
    ssh: GitSsh,
    https: GitHttps,
    vault: VaultServer,
    token: String,
    directory: TempDir,
}

impl GitAndVaultSetup {
    fn start() -> Option<GitAndVaultSetup> {
        let (ssh, https, stranger) = (GitSsh::start()?, GitHttps::start()?, GitSsh::start()?);
        let mut vault = VaultServer::start_empty()?;
        vault.set_up();
        let work = repository_with(&nodes("web", "web", 0..1));
        work.publish(&ssh.root(), "fleet.git");
        work.publish(&https.root(), "fleet.git");
        vault.put("gitops/key", &json!({"ssh_key": ssh.key()}));
        vault.put("gitops/other-key", &json!({"ssh_key": stranger.key()}));
        vault.put("gitops/password", &json!({"username": GitHttps::USER, "password": GitHttps::PASSWORD}));
        vault.put("gitops/other-password", &json!({"username": GitHttps::USER, "password": "planted-9Z"}));
        vault.create_read_policy("windlass", "gitops");
        let (token, directory) = (vault.token("windlass"), tempfile::tempdir().unwrap());
        let file = directory.path().join("token");
        fs::write(&file, &token).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        Some(GitAndVaultSetup { ssh, https, vault, token, directory })
    }

    fn serve(&self, installation: &Installation) -> Server {
        let (url, file) = (self.vault.url(), self.directory.path().join("token").display().to_string());
        installation.serve(&["--vault-addr", &url, "--vault-token-file", &file])
    }

    fn register(&self, server: &Server, name: &str, url: String, credential: &str) -> String {
        let fields = RepositoryFields {
            name: Some(name.to_owned()),
            ca_pem: url.starts_with("https").then(|| self.https.ca()),
            repo_url: Some(url),
            vault_credential_path: Some(format!("secret/data/gitops/{credential}")),
            enabled: Some(false),
            ..RepositoryFields::default()
        };
        server.api.register(fields).unwrap().id
    }
}

/// Reads failures through every interface.
struct FailureObserver<'s> {
    installation: &'s Installation,
    server: &'s Server,
    told: Vec<String>,
}

impl FailureObserver<'_> {
    /// Checks a sync that fails with this code: every interface reports it, and it differs from all others.
    fn check_failure(&mut self, repository: &str, code: &str) {
        let run = self.server.api.sync(repository).unwrap();
        let error = run.error.clone().unwrap_or_else(|| panic!("{code} did not fail: {run:?}"));
        assert_eq!((run.status.slug(), error.code.as_str()), ("failed", code), "{error:?}");
        assert!(!error.help.is_empty(), "{error:?}");
        assert!(!self.told.contains(&error.message), "{error:?} was told before, for something else");
        self.on_the_page(&run, &error);
        self.on_the_command_line(&run, &error);
        self.told.push(error.message);
    }

    fn on_the_page(&self, run: &RunInfo, error: &RunErrorInfo) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let cookie = format!("windlass_session={}", self.installation.token().unwrap());
        let request = reqwest::Client::new()
            .get(format!("{}/app/runs/{}", self.server.address, run.id))
            .header("cookie", cookie);
        let page = runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() });
        let page = [("&#39;", "'"), ("&#96;", "`"), ("&quot;", "\"")]
            .iter()
            .fold(page, |page, (escaped, plain)| page.replace(escaped, plain));
        assert!(page.contains(&error.message) && page.contains(&error.help), "{error:?}: {page}");
    }

    fn on_the_command_line(&self, run: &RunInfo, error: &RunErrorInfo) {
        let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["run", "show", &run.id])
            .env("WINDLASS_SERVER", &self.server.address)
            .env("WINDLASS_TOKEN", self.installation.token().unwrap())
            .env("COLUMNS", "4000")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains(&error.message) && told.contains(&error.help), "{error:?}: {told}");
    }
}

#[test]
fn each_reason_why_a_repository_cannot_be_read_is_told_on_the_run_the_page_and_the_command_line() {
    let Some(mut setup) = GitAndVaultSetup::start() else { return };
    let installation = Installation::new();
    let server = setup.serve(&installation);
    let ssh = setup.ssh.url("fleet.git");
    let good = setup.register(&server, "good-key", ssh.clone(), "key");
    let password = setup.register(&server, "good-password", setup.https.url("fleet.git"), "password");
    assert_eq!(server.api.sync(&good).unwrap().status.slug(), "diff_ready");
    assert_eq!(server.api.sync(&password).unwrap().error, None, "both are let in");

    let wrong_key = setup.register(&server, "wrong-key", ssh.clone(), "other-key");
    let wrong_password =
        setup.register(&server, "wrong-password", setup.https.url("fleet.git"), "other-password");
    let absent = setup.register(&server, "absent", ssh, "absent");
    let mut onlooker = FailureObserver { installation: &installation, server: &server, told: Vec::new() };
    onlooker.check_failure(&wrong_key, "auth");
    onlooker.check_failure(&wrong_password, "auth");
    onlooker.check_failure(&absent, "credential-missing");
    setup.ssh.replace_host_key();
    onlooker.check_failure(&good, "host-key-mismatch");
    setup.vault.revoke(&setup.token);
    onlooker.check_failure(&password, "vault-token");
    setup.vault.seal();
    onlooker.check_failure(&password, "vault-sealed");
    setup.vault.stop();
    onlooker.check_failure(&password, "vault-unreachable");
    assert!(!installation.log().contains("planted"), "no secret is told");
    server.stop();
}
