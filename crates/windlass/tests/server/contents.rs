//! Content on the server: the content of a file is part of what is reviewed, approved and compared.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{ContentDifference, PreviewEnvelope, PreviewInfo, ProposalInfo};
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, refused};
use crate::fleet::{fields, fleet};
use crate::installation::{Installation, Server};

const SECTIONS: &str = "modules:
  - name: web
    host:
      files:
        /etc/nginx.conf: {source: files/nginx.conf}
  - name: plain
bundles:
  - {name: app, path: apps/app, targets: []}
  - name: chart
    chart: {repository: https://charts.example.com, name: c, version: 1.0.0, values_files: [values/prod.yaml]}
    targets: []
";

/// A server with a repository whose resources name files, completely applied.
struct Applied {
    server: Server,
    work: WorkTree,
    repository: String,
    installation: Installation,
}

impl Applied {
    fn new() -> Applied {
        let installation = Installation::new();
        let server = installation.serve(&[]);
        let work = WorkTree::new();
        work.commit("files/nginx.conf", "worker_processes 4;\nuser www;\n");
        work.commit("apps/app/base/deep/deployment.yaml", "kind: Deployment\nreplicas: 2\n");
        work.commit("apps/app/base/other.yaml", "kind: Service\n");
        work.commit("values/prod.yaml", "replicaCount: 2\ndb_password: planted-1\n");
        work.commit("fleet.yaml", &fleet(SECTIONS));
        let repository = server.api.register(fields("fleet-config", &work)).unwrap().id;
        let run = server.api.apply_all(&repository).unwrap();
        assert_eq!((run.status.slug(), run.diff_count), ("applied", 4));
        Applied { server, work, repository, installation }
    }

    fn api(&self) -> &Api {
        &self.server.api
    }

    /// The proposals of the next run, each in full.
    fn proposed(&self) -> Vec<ProposalInfo> {
        let run = self.api().sync(&self.repository).unwrap();
        let all = self.api().proposals().unwrap();
        let of_run = all.into_iter().filter(|proposal| proposal.run_id == run.id);
        of_run.map(|proposal| self.api().proposal(&proposal.id).unwrap()).collect()
    }

    fn preview(&self, body: &Value) -> PreviewInfo {
        let call = self.api().call(Operation::PreviewCreate, &[&self.repository]).body(body);
        self.api().send::<PreviewEnvelope>(call).unwrap().preview
    }
}

fn only(proposals: &[ProposalInfo]) -> &ProposalInfo {
    let [only] = proposals else { panic!("{} proposals", proposals.len()) };
    only
}

fn lines(differences: &[ContentDifference]) -> String {
    let files = differences.iter().flat_map(|difference| &difference.files);
    files.filter_map(|file| file.lines.clone()).collect()
}

#[test]
fn a_changed_file_is_proposed_with_its_diff_and_applied_only_as_approved() {
    let applied = Applied::new();
    let api = applied.api();
    let run = api.sync(&applied.repository).unwrap();
    assert_eq!(run.diff_count, 0, "nothing differs");

    applied.work.commit("files/nginx.conf", "worker_processes 5;\nuser www;\n");
    let proposed = applied.proposed();
    let proposal = only(&proposed);
    assert_eq!((proposal.action.as_str(), proposal.name.as_str()), ("update_module", "web"));
    assert_eq!(proposal.fields.len(), 1, "{:?}", proposal.fields);
    assert_eq!(proposal.fields[0].path, "content[\"files/nginx.conf\"]");
    assert_eq!(
        lines(&proposal.content),
        "@@ -1,2 +1,2 @@\n-worker_processes 4;\n+worker_processes 5;\n user www;\n"
    );
    assert_ne!(proposal.base_digest, proposal.desired_digest);
    api.approve(&proposal.id).unwrap();
    api.wait_for_status(&proposal.id, "applied");
    assert_eq!(
        api.resource(Noun::NodeModule, "web").unwrap().digest,
        proposal.desired_digest.clone().unwrap()
    );
    assert_eq!(api.sync(&applied.repository).unwrap().diff_count, 0);

    applied.work.commit("files/nginx.conf", "worker_processes 6;\nuser www;\n");
    let first = applied.proposed();
    applied.work.commit("files/nginx.conf", "worker_processes 7;\nuser evil;\n");
    let second = applied.proposed();
    assert_eq!(
        api.proposal(&only(&first).id).unwrap().status.slug(),
        "superseded",
        "other bytes are another change"
    );
    assert!(lines(&only(&second).content).contains("+user evil;"));
    assert!(lines(&only(&second).content).contains("-worker_processes 5;"), "from the accepted state");
}

#[test]
fn files_deep_below_a_bundle_and_values_files_count_and_secrets_in_them_are_hidden() {
    let applied = Applied::new();
    applied.work.commit("apps/app/base/deep/deployment.yaml", "kind: Deployment\nreplicas: 3\n");
    applied.work.commit("values/prod.yaml", "replicaCount: 2\ndb_password: planted-2\n");
    let proposed = applied.proposed();
    let named: Vec<&str> = proposed.iter().map(|proposal| proposal.name.as_str()).collect();
    assert_eq!(named.len(), 2, "{named:?}");
    let of = |name: &str| proposed.iter().find(|proposal| proposal.name == name).unwrap();
    let files = &of("app").content[0].files;
    assert_eq!(files.len(), 1, "what is the same is passed over: {files:?}");
    assert_eq!(files[0].path, "apps/app/base/deep/deployment.yaml");
    assert!(lines(&of("app").content).contains("-replicas: 2\n+replicas: 3\n"));
    assert!(lines(&of("chart").content).contains("db_password:"));
    let told = serde_json::to_string(&proposed).unwrap();
    assert!(!told.contains("planted"), "{told}");
    let page = applied.api().text(applied.api().call(Operation::ProposalList, &[])).unwrap();
    assert!(page.contains("+replicas: 3") && !page.contains("planted"), "a list shows it as well");
}

#[test]
fn previews_of_a_reference_and_of_sent_files_say_what_differs_in_files() {
    let applied = Applied::new();
    let fleet_text = fleet(SECTIONS);
    applied.work.git(&["checkout", "--quiet", "-b", "feature"]);
    applied.work.commit("files/nginx.conf", "worker_processes 9;\nuser www;\n");
    applied.work.git(&["checkout", "--quiet", "main"]);
    let by_reference = applied.preview(&json!({"ref": "feature"}));
    assert_eq!(by_reference.changes, 1);
    assert!(
        by_reference.plan["content"].to_string().contains("+worker_processes 9;"),
        "{}",
        by_reference.plan
    );

    let paths = ["files/nginx.conf", "apps/app", "values/prod.yaml"];
    let files = json!({"fleet.yaml": fleet_text});
    let without = applied.preview(&json!({"files": files, "paths": paths}));
    assert_eq!(without.changes, 0, "what was not sent is not compared");
    let note = without.plan["notes"][0].as_str().unwrap();
    assert!(note.contains("was not sent and is not compared: apps/app and 2 more"), "{note}");

    let id = |path: &str, revision: &str| {
        let kind = if path == "apps/app" { "tree" } else { "blob" };
        format!("{kind}:{}", applied.work.git(&["rev-parse", &format!("{revision}:{path}")]))
    };
    let contents = |revision: &str| -> Value {
        paths
            .iter()
            .map(|path| ((*path).to_owned(), json!(id(path, revision))))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let same = applied.preview(&json!({"files": files, "contents": contents("main")}));
    assert_eq!((same.changes, &same.plan["notes"]), (0, &json!([])));
    let changed = applied.preview(&json!({"files": files, "contents": contents("feature")}));
    assert_eq!(changed.plan["digest"], by_reference.plan["digest"], "the same change has the same digest");
    let call = applied.api().call(Operation::PreviewCreate, &[&applied.repository]);
    let bad = call.body(&json!({"files": files, "contents": {"files/nginx.conf": "main"}}));
    assert_eq!(refused(applied.api().send::<Value>(bad)).0, 422);
}

/// Runs the program with the server's address and an administrator's token.
fn windlass(applied: &Applied, directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("WINDLASS_SERVER", &applied.server.address)
        .env("WINDLASS_TOKEN", applied.installation.token().unwrap())
        .env("COLUMNS", "160")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_command_line_sends_ids_and_shows_what_a_proposal_changes_in_files() {
    let applied = Applied::new();
    let directory = applied.work.path();
    let plan = ["plan", ".", "--server", "--repository", "fleet-config"];
    let told = windlass(&applied, directory, &plan);
    assert!(told.contains("No changes"), "{told}");
    fs::write(directory.join("files/nginx.conf"), "worker_processes 5;\n").unwrap();
    let told = windlass(&applied, directory, &plan);
    assert!(told.contains("~ module web") && told.contains("content[\"files/nginx.conf\"]"), "{told}");
    assert!(told.contains("the new content is not available here"), "{told}");
    applied.work.git(&["commit", "--quiet", "--all", "--message", "next"]);
    let proposed = applied.proposed();
    let told = windlass(&applied, directory, &["proposal", "show", &only(&proposed).id]);
    assert!(told.contains("changed file files/nginx.conf (30 → 20 bytes)"), "{told}");
    assert!(told.contains("-user www;"), "{told}");
}

#[test]
fn a_write_by_hand_keeps_known_content_and_names_no_other() {
    let applied = Applied::new();
    let api = applied.api();
    let before = api.resource(Noun::NodeModule, "web").unwrap();
    let after = api.patch(Noun::NodeModule, "web", &json!({"description": "changed by hand"})).unwrap();
    assert_ne!(before.digest, after.digest);
    assert_eq!(after.spec["host"]["files"]["/etc/nginx.conf"]["source"], "files/nginx.conf");
    let files = json!({"host": {"files": {"/etc/nginx.conf": {"source": "files/other.conf"}}}});
    let (status, _) = refused(api.patch(Noun::NodeModule, "web", &files));
    assert_eq!(status, 422, "nobody knows what is in it");
    let (status, _) =
        refused(api.create(Noun::Bundle, &json!({"name": "b", "path": "apps/app", "targets": []})));
    assert_eq!(status, 422);
    let given = json!({"host": {"files": {"/etc/nginx.conf": {"source": null, "content": "given"}}}});
    api.patch(Noun::NodeModule, "web", &given).unwrap();
    api.patch(Noun::NodeModule, "web", &json!({"description": ""})).unwrap();
    let drift = api.drift_report(&applied.repository);
    let told = serde_json::to_value(&drift).unwrap().to_string();
    assert!(told.contains("content[\\\"files/nginx.conf\\\"]"), "what was taken away is drift: {told}");
}

#[test]
fn an_edited_proposal_keeps_the_content_that_git_wants() {
    let applied = Applied::new();
    let api = applied.api();
    applied.work.commit("files/nginx.conf", "worker_processes 5;\n");
    let proposed = applied.proposed();
    let proposal = only(&proposed);
    let edit = |payload: Value| {
        let call = api.call(Operation::ProposalEdit, &[&proposal.id]).body(&json!({"payload": payload}));
        api.send::<Value>(call)
    };
    let mut payload = proposal.payload.clone();
    payload["host"]["files"]["/etc/nginx.conf"]["source"] = json!("files/secret.conf");
    assert_eq!(refused(edit(payload.clone())).0, 422);
    payload["host"]["files"]["/etc/nginx.conf"]["source"] = json!("files/nginx.conf");
    payload["priority"] = json!(60);
    edit(payload).unwrap();
    let edited = api.proposal(&proposal.id).unwrap();
    assert_eq!(
        edited.fields.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(),
        ["priority", "content[\"files/nginx.conf\"]"]
    );
    assert!(lines(&edited.content).contains("+worker_processes 5;"));
    api.approve(&proposal.id).unwrap();
    api.wait_for_status(&proposal.id, "applied");
    let accepted = api.resource(Noun::NodeModule, "web").unwrap();
    assert_eq!(accepted.spec["priority"], 60);
}

#[test]
fn a_server_that_lost_its_mirror_says_so_and_proposes_all_the_same() {
    let applied = Applied::new();
    let mirrors = applied.installation.data().join("mirrors");
    fs::remove_dir_all(&mirrors).unwrap();
    applied.work.commit("files/nginx.conf", "worker_processes 5;\n");
    // The history is short: the mirror is created again from the tip and fetches no more history than needed.
    applied.work.git(&["checkout", "--quiet", "--orphan", "fresh"]);
    applied.work.git(&["commit", "--quiet", "--all", "--message", "without history"]);
    applied.work.git(&["branch", "--force", "main", "fresh"]);
    applied.work.git(&["checkout", "--quiet", "main"]);
    let proposed = applied.proposed();
    let difference = &only(&proposed).content[0];
    assert!(difference.note.as_deref().unwrap().contains("is not in this copy of the repository"));
    assert_eq!(difference.files[0].change.slug(), "added");
    assert_eq!(difference.files[0].lines.as_deref(), Some("@@ -0,0 +1 @@\n+worker_processes 5;\n"));
}
