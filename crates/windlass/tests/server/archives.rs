//! Audit logs whose first entries are in archive files: created while the server is stopped, verified with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{AuditKeys, AuditVerdict, CheckpointEnvelope, CheckpointInfo};
use windlass_testkit::servers::Postgres;

use crate::api::Api;
use crate::installation::{Installation, Server};

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// An installation, with the URL of its database if it is not embedded.
struct World {
    installation: Installation,
    database: Option<String>,
}

impl World {
    fn on_both() -> Vec<World> {
        let mut worlds = vec![World { installation: Installation::new(), database: None }];
        if let Some(server) = Postgres::shared() {
            let url = server.fresh_database();
            let installation = Installation::with_database(url.clone());
            worlds.push(World { installation, database: Some(url) });
        }
        worlds
    }

    fn file(&self, name: &str) -> PathBuf {
        self.installation.data().with_file_name(name)
    }

    /// Runs `windlass audit archive …` on the server's machine.
    fn archive(&self, up_to: i64, file: &Path) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["audit", "archive", "--up-to", &up_to.to_string(), "--out"]).arg(file);
        command.arg("--data-dir").arg(self.installation.data());
        if let Some(database) = &self.database {
            command.args(["--database", database]);
        }
        command.output().unwrap()
    }

    /// Runs `windlass audit verify …` as the administrator.
    fn verify(&self, server: &Server, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["audit", "verify"])
            .args(arguments)
            .env("WINDLASS_SERVER", &server.address)
            .env("WINDLASS_TOKEN", self.installation.token().unwrap())
            .output()
            .unwrap()
    }
}

fn act(api: &Api, name: &str) {
    let body = json!({"name": name, "node_platform": "ubuntu-24.04-amd64"});
    let operation = Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create);
    api.text(api.call(operation, &[]).body(&body)).unwrap();
}

fn sign(api: &Api) -> CheckpointInfo {
    let made: CheckpointEnvelope = api.send(api.call(Operation::CheckpointCreate, &[])).unwrap();
    made.checkpoint
}

fn verdict(api: &Api) -> AuditVerdict {
    api.send(api.call(Operation::AuditVerify, &[])).unwrap()
}

#[test]
fn archives_and_the_log_that_continues_them_verify_as_one() {
    for world in World::on_both() {
        let server = world.installation.serve(&[]);
        act(&server.api, "one");
        let first = sign(&server.api);
        act(&server.api, "two");
        let second = sign(&server.api);
        let key =
            server.api.send::<AuditKeys>(server.api.call(Operation::AuditKeyShow, &[])).unwrap().public_key;
        let (one, two) = (world.file("one.jsonl"), world.file("two.jsonl"));
        if world.database.is_none() {
            let refused = world.archive(first.seq, &one);
            assert!(printed(&refused).contains("a running server uses this data"), "{}", printed(&refused));
        }
        server.stop();
        for (up_to, file) in [(first.seq, &one), (second.seq, &two)] {
            let archived = world.archive(up_to, file);
            assert!(archived.status.success(), "{}", printed(&archived));
            let again = world.archive(up_to, file);
            assert!(again.status.success(), "{}", printed(&again));
            assert!(printed(&again).contains("nothing changed"), "{}", printed(&again));
        }

        let server = world.installation.serve(&[]);
        let found = verdict(&server.api);
        assert_eq!((found.intact, found.archived_to), (true, Some(second.seq)), "{found:?}");
        act(&server.api, "three");
        assert!(sign(&server.api).seq > second.seq, "the server signs on");
        let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
        for arguments in [
            &["--archive", two, one][..],
            &["--archive", one, "--archive", two, "--public-key", &key],
            &["--archive", one, two, "--expect", &first.head],
            &["--expect", &second.head],
        ] {
            let fine = world.verify(&server, arguments);
            assert!(fine.status.success(), "{arguments:?}: {}", printed(&fine));
        }
        let missing = world.verify(&server, &["--archive", one]);
        assert_eq!(missing.status.code(), Some(1), "{}", printed(&missing));
        assert!(printed(&missing).contains("in archives that you did not give"), "{}", printed(&missing));
        let gap = world.verify(&server, &["--archive", two]);
        assert_eq!(gap.status.code(), Some(1), "{}", printed(&gap));
        let text = fs::read_to_string(one).unwrap();
        fs::write(one, text.replacen("\"done\"", "\"refused\"", 1)).unwrap();
        let changed = world.verify(&server, &["--archive", one, two]);
        assert_eq!(changed.status.code(), Some(1), "{}", printed(&changed));
        assert!(printed(&changed).contains("its content was modified"), "{}", printed(&changed));
        server.stop();
        let doctor = printed(&world.installation.command("doctor").output().unwrap());
        assert!(doctor.contains("ok    the audit logs continue the signed heads"), "{doctor}");
    }
}

#[test]
fn a_limit_before_every_checkpoint_archives_nothing() {
    let world = World { installation: Installation::new(), database: None };
    let server = world.installation.serve(&[]);
    act(&server.api, "one");
    sign(&server.api);
    server.stop();
    let file = world.file("none.jsonl");
    let refused = world.archive(0, &file);
    assert_eq!(refused.status.code(), Some(1), "{}", printed(&refused));
    assert!(printed(&refused).contains("no signed checkpoint"), "{}", printed(&refused));
    assert!(!file.exists());
}
