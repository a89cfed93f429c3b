//! `windlass plan`, as a person or a pipeline runs it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{check_golden, project_root, run, stderr, stdout};

fn edge_plan(format: &str) -> std::process::Output {
    run(&["plan", "examples/edge", "--from", "examples/edge-before", "--format", format])
}

#[test]
fn the_example_gives_the_same_ordered_plan_in_three_formats() {
    for (format, golden) in [("human", "plan.txt"), ("json", "plan.json"), ("markdown", "plan.md")] {
        let output = edge_plan(format);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        check_golden(golden, &stdout(&output));
    }
}

#[test]
fn the_same_state_needs_no_plan() {
    let output = run(&["plan", "examples/edge", "--from", "examples/edge"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "No changes: 21 resources in sync\n");
}

#[test]
fn colour_follows_the_terminal_the_option_and_the_environment() {
    let plan = ["plan", "examples/edge", "--from", "examples/edge-before"];
    assert!(!stdout(&run(&plan)).contains('\u{1b}'), "a pipe is not a terminal");
    let always = [&plan[..], &["--color", "always"]].concat();
    assert!(stdout(&run(&always)).contains("\u{1b}[32m+ module nginx-public"));
    let forced = support::command(&plan).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(stdout(&forced).contains('\u{1b}'));
    let refused = support::command(&plan).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!stdout(&refused).contains('\u{1b}'));
}

#[test]
fn the_width_follows_the_terminal() {
    let narrow = support::command(&["plan", "examples/edge", "--from", "examples/edge-before"])
        .env("COLUMNS", "60")
        .output();
    let text = stdout(&narrow.unwrap());
    let body = text.lines().skip(2).filter(|line| line.starts_with("         ") && !line.contains("after"));
    assert!(body.clone().count() > 10);
    for line in body.filter(|line| line.contains('…')) {
        assert!(line.chars().count() <= 60, "{line}");
    }
}

#[test]
fn an_emptied_fleet_is_stopped_until_it_is_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("fleet.yaml");
    fs::write(&empty, "version: 1\naccount: acme\n").unwrap();
    let empty = empty.to_str().unwrap();
    let stopped = run(&["plan", empty, "--from", "examples/edge-before"]);
    assert_eq!(stopped.status.code(), Some(1));
    let told = stderr(&stopped);
    assert!(told.contains("error[mass-destroy]: this would destroy 13 of the 15 resources"), "{told}");
    let confirmed = run(&["plan", empty, "--from", "examples/edge-before", "--confirm-mass-destroy"]);
    assert_eq!(confirmed.status.code(), Some(2));
}

