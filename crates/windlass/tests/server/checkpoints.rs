//! Signed checkpoints of the audit log: made automatically and on request, exported, and not forgeable by someone who
//! can write to the database.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::json;
use windlass_api::client::ClientError;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{AuditKeys, AuditVerdict, CheckpointEnvelope, CheckpointInfo, CheckpointList, Me};
use windlass_core::id::{AccountId, AuditKeyId};
use windlass_server::first_fault;
use windlass_store::{Actor, Address, AuditEntry, Checkpoint, LogVerification, Outcome, Store};

use crate::api::Api;
use crate::installation::{Installation, Server};
use crate::receiver::Receiver;

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
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

fn verdict(api: &Api, expect: Option<&str>) -> AuditVerdict {
    api.send(api.call(Operation::AuditVerify, &[]).query_if("expect", expect)).unwrap()
}

fn keys(api: &Api) -> AuditKeys {
    api.send(api.call(Operation::AuditKeyShow, &[])).unwrap()
}

fn checkpoints(api: &Api, chain: Option<&str>) -> Vec<CheckpointInfo> {
    let call = api.call(Operation::CheckpointList, &[]).query_if("chain", chain);
    api.send::<CheckpointList>(call).unwrap().checkpoints
}

/// Runs `windlass audit …` as the administrator.
fn audit(installation: &Installation, server: &Server, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
        .arg("audit")
        .args(arguments)
        .env("WINDLASS_SERVER", &server.address)
        .env("WINDLASS_TOKEN", installation.token().unwrap())
        .output()
        .unwrap()
}

fn database(installation: &Installation) -> PathBuf {
    installation.data().join("windlass.db")
}

#[test]
fn every_chain_is_signed_when_the_server_starts_and_on_request() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    // Signed in the loop's first iteration: the account's log as soon as it has an entry, and the installation's.
    for chain in [None, Some("installation")] {
        let found = api.wait_for("the first checkpoint", |api| checkpoints(api, chain).pop());
        assert!(found.seq >= 1);
        assert_eq!(found.account_id.is_empty(), chain.is_some(), "{found:?}");
        let keys = keys(api);
        assert_eq!(first_fault(&keys.public_key, &keys.keys, &[found]), None);
    }
    act(api, "one");
    let made = sign(api);
    let verified = verdict(api, Some(&made.head));
    assert_eq!((verified.intact, verified.signed_to), (true, Some(made.seq)), "{verified:?}");
    assert_eq!(sign(api), made, "nothing new, nothing to sign");
    let unknown = verdict(api, Some("0000"));
    assert!(!unknown.intact && unknown.reason.unwrap().contains("no entry has the expected hash"));
    let fine = audit(&installation, &server, &["verify", "--expect", &made.head]);
    assert!(fine.status.success(), "{}", printed(&fine));
    let bad = audit(&installation, &server, &["verify", "--expect", "0000"]);
    assert_eq!(bad.status.code(), Some(1), "{}", printed(&bad));
    server.stop();
}

/// A forged database: restored from a backup, and extended with other entries whose hashes are valid.
fn forge(installation: &Installation, backup: &PathBuf, account: &AccountId, entries: usize) {
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", database(installation).display()));
    }
    fs::copy(backup, database(installation)).unwrap();
    wait(async {
        let store = Store::open(&Address::Sqlite(database(installation))).await.unwrap();
        let mut writing = store.write_account(account).await.unwrap();
        for number in 0..entries {
            writing.audit(AuditEntry {
                actor: Actor::windlass(),
                action: "template.create",
                target_kind: "template".to_owned(),
                target: format!("nothing-to-see-{number}"),
                outcome: Outcome::Done,
                before: None,
                after: None,
                detail: json!({}),
                at: windlass_core::time::Timestamp::from_millis(1_000),
            });
        }
        writing.commit().await.unwrap();
        let verified = store.read().await.unwrap().audit_verify(account).await.unwrap();
        assert!(
            matches!(verified, LogVerification::Intact { .. }),
            "the hashes alone tell nothing: {verified:?}"
        );
        store.close().await;
    });
}

