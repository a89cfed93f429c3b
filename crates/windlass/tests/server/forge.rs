//! A real server reports commit statuses to fake forges.

use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    BatchDecision, ForgeFields, GiteaRepositoryEnvelope, RepositoryFields, RepositoryTest,
};
use windlass_testkit::servers::{FakeForge, ForgeFlavour, WorkTree};

use crate::api::Api;
use crate::fleet::{fields, fleet, nodes, repository_with, template};
use crate::installation::{Installation, Server};

const FLAVOURS: [ForgeFlavour; 3] = [ForgeFlavour::GitHub, ForgeFlavour::Gitea, ForgeFlavour::GitLab];

/// A server with a fake forge and its token.
struct ForgeSetup {
    forge: FakeForge,
    installation: Installation,
    credentials: TempDir,
}

impl ForgeSetup {
    fn new(flavour: ForgeFlavour) -> ForgeSetup {
        let setup = ForgeSetup {
            forge: FakeForge::start(flavour),
            installation: Installation::new(),
            credentials: tempfile::tempdir().unwrap(),
        };
        setup.put_token("forge", FakeForge::TOKEN);
        setup
    }

    fn put_token(&self, name: &str, token: &str) {
        let path = self.credentials.path().join(format!("{name}.json"));
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(path).unwrap();
        std::io::Write::write_all(&mut file, json!({"token": token}).to_string().as_bytes()).unwrap();
    }

    fn serve(&self) -> Server {
        let (host, url) = (self.forge.host(), self.forge.url());
        let directory = self.credentials.path().display().to_string();
        self.installation.serve(&[
            "--credentials-dir",
            &directory,
            "--forge-api-host",
            &host,
            "--gitea-url",
            &url,
            "--gitea-credential",
            "forge",
            "--public-url",
            "https://windlass.example.com",
            "--log",
            "debug",
        ])
    }

    fn settings(&self) -> ForgeFields {
        ForgeFields {
            kind: Some(self.forge.kind().to_owned()),
            api_url: Some(self.forge.url()),
            project: Some("acme/fleet".to_owned()),
            credential_path: Some("forge".to_owned()),
            ..ForgeFields::default()
        }
    }

    fn register(&self, api: &Api, work: &WorkTree) -> String {
        let fields = RepositoryFields { forge: Some(self.settings()), ..fields("fleet", work) };
        api.register(fields).unwrap().id
    }

