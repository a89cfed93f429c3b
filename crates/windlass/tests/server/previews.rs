//! Previews: they show what would change, and have no effect.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::permission::Permission;
use windlass_api::types::{
    PreviewBody, PreviewEnvelope, PreviewInfo, PreviewList, RepositoryInfo, RunList, TokenBody, TokenCreated,
};
use windlass_core::display::MAX_MARKDOWN;
use windlass_core::run::Movement;
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, Result};
use crate::fleet::{fields, fleet, nodes, repository_with};
use crate::installation::{Installation, Server};

/// A server with a repository whose main branch is accepted, and a change of it on a branch and a pull request.
struct Pulled {
    server: Server,
    work: WorkTree,
    repository: String,
    change: String,
    _installation: Installation,
}

impl Pulled {
    fn new() -> Pulled {
        let installation = Installation::new();
        let server = installation.serve(&[]);
        let work = repository_with(&nodes("web", "web", 0..3));
        let repository = server.api.register(fields("fleet-config", &work)).unwrap().id;
        assert_eq!(server.api.apply_all(&repository).unwrap().status.slug(), "applied");
        work.git(&["checkout", "--quiet", "-b", "feature-x"]);
        let change = work.commit(
            "fleet.yaml",
            &nodes("web", "web", 0..4)
                .replace("region: eu-1}\n  - {hostname: web-001", "region: eu-2}\n  - {hostname: web-001"),
        );
        work.git(&["update-ref", "refs/pull/1/head", &change]);
        work.git(&["checkout", "--quiet", "main"]);
        Pulled { server, work, repository, change, _installation: installation }
    }

    fn api(&self) -> &Api {
        &self.server.api
    }

    fn preview(&self, body: &Value) -> Result<PreviewInfo> {
        preview(self.api(), &self.repository, body)
    }

    /// The status, code and message of a rejected preview.
    #[track_caller]
    fn refused(&self, body: &Value) -> (u16, String, String) {
        match self.preview(body) {
            Err(ClientError::Refused { status, body }) => (status, body.code, body.message),
            other => panic!("not refused: {other:?}"),
        }
    }

    /// A token with only these permissions.
    fn token(&self, permissions: &[Permission]) -> String {
        let body =
            TokenBody { name: "ci".to_owned(), permissions: permissions.to_vec(), expires_in_days: None };
        let made: TokenCreated =
            self.api().send(self.api().call(Operation::TokenCreate, &[]).body(&body)).unwrap();
        made.secret
    }

    /// Everything that a sync would change.
    fn state(&self) -> Value {
        let api = self.api();
        let runs: RunList = api.send(api.call(Operation::RunList, &[])).unwrap();
        let repository: RepositoryInfo = api.repository(&self.repository).unwrap();
        json!([
            runs.sync_runs,
            repository,
            api.proposals().unwrap(),
            api.resources().unwrap(),
            api.last_event()
        ])
    }
}

fn preview(api: &Api, repository: &str, body: &Value) -> Result<PreviewInfo> {
    let made: PreviewEnvelope = api.send(api.call(Operation::PreviewCreate, &[repository]).body(body))?;
    Ok(made.preview)
}

fn steps(preview: &PreviewInfo) -> Vec<String> {
    let steps = preview.plan["steps"].as_array().unwrap();
    steps
        .iter()
        .map(|step| format!("{} {}", step["action"].as_str().unwrap(), step["name"].as_str().unwrap()))
        .collect()
}

