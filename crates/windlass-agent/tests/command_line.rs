//! The binary as people use it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Map, json};
use windlass_core::host::{ModulePackage, NodeDocument, NodeModule};
use windlass_core::resource::{Kind, Spec};

fn agent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_windlass-agent"))
        .args(arguments)
        .env_remove("WINDLASS_ENROLMENT_KEY")
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes a document with one module, and its package.
fn write_input(directory: &Path, content: &str) {
    let spec =
        json!({"host": {"files": {"/etc/motd": {"content": content}}, "packages": ["curl"]}}).to_string();
    let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec) else { panic!("not a module") };
    let package = ModulePackage { name: "motd".to_owned(), spec, files: Default::default() };
    let module = NodeModule {
        name: "motd".to_owned(),
        version: None,
        package: package.digest(),
        priority: 50,
        depends_on: Vec::new(),
        config: Map::new(),
    };
    let document = NodeDocument { node: Map::new(), config: Map::new(), modules: vec![module] };
    fs::create_dir_all(directory.join("packages")).unwrap();
    fs::write(directory.join("packages/motd"), package.to_bytes()).unwrap();
    fs::write(directory.join("document.json"), document.to_bytes()).unwrap();
}

#[test]
fn a_document_is_applied_by_hand_and_the_dry_run_shows_the_difference() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(path("root")).unwrap();
    let (document, packages, root) = (path("document.json"), path("packages"), path("root"));
    let apply = |more: &[&str]| {
        let mut arguments = vec!["apply", "--document", &document, "--packages", &packages, "--root", &root];
        arguments.extend(more);
        agent(&arguments)
    };
    write_input(directory.path(), "hello\n");
    let dry = apply(&["--dry-run"]);
    assert_eq!(dry.status.code(), Some(2), "{}", err(&dry));
    assert!(out(&dry).contains("+ path /etc/motd (module motd)"), "{}", out(&dry));
    assert!(out(&dry).ends_with("2 of 2 items would change.\n"), "{}", out(&dry));
    assert!(!directory.path().join("root/etc").exists());
    assert_eq!(apply(&[]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(path("root/etc/motd")).unwrap(), "hello\n");
    write_input(directory.path(), "hello \u{1b}[31mworld\n");
    let changed = apply(&["--dry-run"]);
    assert!(out(&changed).contains("-hello\n"), "{}", out(&changed));
    assert!(!out(&changed).contains('\u{1b}'), "no escape sequence reaches the terminal");
    fs::remove_file(path("packages/motd")).unwrap();
    let missing = apply(&[]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(err(&missing).contains("the package of module motd is missing"), "{}", err(&missing));
}

#[test]
fn errors_say_what_to_do_and_have_their_exit_codes() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state").to_str().unwrap().to_owned();
    for (arguments, code, words) in [
        (vec!["status", "--state", &state], 1, "windlass node enroll"),
        (vec!["run", "--state", &state], 1, "windlass node enroll"),
        (vec!["self-check", "--state", &state], 1, "not enrolled"),
        (vec!["enroll", "--state", &state, "windlass1.AAAA"], 64, "copy the whole line"),
        (vec!["run", "--interval", "1"], 64, "5..=86400"),
        (vec!["frobnicate"], 64, "unrecognized subcommand"),
    ] {
        let output = agent(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(words), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn help_version_and_unit_are_printed() {
    let help = agent(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    for word in ["enroll", "self-check", "Exit codes:", "77"] {
        assert!(out(&help).contains(word), "{word}");
    }
    assert!(out(&agent(&["--version"])).starts_with("windlass-agent "));
    let unit = out(&agent(&["unit"]));
    assert!(unit.contains("run --state /var/lib/windlass-agent"), "{unit}");
}