    /// Waits until the last status of a commit has this state and text.
    fn wait_for_status(&self, api: &Api, commit: &str, state: &str, words: &str) -> Value {
        let what = format!("a status {state} with {words}");
        api.wait_for(&what, |_| {
            let statuses = self.forge.statuses();
            let (_, last) = statuses.iter().rev().find(|(of, _)| of == commit)?;
            let is_it = last["state"] == state && last["description"].as_str()?.contains(words);
            is_it.then(|| last.clone())
        })
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
fn a_commit_status_is_pending_until_applied_despite_crashes() {
    for flavour in FLAVOURS {
        let setup = ForgeSetup::new(flavour);
        let server = setup.serve();
        let work = repository_with(&nodes("web", "web", 0..2));
        let id = setup.register(&server.api, &work);
        let tested: RepositoryTest =
            server.api.send(server.api.call(Operation::RepositoryTest, &[&id])).unwrap();
        assert!(tested.ok && tested.checks.last().unwrap().message.contains("windlass-bot"), "{tested:?}");
        let run = server.api.sync(&id).unwrap();
        let commit = run.commit_sha.clone().unwrap();
        let shown = setup.wait_for_status(&server.api, &commit, "pending", "3 changes pending approval");
        let name = if flavour == ForgeFlavour::GitLab { "name" } else { "context" };
        assert_eq!(shown[name], "windlass/fleet");
        assert_eq!(shown["target_url"], format!("https://windlass.example.com/app/runs/{}", run.id));
        // Another run has the same result: nothing is reported again.
        let again = server.api.sync(&id).unwrap();
        assert_eq!(again.commit_sha.as_ref(), Some(&commit));
        setup.forge.fail_all_requests();
        server.api.decide(&again, BatchDecision::Approve).unwrap();
        server.api.wait_until_applied(&again.id).unwrap();
        let error = server.api.wait_for("what is wrong with the forge", |api| {
            api.repository(&id).unwrap().forge.unwrap().last_error
        });
        assert!(error.contains("returned status 500"), "{error}");
        server.stop();

        setup.forge.recover();
        let server = setup.serve();
        setup.wait_for_status(&server.api, &commit, "success", "");
        server.api.wait_for("no trouble with the forge", |api| {
            api.repository(&id).unwrap().forge.unwrap().last_error.is_none().then_some(())
        });
        let states: Vec<String> =
            setup.forge.statuses().into_iter().map(|(_, status)| status["state"].to_string()).collect();
        assert_eq!(states.iter().filter(|state| *state == "\"success\"").count(), 1, "{states:?}");
        let seen =
            format!("{:?}{:?}{:?}", server.api.events(0), server.api.audit(), server.api.repository(&id));
        server.stop();
        let log = setup.installation.log();
        assert!(log.contains("DEBUG"));
        for (what, text) in [("answers", &seen), ("log", &log)] {
            assert!(!text.contains(FakeForge::TOKEN), "the token is in {what}");
        }
        assert!(!holds(setup.installation.data(), FakeForge::TOKEN), "the token is kept");
    }
}

#[test]
fn a_fleet_with_errors_fails_its_commit_and_a_replaced_commit_waits_no_longer() {
    let setup = ForgeSetup::new(ForgeFlavour::GitHub);
    let server = setup.serve();
    let work = repository_with(&nodes("web", "web", 0..2));
    let id = setup.register(&server.api, &work);
    let first = server.api.sync(&id).unwrap().commit_sha.unwrap();
    setup.wait_for_status(&server.api, &first, "pending", "pending approval");
    work.commit("fleet.yaml", &fleet("nodes:\n  - {hostname: a, tempalte: web}\n"));
    let second = server.api.sync(&id).unwrap().commit_sha.unwrap();
    let failed = setup.wait_for_status(&server.api, &second, "failure", "fleet.yaml:4");
    assert!(failed["description"].as_str().unwrap().chars().count() <= 140);
    setup.wait_for_status(&server.api, &first, "success", "replaced by");
    work.commit("fleet.yaml", &fleet(&template("web")));
    let third = server.api.sync(&id).unwrap().commit_sha.unwrap();
    setup.wait_for_status(&server.api, &third, "pending", "1 change pending approval");
    server.stop();
}

#[test]
fn a_token_that_is_refused_is_told_where_the_repository_is_and_a_better_one_is_tried_at_once() {
    let setup = ForgeSetup::new(ForgeFlavour::GitHub);
    setup.put_token("wrong", "planted-wrong-forge-token");
    let server = setup.serve();
    let api = &server.api;
    let work = repository_with(&fleet(&template("web")));
    let wrong = ForgeFields { credential_path: Some("wrong".to_owned()), ..setup.settings() };
    let id = api.register(RepositoryFields { forge: Some(wrong), ..fields("fleet", &work) }).unwrap().id;
    let tested: RepositoryTest = api.send(api.call(Operation::RepositoryTest, &[&id])).unwrap();
    let last = tested.checks.last().unwrap();
    assert!(
        !tested.ok && last.step == "forge" && last.message.contains("does not accept the token"),
        "{tested:?}"
    );
    let commit = api.sync(&id).unwrap().commit_sha.unwrap();
    let error = api.wait_for("an error", |api| api.repository(&id).unwrap().forge.unwrap().last_error);
    assert!(error.contains("does not accept the token") && error.contains("create a new token"), "{error}");
    let right = ForgeFields { credential_path: Some("forge".to_owned()), ..ForgeFields::default() };
    api.configure(&id, RepositoryFields { forge: Some(right), ..RepositoryFields::default() }).unwrap();
    setup.wait_for_status(api, &commit, "pending", "1 change pending");
    let none = ForgeFields { kind: Some("none".to_owned()), ..ForgeFields::default() };
    let after =
        api.configure(&id, RepositoryFields { forge: Some(none), ..RepositoryFields::default() }).unwrap();
    assert_eq!(after.forge, None);
    server.stop();
    assert!(!setup.installation.log().contains("planted-wrong-forge-token"));
}

/// The status, the code and the help of a refusal.
fn refusal<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> (u16, String, String) {
    match answer {
        Err(ClientError::Refused { status, body }) => {
            (status, body.code, format!("{} {}", body.message, body.help))
        }
        other => panic!("not refused but {other:?}"),
    }
}

#[test]
fn no_token_is_sent_to_a_host_that_neither_repository_nor_operator_names() {
    let setup = ForgeSetup::new(ForgeFlavour::Gitea);
    let server = setup.serve();
    let work = repository_with(&fleet(&template("web")));
    let forge = |change: &dyn Fn(&mut ForgeFields)| {
        let mut settings = setup.settings();
        change(&mut settings);
        let fields = RepositoryFields { forge: Some(settings), ..fields("fleet", &work) };
        refusal(server.api.register(fields))
    };
    let text = |text: &str| Some(text.to_owned());
    for (refused, told) in [
        (forge(&|it| it.api_url = text("https://evil.example")), "forge.api_url"),
        (forge(&|it| it.api_url = text("http://127.0.0.1:1")), "--forge-api-host"),
        (forge(&|it| it.api_url = text("https://u:p@127.0.0.1")), "credentials"),
        (forge(&|it| it.api_url = None), "forge.api_url"),
        (forge(&|it| it.project = text("../fleet")), "forge.project"),
        (forge(&|it| it.project = None), "forge.project"),
        (forge(&|it| it.credential_path = None), "forge.credential_path"),
        (forge(&|it| it.credential_path = text("https://vault/x")), "forge.credential_path"),
        (forge(&|it| it.kind = text("bitbucket")), "forge.kind"),
        (forge(&|it| it.kind = None), "forge.kind"),
    ] {
        assert_eq!((refused.0, refused.1.as_str()), (422, "bad-value"), "{refused:?}");
        assert!(refused.2.contains(told), "{told}: {refused:?}");
    }
    assert!(setup.forge.requests().is_empty());
    // A change of the operator's list takes effect at once: a host that is no longer allowed gets no report.
    let id = setup.register(&server.api, &work);
    server.stop();
    let directory = setup.credentials.path().display().to_string();
    let server = setup.installation.serve(&["--credentials-dir", &directory]);
    server.api.sync(&id).unwrap();
    let error =
        server.api.wait_for("a refusal", |api| api.repository(&id).unwrap().forge.unwrap().last_error);
    assert!(error.contains("--forge-api-host"), "{error}");
    assert!(setup.forge.requests().is_empty());
    server.stop();
}

#[test]
fn a_repository_is_made_in_gitea_as_the_runbook_prints_it() {
    let setup = ForgeSetup::new(ForgeFlavour::Gitea);
    let server = setup.serve();
    let api = &server.api;
    let make = |body: Value| {
        api.send::<GiteaRepositoryEnvelope>(api.call(Operation::GiteaRepositoryCreate, &[]).body(&body))
    };
    let body = json!({"owner": "acme", "repo": "fleet-config", "private": true});
    let made = make(body.clone()).unwrap().repository;
    assert_eq!((made.full_name.as_str(), made.private), ("acme/fleet-config", true));
    assert_eq!(made.clone_url, "https://gitea.example.com/acme/fleet-config.git");
    let (status, code, told) = refusal(make(body));
    assert_eq!((status, code.as_str()), (409, "forge-exists"), "{told}");
    let (status, code, _) = refusal(make(json!({"owner": "nobody", "repo": "x"})));
    assert_eq!((status, code.as_str()), (422, "forge-owner"));
    for (owner, repo) in [("acme/../x", "y"), ("acme", "a/b"), ("", "x"), ("acme", "..")] {
        let (status, code, _) = refusal(make(json!({"owner": owner, "repo": repo})));
        assert_eq!((status, code.as_str()), (422, "bad-value"), "{owner} {repo}");
    }
    setup.forge.prepare(401, &[], json!({"message": FakeForge::TOKEN}));
    let (status, code, told) = refusal(make(json!({"owner": "acme", "repo": "x"})));
    assert_eq!((status, code.as_str()), (502, "forge-token"), "the caller's own token is good");
    assert!(!told.contains(FakeForge::TOKEN));
    let key = |body: Value| {
        let call =
            api.call(Operation::GiteaRepositoryCreate, &[]).body(&body).header("idempotency-key", "k1");
        api.send::<GiteaRepositoryEnvelope>(call).unwrap().repository.full_name
    };
    let once = json!({"owner": "windlass-bot", "repo": "own", "private": false});
    assert_eq!(key(once.clone()), key(once), "the same request is carried out once");
    let entries = api.audit().unwrap();
    let made =
        entries.iter().filter(|entry| entry.action == "gitea_repository.create" && entry.outcome == "done");
    assert_eq!(made.count(), 2, "{entries:?}");
    server.stop();

    let server = setup.installation.serve(&[]);
    let body = json!({"owner": "acme", "repo": "x"});
    let call = server.api.call(Operation::GiteaRepositoryCreate, &[]).body(&body);
    let (status, code, told) = refusal(server.api.send::<GiteaRepositoryEnvelope>(call));
    assert_eq!((status, code.as_str()), (422, "gitea-not-configured"));
    assert!(told.contains("--gitea-url") && told.contains("--gitea-credential"), "{told}");
    server.stop();
}