/// Runs the program as a pipeline does: with only an address and a token.
fn pipeline(server: &Server, token: &str, directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("WINDLASS_SERVER", &server.address)
        .env("WINDLASS_TOKEN", token)
        .env("COLUMNS", "100")
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn previews_of_a_reference_a_commit_and_files_are_equal_and_change_nothing() {
    let pulled = Pulled::new();
    let before = pulled.state();
    let text = pulled.work.git(&["show", "feature-x:fleet.yaml"]) + "\n";
    let expected = ["update_node web-000", "create_node web-003"];
    let bodies = [
        json!({"ref": "refs/pull/1/head"}),
        json!({"ref": "refs/pull/1/head", "commit": pulled.change}),
        json!({"ref": "feature-x"}),
        json!({"commit": pulled.change}),
        json!({"files": {"fleet.yaml": text}, "name": "pull request 1"}),
    ];
    let mut digests = Vec::new();
    for body in &bodies {
        let made = pulled.preview(body).unwrap();
        assert_eq!(steps(&made), expected, "{body}");
        assert_eq!((made.outcome.slug(), made.changes), ("changes", 2));
        let commit = (made.source.slug() == "git").then_some(pulled.change.as_str());
        assert_eq!(made.commit_sha.as_deref(), commit, "{body}");
        assert_eq!(made.base_commit.as_deref(), Some(pulled.work.head().as_str()));
        assert_eq!(made.plan["steps"][0]["foreseen"]["outlook"], "approval");
        digests.push(made.plan["digest"].clone());
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "the same change has the same digest");
    assert_eq!(pulled.state(), before, "no run, proposal, marker or event");
    let audit = pulled.api().audit().unwrap();
    assert_eq!(audit.iter().filter(|entry| entry.action == "repository.preview").count(), bodies.len());

    let list: PreviewList =
        pulled.api().send(pulled.api().call(Operation::PreviewList, &[&pulled.repository])).unwrap();
    let named: Vec<&str> = list.previews.iter().map(|preview| preview.reference.as_str()).collect();
    assert_eq!(named, ["pull request 1", &pulled.change, "feature-x", "refs/pull/1/head"]);
    let kept = &list.previews[3];
    let shown: PreviewEnvelope = pulled
        .api()
        .send(pulled.api().call(Operation::PreviewShow, &[&pulled.repository, &kept.id]))
        .unwrap();
    assert_eq!(steps(&shown.preview), expected);
    let again = pulled.preview(&bodies[0]).unwrap();
    assert_eq!(again.id, kept.id, "the address of a reference's preview stays");

    let run = pulled.api().sync(&pulled.repository).unwrap();
    assert_eq!((run.status.slug(), run.movement.map(Movement::slug)), ("success", Some("unchanged")));
}

#[test]
fn what_is_not_a_reference_a_commit_or_a_path_is_refused_before_anything_is_asked() {
    let pulled = Pulled::new();
    for reference in [
        "",
        "-u",
        "--upload-pack=touch /tmp/x",
        "a..b",
        "refs/heads/*",
        "refs/pull/1/head:refs/heads/main",
        "a b",
        "a\nb",
        "refs/../x",
        "@{1}",
    ] {
        let (status, code, _) = pulled.refused(&json!({"ref": reference}));
        assert_eq!((status, code.as_str()), (422, "bad-ref"), "{reference:?}");
    }
    for commit in ["HEAD", "abc123", &pulled.change[..12], "--all"] {
        assert_eq!(pulled.refused(&json!({"commit": commit})).1, "bad-commit", "{commit:?}");
    }
    for path in ["../fleet.yaml", "/etc/passwd", "a//b", "a\\b"] {
        assert_eq!(pulled.refused(&json!({"files": {path: ""}})).1, "bad-path", "{path:?}");
    }
    for body in
        [json!({}), json!({"files": {}, "ref": "main"}), json!({"files": {"fleet.yaml": ""}, "name": "a\nb"})]
    {
        assert_eq!(pulled.refused(&body).1, "bad-value", "{body}");
    }
    assert_eq!(pulled.refused(&json!({"ref": "no-such-branch"})).1, "branch-missing");
    assert_eq!(pulled.refused(&json!({"commit": "1".repeat(40)})).1, "commit-missing");
    let moved = pulled.refused(&json!({"ref": "feature-x", "commit": pulled.work.head()}));
    assert_eq!(moved.1, "ref-moved");
    let huge = "x".repeat(97 * 1024 * 1024);
    let (status, code, _) = pulled.refused(&json!({"files": {"fleet.yaml": huge}}));
    assert_eq!((status, code.as_str()), (413, "body-too-large"));
}

#[test]
fn problems_have_their_places_and_a_mass_destroy_is_told() {
    let pulled = Pulled::new();
    let broken = "version: 1\naccount: acme\nnodes:\n  - {hostname: a, template: web, colour: red}\n";
    let made = pulled.preview(&json!({"files": {"fleet.yaml": broken}})).unwrap();
    assert_eq!((made.outcome.slug(), made.changes), ("problems", 0));
    let problem = &made.plan["problems"][0];
    assert_eq!((&problem["code"], &problem["file"]), (&json!("unknown-key"), &json!("fleet.yaml")));
    assert_eq!((&problem["line"], &problem["column"]), (&json!(4), &json!(34)));
    let large = format!("version: 1\naccount: acme\n# {}\n", "x".repeat(1024 * 1024));
    let made = pulled.preview(&json!({"files": {"fleet.yaml": large}})).unwrap();
    assert_eq!(made.plan["problems"][0]["code"], "file-too-large");
    let stranger = fleet("").replace("acme", "someone-else");
    let made = pulled.preview(&json!({"files": {"fleet.yaml": stranger}})).unwrap();
    assert_eq!(made.outcome.slug(), "problems", "{:?}", made.plan["problems"]);

    pulled.work.commit("fleet.yaml", &nodes("web", "web", 0..20));
    assert_eq!(pulled.api().apply_all(&pulled.repository).unwrap().status.slug(), "applied");
    let emptied = json!({"files": {"fleet.yaml": fleet("")}});
    let made = pulled.preview(&emptied).unwrap();
    assert_eq!((made.outcome.slug(), made.changes), ("problems", 21));
    assert_eq!(made.plan["stopped"], json!({"destroys": 21, "owned": 21}));
    assert!(
        made.plan["problems"].as_array().unwrap().iter().any(|problem| problem["code"] == "mass-destroy")
    );
    let mut confirmed = emptied;
    confirmed["confirm_mass_destroy"] = json!(true);
    assert_eq!(pulled.preview(&confirmed).unwrap().outcome.slug(), "changes");
}

#[test]
fn the_policy_and_what_is_missing_are_foreseen() {
    let pulled = Pulled::new();
    let policy = "rules:\n  - {name: frozen, match: {kinds: [network]}, action: block, reason: moving}\n  \
                  - {name: nodes, match: {kinds: [node], changes: [create]}, action: auto_approve}\n";
    let body = json!({"policy": policy});
    let current: Value = pulled.api().send(pulled.api().call(Operation::PolicyShow, &[])).unwrap();
    assert!(current.is_object());
    pulled.api().text(pulled.api().call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
    let text = nodes("web", "web", 0..3)
        + "  - {hostname: new, template: web}\n  - {hostname: lost, template: nowhere}\nsdwan: {networks: {n: {}}}\n";
    let made = pulled.preview(&json!({"files": {"fleet.yaml": text}})).unwrap();
    let foreseen: BTreeMap<&str, &Value> = made.plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["name"].as_str().unwrap(), &step["foreseen"]))
        .collect();
    assert_eq!(foreseen["new"]["outlook"], "auto", "{:?}", made.plan);
    assert_eq!((&foreseen["n"]["outlook"], &foreseen["n"]["rule"]), (&json!("blocked"), &json!("frozen")));
    assert_eq!(foreseen["lost"]["blocked_by"], json!(["template nowhere does not exist yet"]));
    assert_eq!(foreseen["lost"]["blocked_by_kinds"], json!(["missing_resource"]));
}

