//! Credentials from a real Vault for a real git server: what works, the messages of failures, and the secrecy of
//! credentials.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{Adopted, CredentialList, RepositoryFields, RepositoryTest, RunInfo, Status};
use windlass_testkit::servers::{GitHttps, VaultServer, WorkTree};

use crate::api::{Api, refused};
use crate::fleet::{nodes, repository_with};
use crate::installation::{Installation, Server};

const PATH: &str = "secret/data/gitops/acme/fleet";
const ROTATED: &str = "planted-rotated-password-3K";

/// A git server with a password, a Vault that has it, and a token for the Vault in a file.
struct VaultSetup {
    git: GitHttps,
    vault: VaultServer,
    work: WorkTree,
    bare: PathBuf,
    directory: TempDir,
    token: String,
}

impl VaultSetup {
    fn start() -> Option<VaultSetup> {
        let (git, vault) = (GitHttps::start()?, VaultServer::start()?);
        let work = repository_with(&nodes("web", "web", 0..1));
        let bare = work.publish(&git.root(), "fleet.git");
        vault.create_read_policy("windlass", "gitops");
        let token = vault.token("windlass");
        let setup = VaultSetup { git, vault, work, bare, directory: tempfile::tempdir().unwrap(), token };
        setup.put(GitHttps::PASSWORD);
        private_file(&setup.token_file(), &setup.token);
        Some(setup)
    }

    fn put(&self, password: &str) {
        self.vault.put("gitops/acme/fleet", &json!({"username": GitHttps::USER, "password": password}));
    }

    fn token_file(&self) -> PathBuf {
        self.directory.path().join("token")
    }

    fn serve(&self, installation: &Installation) -> Server {
        let (url, file) = (self.vault.url(), self.token_file().display().to_string());
        let vault = ["--vault-addr", &url, "--vault-token-file", &file];
        let prefix = ["--vault-prefix", "secret/gitops/{account}", "--log", "debug"];
        installation.serve(&[vault, prefix].concat())
    }

    fn register(&self, api: &Api, name: &str, path: &str) -> String {
        let fields = RepositoryFields {
            name: Some(name.to_owned()),
            repo_url: Some(self.git.url("fleet.git")),
            ca_pem: Some(self.git.ca()),
            vault_credential_path: Some(path.to_owned()),
            enabled: Some(false),
            ..RepositoryFields::default()
        };
        api.register(fields).unwrap().id
    }
}

fn private_file(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// The code of a failed run; checks that the repository's test and page report it.
fn failure(api: &Api, id: &str) -> String {
    let run: RunInfo = api.sync(id).unwrap();
    let error = run.error.unwrap();
    assert_eq!(run.status.slug(), "failed");
    assert!(!error.help.is_empty(), "{error:?}");
    assert!(api.repository(id).unwrap().last_error.unwrap().contains(&error.message));
    let tested: RepositoryTest = api.send(api.call(Operation::RepositoryTest, &[id])).unwrap();
    assert!(!tested.ok);
    error.code
}

fn waits(api: &Api) -> String {
    let status: Status = api.send(api.call(Operation::Status, &[])).unwrap();
    status.waiting_for.join("\n")
}

#[test]
fn a_private_repository_is_synced_with_a_credential_from_vault_and_with_its_successor() {
    let Some(setup) = VaultSetup::start() else { return };
    let installation = Installation::new();
    let server = setup.serve(&installation);
    let api = &server.api;
    let id = setup.register(api, "fleet", PATH);
    let tested: RepositoryTest = api.send(api.call(Operation::RepositoryTest, &[&id])).unwrap();
    assert!(tested.ok, "{tested:?}");
    assert_eq!(api.apply_all(&id).unwrap().status.slug(), "applied");

    setup.git.set_password(ROTATED);
    assert_eq!(failure(api, &id), "auth");
    setup.put(ROTATED);
    setup.work.commit("fleet.yaml", &nodes("web", "web", 0..2));
    setup.work.push(&setup.bare, "main");
    let run = api.apply_all(&id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("applied", 1), "{run:?}");

    api.patch(Noun::Node, "web-000", &json!({"region": "eu-2"})).unwrap();
    let body = json!({"resources": [{"kind": "node", "name": "web-000"}], "branch": "adopted"});
    let adopted: Adopted = api.send(api.call(Operation::DriftAdopt, &[&id]).body(&body)).unwrap();
    assert!(adopted.commit_sha.is_some(), "pushed with the credential");

    let list: CredentialList = api.send(api.call(Operation::CredentialList, &[])).unwrap();
    assert_eq!(list.vault_credentials.len(), 1);
    assert_eq!(list.vault_credentials[0].path, PATH);
    let seen = format!("{run:?}{adopted:?}{list:?}{:?}{:?}", api.events(0), api.audit());
    server.stop();
    let log = installation.log();
    assert!(log.contains("DEBUG"));
    for secret in [GitHttps::PASSWORD, ROTATED, &setup.token] {
        assert!(!log.contains(secret) && !seen.contains(secret), "{secret} is told");
        assert!(!holds(installation.data(), secret), "{secret} is kept");
    }
}

/// Whether a file below a directory contains a text.
fn holds(directory: &Path, word: &str) -> bool {
    fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, word),
            false => fs::read(&path).unwrap().windows(word.len()).any(|window| window == word.as_bytes()),
        }
    })
}