/// A server whose log was signed up to an entry, then stopped; a backup from before that entry; the account's id.
fn signed_world(installation: &Installation) -> (PathBuf, AccountId, CheckpointInfo) {
    let server = installation.serve(&[]);
    act(&server.api, "before");
    sign(&server.api);
    let backup = installation.data().join("earlier.db");
    let written = installation.command("backup").arg(&backup).output().unwrap();
    assert!(written.status.success(), "{}", printed(&written));
    act(&server.api, "what-shall-not-have-been");
    let kept = sign(&server.api);
    let me: Me = server.api.send(server.api.call(Operation::Me, &[])).unwrap();
    server.stop();
    (backup, AccountId::new(me.account_id), kept)
}

#[test]
fn a_fully_recomputed_log_does_not_verify_and_is_not_signed() {
    let installation = Installation::new();
    let (backup, account, kept) = signed_world(&installation);
    forge(&installation, &backup, &account, 5);
    let server = installation.serve(&[]);
    let found = verdict(&server.api, None);
    assert!(!found.intact, "{found:?}");
    assert!(!verdict(&server.api, Some(&kept.head)).intact);
    let failed = audit(&installation, &server, &["verify", "--expect", &kept.head]);
    assert_eq!(failed.status.code(), Some(1), "{}", printed(&failed));
    refused_to_sign(&server.api);
    let status = server.api.text(server.api.call(Operation::Status, &[])).unwrap();
    assert!(status.contains("signing of the audit log stopped"), "{status}");
    server.stop();
    let doctor = printed(&installation.command("doctor").output().unwrap());
    assert!(doctor.contains("FAULT the audit logs continue the signed heads"), "{doctor}");
}

/// Requests a signature that must be refused.
fn refused_to_sign(api: &Api) {
    match api.send::<CheckpointEnvelope>(api.call(Operation::CheckpointCreate, &[])) {
        Err(ClientError::Refused { status: 409, body }) => assert_eq!(body.code, "audit-broken"),
        other => panic!("{:?}", other.map(|made| made.checkpoint)),
    }
}

#[test]
fn a_head_signed_by_one_replica_cannot_be_rewritten_through_another() {
    let installation = Installation::new();
    let (backup, account, kept) = signed_world(&installation);
    // Two replicas remember different heads: the first signed all, the second nothing.
    let memory = installation.data().join("audit-heads.json");
    let of_first = fs::read(&memory).unwrap();
    fs::remove_file(&memory).unwrap();
    forge(&installation, &backup, &account, 5);
    let second = installation.serve(&[]);
    act(&second.api, "more");
    assert!(sign(&second.api).seq > kept.seq, "the second cannot know better");
    second.stop();
    fs::write(&memory, of_first).unwrap();
    let first = installation.serve(&[]);
    act(&first.api, "and-more");
    refused_to_sign(&first.api);
    assert!(!verdict(&first.api, None).intact);
    first.stop();
}

#[test]
fn a_head_signed_by_another_replica_is_stored_after_verification() {
    let installation = Installation::new();
    let (backup, account, kept) = signed_world(&installation);
    let memory = installation.data().join("audit-heads.json");
    fs::remove_file(&memory).unwrap();
    let second = installation.serve(&[]);
    second.api.wait_for("the head that the other one signed", |_| {
        fs::read_to_string(&memory).ok().filter(|text| text.contains(&kept.head))
    });
    second.stop();
    forge(&installation, &backup, &account, 5);
    let second = installation.serve(&[]);
    refused_to_sign(&second.api);
    second.stop();
}

#[test]
fn checkpoints_that_others_signed_or_moved_are_found_without_the_servers_memory() {
    let installation = Installation::new();
    let (backup, account, kept) = signed_world(&installation);
    // The valid signature of another history.
    forge(&installation, &backup, &account, 5);
    let add = |checkpoint: Checkpoint| {
        wait(async {
            let store = Store::open(&Address::Sqlite(database(&installation))).await.unwrap();
            let mut writing = store.write().await.unwrap();
            writing.checkpoint_add(&checkpoint, None).await.unwrap();
            writing.commit().await.unwrap();
            store.close().await;
        });
    };
    let stored = |info: &CheckpointInfo| Checkpoint {
        account_id: AccountId::new(&info.account_id),
        seq: info.seq,
        hash: info.head.clone(),
        at: windlass_core::time::Timestamp::parse(&info.at).unwrap(),
        key_id: AuditKeyId::new(&info.key_id),
        signature: info.signature.clone(),
    };
    add(stored(&kept));
    let memory = installation.data().join("audit-heads.json");
    fs::remove_file(&memory).unwrap();
    let server = installation.serve(&[]);
    let found = verdict(&server.api, None);
    assert!(!found.intact && found.reason.as_deref().unwrap().contains("rewritten"), "{found:?}");
    server.stop();
    // A forged signature of the stored history.
    forge(&installation, &backup, &account, 5);
    let head = wait(async {
        let store = Store::open(&Address::Sqlite(database(&installation))).await.unwrap();
        let newest = store.read().await.unwrap().audit(&account, None, i64::MAX, 1).await.unwrap().remove(0);
        store.close().await;
        newest
    });
    add(Checkpoint { seq: head.seq, hash: head.hash, ..stored(&kept) });
    let _ = fs::remove_file(&memory);
    let server = installation.serve(&[]);
    let found = verdict(&server.api, None);
    assert!(!found.intact && found.reason.as_deref().unwrap().contains("signature"), "{found:?}");
    server.stop();
}

