//! Addresses that accounts name: the server does not connect to this machine, its link and cloud metadata services,
//! however they are written, unless the operator allows them; and nobody learns which ports are open.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{
    CheckOutcome, ForgeFields, ProviderTest, RepositoryBody, RepositoryFields, RepositoryTest, TokenCreated,
};
use windlass_testkit::servers::{FakeForge, ForgeFlavour, GitHttps, GitSsh, free_port};

use crate::api::Api;
use crate::fleet::{nodes, repository_with};
use crate::installation::{Installation, Server};

/// A listener on this machine that answers with garbage and counts connections.
struct CountingListener {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl CountingListener {
    fn start() -> CountingListener {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, connections) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            for mut connection in listener.incoming().map(Result::unwrap) {
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = connection.write_all(b"-ERR unknown command\r\n");
                let _ = connection.read(&mut [0; 64]);
            }
        });
        CountingListener { port, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A person who may register and test repositories, and is not an admin.
fn operator(server: &Server) -> Api {
    let permissions = ["system.gitops.read", "system.gitops.write", "system.gitops.sync"];
    let body = json!({"name": "operator", "permissions": permissions});
    let api = &server.api;
    let made: TokenCreated = api.send(api.call(Operation::TokenCreate, &[]).body(&body)).unwrap();
    Api::new(&server.address, Some(&made.secret))
}

fn probe(api: &Api, url: &str) -> RepositoryTest {
    let fields = RepositoryFields { repo_url: Some(url.to_owned()), ..RepositoryFields::default() };
    let body = RepositoryBody { gitops_repository: fields };
    api.send(api.call(Operation::RepositoryProbe, &[]).body(&body)).unwrap()
}

/// The result of a test about the host: every step with its outcome, message and help.
fn host_steps(test: &RepositoryTest) -> Vec<String> {
    test.checks.iter().map(|check| format!("{check:?}")).collect()
}

#[test]
fn no_notation_of_a_loopback_or_metadata_address_is_connected_to() {
    let somebody = CountingListener::start();
    let installation = Installation::with_address_guard();
    let server = installation.serve(&[]);
    let api = &server.api;
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "localhost",
        "LOCALHOST",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "0.0.0.0",
        "169.254.169.254",
        "0xa9fea9fe",
        "[fd00:ec2::254]",
        "100.100.100.200",
    ] {
        for scheme in ["https", "http", "ssh"] {
            let url = format!("{scheme}://{host}:{}/fleet.git", somebody.port);
            let tested = probe(api, &url);
            let dns = tested.checks.iter().find(|check| check.step == "dns").unwrap();
            assert_eq!(dns.outcome, CheckOutcome::Failed, "{url}: {tested:?}");
            assert!(dns.message.contains("does not connect to"), "{url}: {tested:?}");
            assert!(dns.help.contains("--allow-address"), "{tested:?}");
        }
    }
    let url = format!("https://localhost:{}/fleet.git", somebody.port);
    let fields = RepositoryFields {
        name: Some("here".to_owned()),
        repo_url: Some(url),
        enabled: Some(false),
        ..RepositoryFields::default()
    };
    let id = api.register(fields).unwrap().id;
    let run = api.sync(&id).unwrap();
    assert_eq!(run.error.unwrap().code, "address-refused");
    let address = format!("https://127.0.0.1:{}/alerts", somebody.port);
    api.create(Noun::NotificationProvider, &json!({"name": "here", "type": "webhook", "address": address}))
        .unwrap();
    let sent: ProviderTest = api.send(api.call(Operation::ProviderTest, &["here"])).unwrap();
    assert!(format!("{sent:?}").contains("does not connect to"), "{sent:?}");
    assert_eq!(somebody.connections(), 0, "nobody was connected to");
    server.stop();
}

#[test]
fn a_forge_on_this_machine_is_asked_only_if_the_operator_named_it() {
    let forge = FakeForge::start(ForgeFlavour::Gitea);
    let directory = tempfile::tempdir().unwrap();
    put_credential(directory.path(), "forge", &json!({"token": FakeForge::TOKEN}));
    let credentials = directory.path().display().to_string();
    let fields = RepositoryFields {
        name: Some("fleet".to_owned()),
        repo_url: Some(format!("{}/acme/fleet", forge.url())),
        forge: Some(ForgeFields {
            kind: Some("gitea".to_owned()),
            credential_path: Some("forge".to_owned()),
            ..ForgeFields::default()
        }),
        ..RepositoryFields::default()
    };
    let forge_step = |options: &[&str]| {
        let installation = Installation::with_address_guard();
        let server = installation.serve(&[&["--credentials-dir", &credentials], options].concat());
        let body = RepositoryBody { gitops_repository: fields.clone() };
        let api = &server.api;
        let tested: RepositoryTest = api.send(api.call(Operation::RepositoryProbe, &[]).body(&body)).unwrap();
        server.stop();
        tested.checks.into_iter().find(|check| check.step == "forge").unwrap()
    };
    let refused = forge_step(&[]);
    assert!(refused.message.contains("does not connect to"), "{refused:?}");
    assert!(forge.requests().is_empty(), "the forge was not asked");
    let reached = forge_step(&["--forge-api-host", &forge.host()]);
    assert_eq!(reached.outcome, CheckOutcome::Passed, "{reached:?}");
}