#[test]
fn a_pipeline_plans_against_the_server_with_a_token_that_can_do_nothing_else() {
    let pulled = Pulled::new();
    let token = pulled.token(&[Permission::GitopsSync]);
    let checkout = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = checkout.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("fleet.yaml", &(nodes("web", "web", 0..3) + "include: [\"fleet.d/*.yaml\"]\n"));
    write("fleet.d/apps.yaml", "bundles: [{name: app, path: apps/app, targets: []}]\n");
    write("apps/app/deployment.yaml", "kind: Deployment\n");
    let plan = |more: &[&str]| {
        let arguments = [&["plan", ".", "--server", "--repository", "fleet-config"], more].concat();
        pipeline(&pulled.server, &token, checkout.path(), &arguments)
    };
    let before = pulled.state();
    let human = plan(&[]);
    assert_eq!(human.status.code(), Some(2), "{}", err(&human));
    assert!(
        out(&human).contains("from accepted state: 1 to create, 0 to update, 0 to destroy, 4 unchanged"),
        "{}",
        out(&human)
    );
    assert!(err(&human).contains("Nothing was proposed"), "{}", err(&human));
    let json: Value = serde_json::from_slice(&plan(&["-o", "json"]).stdout).unwrap();
    assert_eq!((&json["steps"][0]["name"], &json["repository"]), (&json!("app"), &json!("fleet-config")));
    let markdown = plan(&["--format", "markdown", "--name", "feature-x"]);
    assert!(out(&markdown).starts_with("### Windlass plan: 1 to create"), "{}", out(&markdown));
    assert!(out(&markdown).contains("needs approval"), "{}", out(&markdown));
    assert_eq!(pulled.state(), before);

    write("fleet.d/apps.yaml", "bundles: [{name: app, path: apps/gone, colour: red}]\n");
    let broken = plan(&[]);
    assert_eq!(broken.status.code(), Some(1));
    let told = err(&broken);
    assert!(told.contains("fleet.d/apps.yaml:1:40") && told.contains("colour: red"), "{told}");
    assert_eq!(out(&broken), "✗ no plan: 2 errors\n", "{told}");
    write("fleet.d/apps.yaml", "{}\n");
    assert_eq!(plan(&[]).status.code(), Some(0));

    let both = plan(&["--from", "HEAD"]);
    assert_eq!(both.status.code(), Some(64));
    assert!(err(&both).contains("--from and --server cannot be used together"), "{}", err(&both));
    let nameless = pipeline(&pulled.server, &token, checkout.path(), &["plan", "--server"]);
    assert_eq!(nameless.status.code(), Some(64), "{}", err(&nameless));
    let absent =
        pipeline(&pulled.server, &token, checkout.path(), &["plan", "--server", "--repository", "absent"]);
    assert_eq!(absent.status.code(), Some(1), "{}", err(&absent));
    let reader = pulled.token(&[Permission::GitopsRead]);
    let refused = pipeline(
        &pulled.server,
        &reader,
        checkout.path(),
        &["plan", "--server", "--repository", "fleet-config"],
    );
    assert_eq!(refused.status.code(), Some(1));
    assert!(err(&refused).contains("system.gitops.sync"), "{}", err(&refused));
}