#[test]
fn checkpoints_are_sent_elsewhere_until_they_arrive() {
    let installation = Installation::new();
    let receiver = Receiver::start();
    receiver.answer("503 Not now");
    let file = installation.data().with_file_name("checkpoints.jsonl");
    let (path, url) = (file.display().to_string(), receiver.url("/checkpoints"));
    let options = [
        "--audit-checkpoints-file",
        path.as_str(),
        "--audit-checkpoints-webhook",
        url.as_str(),
        "--audit-checkpoint-interval",
        "100ms",
    ];
    let server = installation.serve(&options);
    let keys = keys(&server.api);
    act(&server.api, "one");
    let made = sign(&server.api);
    let mut arrived = Vec::new();
    while !arrived.contains(&made) {
        let received: CheckpointInfo = serde_json::from_str(&receiver.next().body).unwrap();
        assert_eq!(first_fault(&keys.public_key, &keys.keys, std::slice::from_ref(&received)), None);
        arrived.push(received);
    }
    let lines = fs::read_to_string(&file).unwrap();
    let written: Vec<CheckpointInfo> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(written.contains(&made), "{written:?}");
    assert!(
        arrived.iter().filter(|it| **it == arrived[0]).count() > 1,
        "what was refused came again: {arrived:?}"
    );
    server.stop();
}

#[test]
fn whoever_kept_a_public_key_verifies_across_a_rotation_and_notices_a_reset() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    act(&server.api, "one");
    sign(&server.api);
    let old = String::from_utf8(audit(&installation, &server, &["key"]).stdout).unwrap().trim().to_owned();
    assert_eq!(old, keys(&server.api).public_key);
    server.stop();
    let data = installation.data().display().to_string();
    let key = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        let output = command.arg("key").args(arguments).args(["--data-dir", &data]).output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
    };
    let verify = |server: &Server, public_key: &str| {
        audit(&installation, server, &["verify", "--public-key", public_key])
    };
    key(&["rotate"]);
    let server = installation.serve(&[]);
    act(&server.api, "two");
    sign(&server.api);
    let new = keys(&server.api).public_key;
    assert_ne!(new, old);
    for public_key in [&old, &new] {
        let output = verify(&server, public_key);
        assert!(output.status.success(), "{}", printed(&output));
    }
    server.stop();
    key(&["reset", "--yes"]);
    let recovered = printed(&installation.command("recover-admin").output().unwrap());
    let password = recovered.lines().find_map(|line| line.trim().strip_prefix("password ")).unwrap().trim();
    let server = installation.launch(None, &[]);
    let token = crate::installation::choose_own_password(&server, "admin@localhost", password);
    let api = Api::new(&server.address, Some(&token));
    act(&api, "three");
    sign(&api);
    let ask = |public_key: &str| {
        Command::new(env!("CARGO_BIN_EXE_windlass"))
            .args(["audit", "verify", "--public-key", public_key])
            .env("WINDLASS_SERVER", &server.address)
            .env("WINDLASS_TOKEN", &token)
            .output()
            .unwrap()
    };
    let refused = ask(&new);
    assert_eq!(refused.status.code(), Some(1), "{}", printed(&refused));
    assert!(printed(&refused).contains("does not certify"), "{}", printed(&refused));
    let fine = ask(&keys(&api).public_key);
    assert!(fine.status.success(), "{}", printed(&fine));
    server.stop();
}