pub(crate) fn put_credential(directory: &std::path::Path, path: &str, fields: &serde_json::Value) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let path = directory.join(format!("{path}.json"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = std::fs::remove_file(&path);
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).unwrap();
    file.write_all(fields.to_string().as_bytes()).unwrap();
}

#[test]
fn an_open_port_and_a_closed_one_are_told_alike_to_everyone_but_admins() {
    let somebody = CountingListener::start();
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let operator = operator(&server);
    for scheme in ["https", "ssh", "http"] {
        let [open, closed] = [somebody.port, free_port()].map(|port| {
            let url = format!("{scheme}://127.0.0.1:{port}/fleet.git");
            host_steps(&probe(&operator, &url))
        });
        assert_eq!(open, closed, "{scheme}");
        assert!(open.iter().any(|check| check.contains("could not reach 127.0.0.1")), "{open:?}");
    }
    assert!(somebody.connections() > 0, "the operator allowed it");
    let url = format!("https://127.0.0.1:{}/fleet.git", free_port());
    let tested = probe(&server.api, &url);
    assert!(format!("{tested:?}").contains("refused"), "an admin is told the cause: {tested:?}");
    // Everyone can read runs.
    let fields = RepositoryFields {
        name: Some("closed".to_owned()),
        repo_url: Some(url),
        enabled: Some(false),
        ..RepositoryFields::default()
    };
    let id = server.api.register(fields).unwrap().id;
    let error = server.api.sync(&id).unwrap().error.unwrap();
    assert!(error.message.ends_with("could not reach 127.0.0.1"), "{error:?}");
    server.stop();
    assert!(installation.log().contains("could not reach a git server"), "the log has the cause");
}

#[test]
fn what_the_operator_allows_by_name_is_reached_by_that_name_alone() {
    let Some(git) = GitHttps::start() else { return };
    let work = repository_with(&nodes("web", "web", 0..1));
    work.publish(&git.root(), "fleet.git");
    let installation = Installation::with_address_guard();
    let server = installation.serve(&["--allow-address", "localhost"]);
    let open = git.url("open/fleet.git");
    let by_name = open.replace("127.0.0.1", "localhost");
    let tested = |url: &str| {
        let fields = RepositoryFields {
            repo_url: Some(url.to_owned()),
            ca_pem: Some(git.ca()),
            ..RepositoryFields::default()
        };
        let body = RepositoryBody { gitops_repository: fields };
        let api = &server.api;
        api.send::<RepositoryTest>(api.call(Operation::RepositoryProbe, &[]).body(&body)).unwrap()
    };
    assert!(tested(&by_name).ok, "{:?}", tested(&by_name));
    let before = git.requests();
    assert!(!tested(&open).ok);
    assert_eq!(git.requests(), before, "an address is not its name");
    server.stop();
}

#[test]
fn ssh_is_given_the_checked_address_and_still_knows_the_host_by_its_name() {
    let Some(git) = GitSsh::start() else { return };
    let work = repository_with(&nodes("web", "web", 0..1));
    work.publish(&git.root(), "fleet.git");
    let directory = tempfile::tempdir().unwrap();
    put_credential(directory.path(), "key", &json!({"ssh_key": git.key()}));
    let credentials = directory.path().display().to_string();
    let installation = Installation::with_address_guard();
    let server = installation.serve(&["--credentials-dir", &credentials, "--allow-address", "localhost"]);
    let fields = RepositoryFields {
        name: Some("fleet".to_owned()),
        repo_url: Some(git.url("fleet.git").replace("127.0.0.1", "localhost")),
        vault_credential_path: Some("key".to_owned()),
        enabled: Some(false),
        ..RepositoryFields::default()
    };
    let id = server.api.register(fields).unwrap().id;
    assert_eq!(server.api.sync(&id).unwrap().status.slug(), "diff_ready");
    assert_eq!(server.api.sync(&id).unwrap().status.slug(), "diff_ready", "and with the pinned key");
    server.stop();
}