#[test]
fn the_cap_says_how_many_runs_a_plan_takes() {
    let mut command = support::command(&["plan", "examples/edge", "--from", "examples/edge-before"]);
    let output = command.env("POWERNODE_GITOPS_MAX_PROPOSALS_PER_TICK", "5").output().unwrap();
    assert!(stdout(&output).contains("At most 5 changes are open at a time: this plan takes 4 batches."));
    let output =
        run(&["plan", "examples/edge", "--from", "examples/edge-before", "--max-proposals-per-tick", "0"]);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn a_state_with_problems_cannot_be_planned_from_or_to() {
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("fleet.yaml");
    fs::write(&broken, "version: 1\naccount: acme\nnodes: [{hostname: a}]\n").unwrap();
    let broken = broken.to_str().unwrap();
    for arguments in
        [["plan", "examples/edge", "--from", broken], ["plan", broken, "--from", "examples/edge"]]
    {
        let human = run(&arguments);
        assert_eq!(human.status.code(), Some(1));
        assert!(stderr(&human).contains("error[missing-key]: `template` is missing"), "{}", stderr(&human));
        assert_eq!(stdout(&human), "✗ no plan: 1 error\n", "what a broken fleet leaves out is not a destroy");
        let json = run(&[&arguments[..], &["--format", "json"]].concat());
        assert_eq!(json.status.code(), Some(1));
        let plan: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(
            (plan["steps"].as_array().unwrap().len(), &plan["problems"][0]["code"]),
            (0, &"missing-key".into())
        );
        let markdown = run(&[&arguments[..], &["--format", "markdown"]].concat());
        assert!(
            stdout(&markdown).starts_with("### Windlass: no plan, the fleet has errors"),
            "{}",
            stdout(&markdown)
        );
    }
}

#[test]
fn where_there_is_no_fleet_yet_everything_is_new() {
    let empty = tempfile::tempdir().unwrap();
    let output = run(&["plan", "examples/edge-before", "--from", empty.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stdout(&output).contains("15 to create, 0 to update, 0 to destroy"));
}

#[test]
fn a_problem_that_only_the_comparison_shows_has_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let (before, after) = (directory.path().join("before.yaml"), directory.path().join("after.yaml"));
    let head = "version: 1\naccount: acme\n";
    let template = "templates: {t: {node_platform: debian-12-amd64}}\n";
    fs::write(&before, format!("{head}{template}nodes: {{n: {{template: t}}}}\n")).unwrap();
    fs::write(&after, format!("{head}nodes: {{n: {{template: t}}}}\n")).unwrap();
    let output =
        run(&["plan", after.to_str().unwrap(), "--from", before.to_str().unwrap(), "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = plan["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert_eq!(problems[0]["code"], "reference-destroyed");
    assert_eq!((&problems[0]["line"], &problems[0]["column"]), (&3.into(), &23.into()));
}

#[test]
fn wrong_usage_exits_with_64_and_help_with_0() {
    assert_eq!(run(&["plan"]).status.code(), Some(64));
    assert_eq!(run(&["frobnicate"]).status.code(), Some(64));
    assert_eq!(run(&["--help"]).status.code(), Some(0));
    assert_eq!(run(&["--version"]).status.code(), Some(0));
}

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", stderr(&output));
}

fn repository_with_history() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let fleet = directory.path().join("environments/prod");
    fs::create_dir_all(fleet.join("fleet.d")).unwrap();
    fs::write(fleet.join("fleet.yaml"), "version: 1\naccount: acme\ninclude: [\"fleet.d/*.yaml\"]\n")
        .unwrap();
    fs::write(fleet.join("fleet.d/a.yaml"), "clusters: {one: {}}\n").unwrap();
    git(directory.path(), &["init", "-q"]);
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["commit", "-qm", "one"]);
    fs::write(fleet.join("fleet.d/a.yaml"), "clusters: {one: {labels: {a: b}}, two: {}}\n").unwrap();
    directory
}

#[test]
fn a_git_revision_is_read_from_the_object_database() {
    let repository = repository_with_history();
    let fleet = repository.path().join("environments/prod");
    let output = run(&["plan", fleet.to_str().unwrap(), "--from", "HEAD"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("from HEAD: 1 to create, 1 to update, 0 to destroy"), "{text}");
    assert!(text.contains("labels.a: not set → b"), "{text}");
}

#[test]
fn an_unknown_revision_and_a_place_without_git_are_told_with_what_to_do() {
    let repository = repository_with_history();
    let fleet = repository.path().join("environments/prod");
    let unknown = run(&["plan", fleet.to_str().unwrap(), "--from", "no-such-branch"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("no revision `no-such-branch`"), "{}", stderr(&unknown));
    let elsewhere = tempfile::tempdir().unwrap();
    fs::write(elsewhere.path().join("fleet.yaml"), "version: 1\naccount: a\n").unwrap();
    let outside = run(&["plan", elsewhere.path().to_str().unwrap(), "--from", "main"]);
    assert_eq!(outside.status.code(), Some(1));
    assert!(stderr(&outside).contains("not inside a git repository"), "{}", stderr(&outside));
}

#[cfg(unix)]
#[test]
fn links_in_a_revision_are_refused() {
    let repository = repository_with_history();
    let fleet = repository.path().join("environments/prod");
    std::os::unix::fs::symlink("/etc/passwd", fleet.join("fleet.d/b.yaml")).unwrap();
    git(repository.path(), &["add", "."]);
    git(repository.path(), &["commit", "-qm", "two"]);
    fs::remove_file(fleet.join("fleet.d/b.yaml")).unwrap();
    let output = run(&["plan", fleet.to_str().unwrap(), "--from", "HEAD"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("error[file-not-regular]"), "{}", stderr(&output));
}

#[test]
fn the_examples_stand_where_the_readme_says() {
    assert!(project_root().join("examples/edge/fleet.yaml").is_file());
}