#[test]
fn a_credential_that_vault_denies_fails_the_run_and_nothing_is_tried_without_it() {
    let Some(mut setup) = VaultSetup::start() else { return };
    let installation = Installation::new();
    let server = setup.serve(&installation);
    let api = &server.api;
    let good = setup.register(api, "good", PATH);
    let absent = setup.register(api, "absent", "secret/data/gitops/acme/absent");
    let outside = setup.register(api, "outside", "secret/data/gitops/other/fleet");
    let shape = setup.register(api, "shape", "secret/data/gitops/acme/shape");
    setup.vault.put("gitops/acme/shape", &json!({"ssh_key": "planted-key"}));
    assert_eq!(failure(api, &absent), "credential-missing");
    assert_eq!(failure(api, &outside), "credential-path");
    assert_eq!(failure(api, &shape), "credential-shape");
    assert!(!waits(api).contains("credentials:"), "Vault itself is well");

    setup.vault.revoke(&setup.token);
    assert_eq!(failure(api, &good), "vault-token");
    assert!(waits(api).contains("credentials: Vault does not accept this server's token"), "{}", waits(api));
    assert_eq!(refused(api.send::<CredentialList>(api.call(Operation::CredentialList, &[]))).0, 503);
    assert_eq!(setup.git.requests(), "", "nothing was tried without a credential");
    private_file(&setup.token_file(), &setup.vault.token("windlass"));
    assert_eq!(api.sync(&good).unwrap().status.slug(), "diff_ready");
    assert!(!waits(api).contains("credentials:"), "{}", waits(api));

    let requests = setup.git.requests();
    setup.vault.stop();
    assert_eq!(failure(api, &good), "vault-unreachable");
    assert!(waits(api).contains("cannot reach Vault"), "{}", waits(api));
    assert_eq!(setup.git.requests(), requests, "nothing was tried without a credential");
    server.stop();
}

#[test]
fn a_server_without_vault_says_so_and_two_places_for_credentials_are_refused() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let (status, message) = refused(api.send::<CredentialList>(api.call(Operation::CredentialList, &[])));
    assert_eq!(status, 409);
    assert!(message.contains("does not use Vault for credentials"), "{message}");
    server.stop();
    let addr = ["--vault-addr", "https://vault.example.com"];
    for (options, expected) in [
        (vec!["--credentials-dir", "/x", "--vault-token-file", "/y"], "not both"),
        (vec![], "the login for Vault"),
    ] {
        let output = installation.command("serve").args(addr).args(options).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(expected), "{told}");
    }
    let plain = ["--vault-addr", "http://vault.example.com", "--vault-token-file", "/y"];
    let output = installation.command("serve").args(plain).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("http://"), "{output:?}");
}

#[test]
fn the_doctor_tells_whether_vault_lets_the_server_in() {
    let Some(vault) = VaultServer::start() else { return };
    let installation = Installation::new();
    installation.serve(&[]).stop();
    let doctor = |token: &str| {
        let mut command = installation.command("doctor");
        command.args(["--vault-addr", &vault.url()]).env("VAULT_TOKEN", token);
        let output = command.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (_, told) = doctor(vault.root());
    assert!(told.contains("ok    Vault responds and accepts the login"), "{told}");
    let (is_well, told) = doctor("planted-wrong-token");
    assert!(!is_well && told.contains("FAULT Vault responds") && !told.contains("planted"), "{told}");
}
