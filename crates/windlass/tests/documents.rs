//! Tests of the documentation: examples work, generated pages are up to date, schemas are right.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{check_file, command, project_root, run, stderr, stdout};
use windlass_core::shape::{Decoder, Shape as _};
use windlass_core::yaml;

fn document(name: &str) -> String {
    format!("crates/windlass/tests/documents/{name}")
}

fn digest_of(path: &str) -> String {
    let output = run(&["validate", path, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{path}: {}", stdout(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["digest"].as_str().unwrap().to_owned()
}

#[test]
fn the_fleets_of_the_powernode_documents_validate_as_printed() {
    for name in ["runbook.yaml", "tutorial.yaml"] {
        digest_of(&document(name));
    }
}

#[test]
fn the_tutorials_list_form_and_the_same_fleet_as_maps_are_one_fleet() {
    assert_eq!(digest_of(&document("tutorial.yaml")), digest_of(&document("tutorial-as-map.yaml")));
}

#[test]
fn the_examples_validate() {
    for example in ["examples/edge", "examples/edge-before"] {
        let output = run(&["validate", example]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output), "", "examples are free of warnings");
    }
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string(project_root().join("README.md")).unwrap();
    let mut blocks = readme.split("```text\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let validated = run(&["validate", "examples/edge"]);
    let planned = run(&["plan", "examples/edge", "--from", "examples/edge-before"]);
    for output in [validated, planned] {
        let printed = stdout(&output);
        let mut lines = printed.lines();
        // The README omits lines, but shows the others in order.
        for shown in blocks.next().unwrap().lines().filter(|line| !matches!(line.trim(), "" | "…")) {
            assert!(lines.any(|line| line == shown), "the program does not print: {shown}");
        }
    }
}

#[test]
fn the_generated_reference_is_up_to_date() {
    let written = tempfile::tempdir().unwrap();
    let output = run(&["reference", "--dir", written.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for page in fs::read_dir(written.path()).unwrap().map(|entry| entry.unwrap().path()) {
        let committed = project_root().join("docs/reference").join(page.file_name().unwrap());
        check_file(&committed, &fs::read_to_string(&page).unwrap());
    }
}

/// A fenced block of a page: its line and its text.
struct Block {
    place: String,
    is_fleet: bool,
    text: String,
}

fn pages(directory: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            pages(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

fn yaml_blocks() -> Vec<Block> {
    let mut found = Vec::new();
    pages(&project_root(), &mut found);
    found.sort();
    found.iter().flat_map(|page| blocks_of(page)).collect()
}

fn blocks_of(page: &Path) -> Vec<Block> {
    let text = fs::read_to_string(page).unwrap();
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_end()) {
            (None, fence) if fence.starts_with("```yaml") => {
                open = Some(Block {
                    place: format!("{}:{}", page.display(), number + 1),
                    is_fleet: fence == "```yaml",
                    text: String::new(),
                });
            }
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

/// A block as a complete fleet: a fragment gets the first lines that it omits.
fn as_fleet(text: &str) -> String {
    let has_version = text.lines().any(|line| line.starts_with("version:"));
    let head = if has_version { "" } else { "version: 1\naccount: acme\n" };
    format!("{head}{text}")
}

#[test]
fn every_yaml_block_of_our_own_documentation_validates() {
    let directory = tempfile::tempdir().unwrap();
    let mut fleets = 0;
    for block in yaml_blocks() {
        let (tree, findings) = yaml::parse(&block.text);
        assert!(tree.is_some() || !block.is_fleet, "{}: {findings:?}", block.place);
        if !block.is_fleet {
            continue;
        }
        fleets += 1;
        let path = directory.path().join("fleet.yaml");
        fs::write(&path, as_fleet(&block.text)).unwrap();
        let output = run(&["validate", path.to_str().unwrap(), "--format", "json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        // The paths in a block do not exist; everything else must be valid.
        let errors: Vec<&Value> = answer["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|problem| problem["severity"] == "error" && problem["code"] != "path-missing")
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", block.place);
    }
    assert!(fleets > 0, "no block was found, so nothing was checked");
}

fn schema() -> Value {
    serde_json::from_slice(&run(&["schema"]).stdout).unwrap()
}

fn as_json(text: &str) -> Value {
    let tree = yaml::parse(text).0.unwrap();
    Value::decode(tree.root(), &mut Decoder::default()).unwrap()
}

#[test]
fn the_schema_is_a_json_schema_and_accepts_what_validate_accepts() {
    let schema = schema();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut texts: Vec<(String, String)> = yaml_blocks()
        .into_iter()
        .filter(|block| block.is_fleet)
        .map(|block| (block.place, as_fleet(&block.text)))
        .collect();
    for path in [
        document("runbook.yaml"),
        document("tutorial.yaml"),
        document("tutorial-as-map.yaml"),
        "examples/edge/fleet.yaml".to_owned(),
        "examples/edge/fleet.d/network.yaml".to_owned(),
        "examples/edge/fleet.d/clusters.yaml".to_owned(),
        "examples/edge-before/fleet.yaml".to_owned(),
        "crates/windlass-core/src/catalogue.yaml".to_owned(),
    ] {
        texts.push((path.clone(), fs::read_to_string(project_root().join(path)).unwrap()));
    }
    for (place, text) in texts {
        let problems: Vec<String> =
            validator.iter_errors(&as_json(&text)).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{place}: {problems:#?}");
    }
}

#[test]
fn the_policies_of_our_own_documentation_are_policies_for_the_reader_and_for_editors() {
    let schema = windlass_core::schema::policy_schema();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let blocks = blocks_of(&project_root().join("docs/concepts/approval-policies.md"));
    assert!(!blocks.is_empty());
    for block in blocks {
        let (policy, problems) = windlass_core::gate::Policy::read("policy.yaml", &block.text);
        assert!(policy.is_some() && problems.is_empty(), "{}: {problems:#?}", block.place);
        assert!(validator.is_valid(&as_json(&block.text)), "{}", block.place);
    }
    for wrong in [
        "rules: [{name: a}]",
        "rules: [{name: a, action: allow}]",
        "rules: [{name: a, action: block, why: b}]",
    ] {
        assert!(!validator.is_valid(&as_json(wrong)), "{wrong}");
    }
}

#[test]
fn the_schema_refuses_what_an_editor_should_underline() {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    for wrong in [
        "nodes: [{hostname: a, template: t, regoin: x}]",
        "nodes: {a: {region: x}}",
        "nodes: [{template: t}]",
        "nodes: [{hostname: A_B, template: t}]",
        "templates: {t: {modules: [nginx@latest]}}",
        "sdwan: {networks: {n: {routing_mode: rip}}}",
        "bundles: {b: {path: x, timeout: soon}}",
        "version: 2",
        "frob: 1",
    ] {
        assert!(!validator.is_valid(&as_json(wrong)), "{wrong}");
    }
}

#[test]
fn explain_answers_for_kinds_fields_and_codes() {
    for (topic, answer) in [
        ("node.template", "The template the machine is built from."),
        ("bundle.rollout.max_unavailable", "Default: 100%"),
        ("network.routing_mode", "ibgp: Peers speak iBGP"),
        ("unknown-key", "Unknown keys are errors"),
        ("node", "lifecycle_class"),
    ] {
        let output = run(&["explain", topic]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains(answer), "{topic}: {}", stdout(&output));
    }
    let unknown = run(&["explain", "node.lables"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("did you mean `node.labels`?"));
}

#[test]
fn completions_and_man_pages_come_from_the_program() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success() && stdout(&output).contains("validate"), "{shell}");
    }
    let directory = tempfile::tempdir().unwrap();
    let output = command(&["man", "--dir", directory.path().to_str().unwrap()]).output().unwrap();
    assert!(output.status.success());
    assert!(directory.path().join("windlass-plan.1").is_file());
    assert!(stdout(&run(&["man"])).contains(".TH windlass 1"));
}

/// The `windlass` commands in a pipeline's file, split as by a shell.
fn commands_in(text: &str) -> Vec<Vec<String>> {
    let ours = text.lines().filter_map(|line| {
        let line = line.trim_start().trim_start_matches("- ").trim_start_matches("run: ");
        line.strip_prefix("windlass ")
    });
    let before_shell = |line: &str| line.split(['>', '|']).next().unwrap().trim().to_owned();
    ours.map(|line| before_shell(line).split(' ').map(|word| word.trim_matches('"').to_owned()).collect())
        .collect()
}

#[test]
fn the_pipelines_of_the_guide_are_the_examples_and_their_commands_are_understood() {
    let guide = fs::read_to_string(project_root().join("docs/guide/ci.md")).unwrap();
    for name in ["github", "gitea", "gitlab"] {
        let text = fs::read_to_string(project_root().join(format!("examples/ci/{name}.yaml"))).unwrap();
        assert!(
            guide.contains(&format!("```yaml not-a-fleet\n{text}```")),
            "{name}: the guide shows another"
        );
        let (tree, findings) = yaml::parse(&text);
        assert!(tree.is_some() && findings.is_empty(), "{name}: {findings:?}");
        let commands = commands_in(&text);
        assert!(commands.iter().any(|command| command[0] == "plan"), "{name}: {commands:?}");
        for arguments in commands {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let home = tempfile::tempdir().unwrap();
            let mut asked = command(&arguments);
            asked.current_dir(project_root().join("examples/edge")).env("HOME", home.path());
            for variable in ["WINDLASS_SERVER", "WINDLASS_TOKEN", "XDG_CONFIG_HOME"] {
                asked.env_remove(variable);
            }
            let output = asked.output().unwrap();
            let expected = if arguments[0] == "plan" { 69 } else { 0 };
            assert_eq!(output.status.code(), Some(expected), "{name}: {arguments:?}: {}", stderr(&output));
        }
    }
}
