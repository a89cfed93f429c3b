//! The secret key: stored outside the database, private, rotated, and the same for every server of a database.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use aws_lc_rs::hmac;
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{Me, RepositoryFields, WebhookShown};
use windlass_core::id::AccountId;
use windlass_store::{Address, Store};
use windlass_testkit::servers::Postgres;

use crate::api::Api;
use crate::fleet::{fields, nodes, repository_with};
use crate::installation::{Installation, Server, sign_in};

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Starts a server that must fail, and returns its message.
fn refused(installation: &Installation, environment: &[(&str, &str)]) -> String {
    let mut command = installation.command("serve");
    command.args(["--listen", "127.0.0.1:0"]).envs(environment.iter().copied());
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{}", printed(&output));
    printed(&output)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn key_file(installation: &Installation) -> PathBuf {
    installation.data().join("secret.key")
}

fn current_key(installation: &Installation) -> String {
    fs::read_to_string(key_file(installation)).unwrap().lines().next().unwrap().to_owned()
}

async fn open(installation: &Installation) -> Store {
    Store::open(&Address::Sqlite(installation.data().join("windlass.db"))).await.unwrap()
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

/// Whether a file of the embedded database contains a text.
fn database_holds(installation: &Installation, text: &str) -> bool {
    ["", "-wal", "-shm"].iter().any(|suffix| {
        let file = installation.data().join(format!("windlass.db{suffix}"));
        fs::read(file).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    })
}

/// The same command with an umask of 0.
fn with_open_umask(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(key, value),
            None => shell.env_remove(key),
        };
    }
    shell
}

/// Every file below a directory that others can read or write.
fn exposed(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_file() && mode(&path) & 0o077 != 0 {
            found.push(path);
        }
    }
    found
}

/// Starts a server with an umask of 0, waits until it listens, runs a check, and stops it.
fn serve_openly(mut command: Command, look: impl FnOnce()) {
    use std::io::{BufRead as _, BufReader};
    command.args(["--listen", "127.0.0.1:0"]);
    let mut command = with_open_umask(&command);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Kept until the end: a server that cannot print exits.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("windlass login")), "the server did not start");
    look();
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn other_users_can_read_no_file_of_a_server_under_any_umask() {
    let installation = Installation::new();
    let elsewhere = tempfile::tempdir().unwrap();
    serve_openly(installation.command("serve"), || {
        assert_eq!(mode(installation.data()), 0o700);
        assert_eq!(mode(&key_file(&installation)), 0o600);
        assert!(installation.data().join("windlass.db-wal").exists());
        assert_eq!(exposed(installation.data()), [] as [PathBuf; 0]);
    });
    let backup = elsewhere.path().join("backup.db");
    let mut command = installation.command("backup");
    command.arg(&backup);
    let written = with_open_umask(&command).output().unwrap();
    assert!(written.status.success(), "{}", printed(&written));
    fs::set_permissions(&backup, fs::Permissions::from_mode(0o666)).unwrap();
    let fresh = Installation::new();
    let mut command = fresh.command("restore");
    command.arg(&backup);
    let restored = with_open_umask(&command).output().unwrap();
    assert!(restored.status.success(), "{}", printed(&restored));
    assert_eq!(mode(fresh.data()), 0o700);
    assert_eq!(exposed(fresh.data()), [] as [PathBuf; 0]);
    // A database outside the data directory, created with open permissions.
    fs::remove_file(&backup).unwrap();
    let database = elsewhere.path().join("shared.db");
    fs::write(&database, "").unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let third = Installation::new();
    let mut command = third.command("serve");
    command.arg("--database").arg(&database);
    serve_openly(command, || {
        assert!(elsewhere.path().join("shared.db-wal").exists());
        assert_eq!(exposed(elsewhere.path()), [] as [PathBuf; 0]);
    });
}

