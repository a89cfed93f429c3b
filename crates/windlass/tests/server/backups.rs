//! Backup of a running server, restore, and the report of the doctor.

use std::process::Output;

use windlass_api::noun::Noun;

use crate::fleet::{nodes, register, repository_with};
use crate::installation::Installation;

fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_is_backed_up_while_a_server_works_is_restored_as_it_was() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..2));
    let id = register(api, "fleet-config", &work).id;
    api.apply_all(&id).unwrap();
    let before = api.resources().unwrap();
    let file = work.path().join("backup.db");
    let written = installation.command("backup").arg(&file).output().unwrap();
    assert!(written.status.success(), "{}", printed(&written));
    api.delete(Noun::Node, "web-001").unwrap();

    let refused = installation.command("restore").arg(&file).output().unwrap();
    assert!(!refused.status.success(), "a running server's data is not replaced");
    assert!(printed(&refused).contains("a running server uses this data"), "{}", printed(&refused));
    server.stop();
    let restored = installation.command("restore").arg(&file).output().unwrap();
    assert!(restored.status.success(), "{}", printed(&restored));

    let server = installation.serve(&[]);
    assert_eq!(server.api.resources().unwrap(), before);
    let run = server.api.sync(&id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("success", 0), "{run:?}");
    server.stop();
}

#[test]
fn a_damaged_backup_is_not_put_in_place() {
    let installation = Installation::new();
    installation.serve(&[]).stop();
    let file = installation.data().join("not-a-backup");
    std::fs::write(&file, "this is no database at all".repeat(500)).unwrap();
    let refused = installation.command("restore").arg(&file).output().unwrap();
    assert!(!refused.status.success());
    assert!(printed(&refused).contains("nothing was changed"), "{}", printed(&refused));
    let server = installation.serve(&[]);
    assert!(server.api.resources().unwrap().is_empty());
    server.stop();
}

#[test]
fn the_doctor_finds_no_fault_with_the_data_while_a_server_works_and_afterwards() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(&nodes("web", "web", 0..2));
    let id = register(&server.api, "fleet-config", &work).id;
    server.api.apply_all(&id).unwrap();
    let examine = || {
        let text = printed(&installation.command("doctor").output().unwrap());
        // Whether ssh is installed does not matter here.
        let faults: Vec<&str> =
            text.lines().filter(|line| line.contains("FAULT") && !line.contains("ssh")).collect();
        assert!(faults.is_empty() && text.contains("ok    "), "{text}");
    };
    examine();
    server.stop();
    examine();
}