#[test]
fn repo_preview_looks_at_a_reference_and_a_comment_never_grows_too_long() {
    let pulled = Pulled::new();
    let token = pulled.token(&[Permission::GitopsSync]);
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| pipeline(&pulled.server, &token, directory.path(), arguments);
    let shown = run(&["repo", "preview", "fleet-config", "--ref", "refs/pull/1/head"]);
    assert_eq!(shown.status.code(), Some(2), "{}", err(&shown));
    assert!(out(&shown).contains("region: eu-1 → eu-2"), "{}", out(&shown));
    assert!(err(&shown).contains(&pulled.change), "{}", err(&shown));
    let same = run(&["repo", "preview", "fleet-config", "--commit", &pulled.work.head()]);
    assert_eq!(same.status.code(), Some(0), "{}{}", out(&same), err(&same));

    let all: String = (0..2000)
        .map(|number| format!("  - {{hostname: n-{number}, template: web, region: r-{number}, config: {{a: \"</details>`\"}}}}\n"))
        .collect();
    let text = nodes("web", "web", 0..3) + &all;
    std::fs::write(directory.path().join("fleet.yaml"), text).unwrap();
    let comment = run(&["plan", "--server", "--repository", "fleet-config", "-o", "markdown"]);
    assert_eq!(comment.status.code(), Some(2), "{}", err(&comment));
    let comment = out(&comment);
    assert!(comment.len() < MAX_MARKDOWN + 500 && comment.len() > MAX_MARKDOWN / 2, "{}", comment.len());
    assert!(comment.contains("more changes; the whole plan does not fit in a comment"), "{comment}");
    let body = PreviewBody { reference: Some("feature-x".to_owned()), ..PreviewBody::default() };
    assert_eq!(pulled.preview(&json!(body)).unwrap().changes, 2);
}