#[test]
fn the_key_of_an_earlier_versions_database_moves_to_a_file_and_leaves_no_copy() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let key = current_key(&installation);
    assert!(!database_holds(&installation, &key), "a new database never holds it");
    server.stop();
    // As earlier versions stored it.
    wait(async {
        let store = open(&installation).await;
        let mut writing = store.write().await.unwrap();
        writing.setting_put("session_key", &key).await.unwrap();
        writing.commit().await.unwrap();
        store.erase_setting("secret_key_fingerprint").await.unwrap();
        store.close().await;
    });
    fs::remove_file(key_file(&installation)).unwrap();
    assert!(database_holds(&installation, &key));

    let server = installation.serve(&[]);
    assert_eq!(current_key(&installation), key);
    assert_eq!(mode(&key_file(&installation)), 0o600);
    assert!(!database_holds(&installation, &key));
    let me: Me = server.api.send(server.api.call(Operation::Me, &[])).unwrap();
    assert!(me.is_root, "the session from before goes on");
    let backup = installation.data().join("backup.db");
    let written = installation.command("backup").arg(&backup).output().unwrap();
    assert!(written.status.success(), "{}", printed(&written));
    let bytes = fs::read(&backup).unwrap();
    assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "backups do not hold it");
    server.stop();
}

#[test]
fn a_key_that_others_can_read_a_link_and_nonsense_stop_the_server() {
    let installation = Installation::new();
    installation.serve(&[]).stop();
    let file = key_file(&installation);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let said = refused(&installation, &[]);
    assert!(said.contains("other users can read the secret key") && said.contains("chmod 600"), "{said}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let aside = installation.data().join("aside");
    fs::rename(&file, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &file).unwrap();
    assert!(refused(&installation, &[]).contains("is not a regular file"));
    fs::remove_file(&file).unwrap();
    fs::write(&file, "short\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(refused(&installation, &[]).contains("contains no valid secret key"));
    fs::remove_file(&file).unwrap();
    let lost = refused(&installation, &[]);
    assert!(
        lost.contains("the database uses the secret key") && lost.contains("windlass key reset"),
        "{lost}"
    );
    assert!(!file.exists(), "none is made in its place");
}

/// The status of the response to a signed ping.
fn ping(server: &Server, repository: &str, secret: &str) -> u16 {
    let body = "{}";
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let signature: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let request = reqwest::Client::new()
        .post(format!("{}/api/v1/webhooks/{repository}", server.address))
        .header("x-gitea-event", "ping")
        .header("x-gitea-signature", signature)
        .body(body);
    wait(async move { request.send().await.unwrap().status().as_u16() })
}

fn webhook_secret(api: &Api, repository: &str) -> String {
    let shown: WebhookShown = api.send(api.call(Operation::RepositoryWebhook, &[repository])).unwrap();
    shown.secret
}

fn rotate(installation: &Installation, overlap: &str) {
    let mut command = installation.command("key");
    // The subcommand comes before the options.
    let options: Vec<_> = command.get_args().skip(1).map(std::ffi::OsStr::to_owned).collect();
    command = Command::new(command.get_program());
    command.args(["key", "rotate", "--overlap", overlap]).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));
    assert!(!printed(&output).contains(&current_key(installation)), "it is not printed");
}

fn is_signed_in(server: &Server) -> bool {
    match server.api.send::<Me>(server.api.call(Operation::Me, &[])) {
        Ok(_) => true,
        Err(ClientError::Refused { status: 401, .. }) => false,
        Err(error) => panic!("{error:?}"),
    }
}

#[test]
fn sessions_and_webhooks_go_on_while_a_rotated_key_overlaps_and_end_when_it_does_not() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(&nodes("web", "web", 0..1));
    let enabled = RepositoryFields { enabled: Some(true), ..fields("fleet-config", &work) };
    let repository = server.api.register(enabled).unwrap().id;
    let (first_key, first_secret) = (current_key(&installation), webhook_secret(&server.api, &repository));
    assert!(ping(&server, &repository, &first_secret) < 300);
    server.stop();

    rotate(&installation, "1h");
    assert_ne!(current_key(&installation), first_key);
    assert_eq!(mode(&key_file(&installation)), 0o600);
    let server = installation.serve(&[]);
    assert!(is_signed_in(&server), "the session from before the rotation");
    let second_secret = webhook_secret(&server.api, &repository);
    assert_ne!(second_secret, first_secret);
    for secret in [&first_secret, &second_secret] {
        assert!(ping(&server, &repository, secret) < 300);
    }
    server.stop();
    let actions = wait(async {
        let store = open(&installation).await;
        let entries =
            store.read().await.unwrap().audit(&AccountId::installation(), None, i64::MAX, 50).await.unwrap();
        store.close().await;
        entries.into_iter().map(|entry| entry.action).collect::<Vec<_>>()
    });
    assert!(actions.iter().any(|action| action == "key.rotate"), "{actions:?}");

    rotate(&installation, "0s");
    let server = installation.serve(&[]);
    assert!(!is_signed_in(&server), "someone else may have the key");
    for secret in [&first_secret, &second_secret] {
        assert_eq!(ping(&server, &repository, secret), 401);
    }
    let session = sign_in(&Api::new(&server.address, None), "admin@localhost", "a password for tests alone");
    assert!(!session.token.is_empty());
    server.stop();
}

#[test]
fn servers_with_different_keys_do_not_share_a_database() {
    let Some(postgres) = Postgres::shared() else { return };
    let first = Installation::with_database(postgres.fresh_database());
    let server = first.serve(&[]);
    let missing = refused(&first.without_secret_key(), &[]);
    assert!(missing.contains("the database uses the secret key"), "{missing}");
    let other = "another-key-of-more-than-thirty-two-characters";
    let foreign = refused(&first.without_secret_key(), &[("WINDLASS_SECRET_KEY", other)]);
    assert!(foreign.contains("every server on one database needs the same key"), "{foreign}");
    assert!(!foreign.contains(other), "{foreign}");
    // The same key, however it is configured.
    let key_file = key_file(&first).display().to_string();
    first.replica().serve(&[]).stop();
    first.without_secret_key().serve(&["--secret-key-file", &key_file]).stop();
    server.stop();
}

#[test]
fn a_backup_on_another_machine_says_which_key_it_needs_and_a_lost_key_can_be_replaced() {
    let installation = Installation::new();
    installation.serve(&[]).stop();
    let backup = installation.data().join("backup.db");
    assert!(installation.command("backup").arg(&backup).output().unwrap().status.success());
    let fresh = Installation::new();
    let restored = fresh.command("restore").arg(&backup).output().unwrap();
    assert!(restored.status.success(), "{}", printed(&restored));
    assert!(printed(&restored).contains("copy secret.key from the server"), "{}", printed(&restored));
    assert!(refused(&fresh, &[]).contains("windlass key reset"));
    let data = fresh.data().display().to_string();
    let reset = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["key", "reset", "--yes", "--data-dir", &data])
        .output()
        .unwrap();
    assert!(reset.status.success(), "{}", printed(&reset));
    let recovered = fresh.command("recover-admin").output().unwrap();
    assert!(recovered.status.success(), "{}", printed(&recovered));
    let printed = printed(&recovered);
    let password = printed.lines().find_map(|line| line.trim().strip_prefix("password ")).unwrap().trim();
    let mut child = fresh.command("serve");
    let mut child = child.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped()).spawn().unwrap();
    let address = {
        use std::io::{BufRead as _, BufReader};
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let found =
            lines.filter_map(|line| line.strip_prefix("Windlass listens on ").map(str::to_owned)).next();
        found.unwrap()
    };
    let session = sign_in(&Api::new(&address, None), "admin@localhost", password);
    assert!(session.me.is_root && session.me.must_change_password);
    child.kill().unwrap();
    child.wait().unwrap();
}
