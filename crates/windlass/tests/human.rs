//! Output for people and their tools: excerpts, annotations, and never a secret or a terminal control character.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;

use support::{Run, check_golden, tests_path, windlass};

const FORMATS: &[&str] = &["human", "json", "sarif", "github"];

/// The text in every planted secret.
const SECRET: &str = "hunter2";

fn validate(directory: &Path, path: &str, format: &str) -> Run {
    windlass(directory, &["validate", path, "--format", format, "--color", "never"])
}

fn printed(run: &Run) -> String {
    format!("{}{}", String::from_utf8_lossy(&run.stderr), String::from_utf8_lossy(&run.stdout))
}

#[test]
fn people_see_an_excerpt_the_reason_and_what_to_do() {
    for case in [
        "alias-bomb.yaml",
        "columns-count-characters.yaml",
        "include-for-another-account",
        "every-problem-at-once.yaml",
        "extends-circle-of-three.yaml",
        "fleet-is-missing",
        "invalid-utf8.yaml",
        "pin-missing.yaml",
        "private-key-in-file-content.yaml",
        "reordering-marks-in-a-key.yaml",
        "suspicious-key-names.yaml",
        "tab-in-indentation.yaml",
    ] {
        let run = validate(&tests_path("broken"), case, "human");
        let name = case.trim_end_matches(".yaml");
        let code = run.code.unwrap();
        check_golden(&format!("{name}.txt"), &format!("{}exit {code}\n", printed(&run)));
    }
}

#[test]
fn github_annotates_every_problem_at_its_place() {
    let run = validate(&tests_path("broken"), "problems-in-every-file", "github");
    check_golden("problems-in-every-file.github.txt", &printed(&run));
}

#[test]
fn sarif_tells_every_problem_and_explains_its_rule() {
    let run = validate(&tests_path("broken"), "problems-in-every-file", "sarif");
    let mut log: Value = serde_json::from_slice(&run.stdout).unwrap();
    let driver = &mut log["runs"][0]["tool"]["driver"];
    assert_eq!(driver["version"].take(), env!("CARGO_PKG_VERSION"));
    let rules = driver["rules"].take();
    let text = serde_json::to_string_pretty(&log).unwrap();
    check_golden("problems-in-every-file.sarif.json", &format!("{text}\n"));
    for result in log["runs"][0]["results"].as_array().unwrap() {
        let explained =
            |rule: &Value| rule["id"] == result["ruleId"] && rule["fullDescription"]["text"].is_string();
        assert!(rules.as_array().unwrap().iter().any(explained), "{}", result["ruleId"]);
    }
}

/// Fleets with a secret and a problem near it, so that an excerpt or a message could show the secret.
const WITH_SECRETS: &[(&str, &[u8])] = &[
    ("unknown key on its line", b"nodes: [{hostname: a, password: hunter2, template: b, nope: 1}]\n"),
    ("unknown key on the next line", b"nodes:\n- hostname: a\n  template: b\n  password: hunter2\n  nope: 1\n"),
    ("unknown key before it on its line", b"clusters: [{name: a, nope: 1, api_key: \"hunter2, and hunter2\"}]\n"),
    ("two secrets on one line", b"provider_configs: {a: {password: hunter2, token: 'hunter2'}}\n"),
    ("a comma in it", b"clusters: [{name: a, nope: {password: \"x,hunter2\", token: a,hunter2}}]\n"),
    ("a brace in it", b"clusters: [{name: a, nope: {password: x}hunter2}}]\n"),
    ("a colon in it", b"clusters: [{name: a, nope: 1, password: \"x: hunter2\"}]\n"),
    ("a bad label", b"clusters: [{name: a, labels: {password: hunter2 hunter2}}]\n"),
    ("a bad label on a line of its own", b"clusters:\n- name: a\n  labels:\n    token:\n      hunter2 hunter2\n"),
    ("a list where text belongs", b"clusters: [{name: a, labels: {password: [hunter2]}}]\n"),
    ("a list under its key", b"provider_configs:\n  a:\n    secrets:\n    - hunter2\n    - .inf\n    - {a: hunter2, b: .inf}\n"),
    ("a number that cannot be held", b"provider_configs: {a: {password: .inf, token: hunter2}}\n"),
    ("a duplicate key", b"provider_configs: {a: {password: hunter2, password: hunter2}}\n"),
    ("a syntax error on its line", b"provider_configs: {a: {password: hunter2]}\n"),
    ("a syntax error after it", b"provider_configs:\n  a:\n    password: \"hunter2\" hunter2\n"),
    ("a colon after it", b"provider_configs:\n  a:\n    password: hunter2: hunter2\n"),
    ("a syntax error on the next line", b"provider_configs:\n  a:\n    password: hunter2\n   hunter2\n"),
    ("an unclosed quote", b"provider_configs:\n  a:\n    password: \"hunter2\n    hunter2: b\n"),
    ("an unclosed quote at the margin", b"password: \"x\nhunter2\n"),
    ("a tab in its block", b"provider_configs:\n  a:\n    password: |\n      hunter2\n\thunter2: x\n"),
    ("an unknown alias on its line", b"provider_configs: {a: {password: hunter2, b: *nope}}\n"),
    ("a tag", b"provider_configs: {a: {password: !secret hunter2, b: !x y}}\n"),
    ("a tag after an explicit key", b"provider_configs:\n  a:\n    ? password\n    : !secret hunter2\n"),
    ("a control character", b"provider_configs: {a: {password: hunter2\x07hunter2}}\n"),
    ("invalid UTF-8", b"provider_configs: {a: {password: hunter2\xffhunter2}}\n"),
    ("a second document", b"provider_configs: {}\n--- {password: hunter2}\n"),
    ("in a second line of text", b"provider_configs:\n  a:\n    password: x\n      hunter2\n      *nope\n"),
    ("in a folded block", b"provider_configs:\n  a:\n    password: >\n      hunter2\n"),
    ("in a comment after it", b"provider_configs: {a: {password: x}} # hunter2\n"),
    ("in a shell line", b"modules: {m: {host: {files: {/x: {nope: 1, content: \"export DB_PASSWORD=hunter2\"}}}}}\n"),
    ("in a URL", b"federation: {peers: [{name: a, url: \"https://me:hunter2@x.y\", trust: b}]}\n"),
    ("in a URL without TLS", b"federation: {peers: [{name: a, url: \"http://me:hunter2@x.y\", trust: b}]}\n"),
    ("in a URL of a chart", b"bundles: [{name: a, chart: {repository: \"ftp://hunter2@x.y\", name: b, version: 1}}]\n"),
    ("in a URL that is a name", b"clusters: [{name: \"https://me:hunter2@x.y\"}]\n"),
    ("substituted", b"bundles: [{name: a, path: nope, substitute: {DB_PASSWORD: hunter2}}]\n"),
    ("substituted as a list", b"bundles: [{name: a, path: nope, substitute: {DB_PASSWORD: [hunter2]}}]\n"),
    ("a key in a name", b"clusters: [{name: \"-----BEGIN PRIVATE KEY-----\\nhunter2\"}]\n"),
    ("a key as a fingerprint", b"federation:\n  peers:\n  - name: a\n    url: https://x.y\n    trust: |\n      -----BEGIN PRIVATE KEY-----\n      hunter2\n      -----END PRIVATE KEY-----\n"),
    ("a key in a block", b"modules:\n  m:\n    config:\n      pem: |\n        -----BEGIN RSA PRIVATE KEY-----\n        hunter2\n        hunter2==\n        -----END RSA PRIVATE KEY-----\n    nope: 1\n"),
    ("a key with a line too far left", b"modules:\n  m:\n    config:\n      pem: |\n        -----BEGIN RSA PRIVATE KEY-----\n      hunter2\n        hunter2==\n        -----END RSA PRIVATE KEY-----\n"),
    ("a key at the margin", b"modules:\n  m:\n    config:\n      pem: |\n-----BEGIN RSA PRIVATE KEY-----\nhunter2: x\nhunter2==\n-----END RSA PRIVATE KEY-----\n"),
    ("a key with a tab", b"modules:\n  m:\n    config:\n      pem: |\n        -----BEGIN EC PRIVATE KEY-----\n\thunter2\n"),
];

#[test]
fn a_secret_is_never_printed_whatever_is_wrong_near_it() {
    for (name, body) in WITH_SECRETS {
        let directory = tempfile::tempdir().unwrap();
        let fleet = [b"version: 1\naccount: acme\n", *body].concat();
        fs::write(directory.path().join("fleet.yaml"), fleet).unwrap();
        for format in FORMATS {
            let printed = printed(&validate(directory.path(), ".", format));
            assert!(!printed.contains(SECRET), "{name}, {format}:\n{printed}");
        }
        let told = printed(&validate(directory.path(), ".", "json"));
        assert!(told.contains("\"code\""), "{name}: something is told");
    }
}

#[test]
fn the_secrets_of_the_corpus_are_never_printed() {
    let directory = tests_path("broken");
    for entry in fs::read_dir(&directory).unwrap() {
        let entry = entry.unwrap();
        let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap_or_default()).into_owned();
        if !text.contains(SECRET) {
            continue;
        }
        let name = entry.file_name().into_string().unwrap();
        for format in FORMATS {
            let printed = printed(&validate(&directory, &name, format));
            assert!(!printed.contains(SECRET), "{name}, {format}:\n{printed}");
        }
    }
}

/// Fleets whose text would clear a screen, ring a bell or reorder text.
const DRIVING_TERMINALS: &[&str] = &[
    "clusters: [{name: \"\u{1b}[2J\"}]\n",
    "clusters: [{name: a\u{7}}]\n",
    "clusters: [{name: a}] # \u{9b}2J\n",
    "clusters: [{name: \"\\e[2J\\a\\x9b2J\\u202e\"}]\n",
    "clusters: [{name: a\u{202e}b\u{2066}c\u{200f}}]\n",
    "clusters: [{name: a, \"\\e[2J\u{202e}\": 1}]\n",
    "clusters: {\"\\e[2J\u{202e}\\x9b\": {}}\n",
    "clusters: [{name: a, x\u{202e}: 1, x\u{202e}: 2}]\n",
    "clusters: !\u{202e}x []\n",
    "clusters: *a\u{202e}\n",
    "clusters: [{name: a, labels: {\"\\e[2J\": \"\\x9b\u{202e}\"}}]\n",
    "include: [\"/\\e[2J\u{202e}\", \"nothing\\x9b/*\"]\n",
    "\u{202e}\u{feff}key\u{2028}: \u{200b}\n",
    "nodes: [{hostname: a, template: \"b\\e\"}]\nmodules: {m: {variety: \"\u{202e}\\x9b\", version: \"\\a\"}}\n",
    "provider_configs: {a: {\"\u{202e}\\e_password\": x}}\n",
    "bundles: [{name: a, path: \"\u{202e}nowhere\"}]\n",
    "modules: {m: {host: {files: {/a: {source: \"b\u{202e}\u{e0041}\"}}}}}\n",
];

fn drives_a_terminal(c: char) -> bool {
    let reorders = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let tags = matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || reorders || tags
}

fn assert_harmless(directory: &Path, what: &str) {
    for format in FORMATS {
        let run = validate(directory, ".", format);
        let printed = printed(&run);
        let driving: Vec<char> = printed.chars().filter(|c| drives_a_terminal(*c)).collect();
        assert_eq!(driving, [], "{what:?}, {format}:\n{printed:?}");
        assert!(std::str::from_utf8(&run.stdout).is_ok() && std::str::from_utf8(&run.stderr).is_ok());
        assert!(matches!(run.code, Some(0 | 1)), "{what:?}, {format}: {:?}", run.code);
    }
}

#[test]
fn nothing_in_a_file_reaches_the_terminal_as_a_command() {
    for body in DRIVING_TERMINALS {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("fleet.yaml"), format!("version: 1\naccount: acme\n{body}")).unwrap();
        let told = printed(&validate(directory.path(), ".", "json"));
        assert!(told.contains("\"code\""), "{body:?}: something is told");
        assert_harmless(directory.path(), body);
    }
}

#[test]
fn the_name_of_an_included_file_reaches_the_terminal_no_more_than_its_text() {
    let directory = tempfile::tempdir().unwrap();
    let fleet = "version: 1\naccount: acme\ninclude: [\"*.yml\"]\nclusters: [{name: a}]\n";
    fs::write(directory.path().join("fleet.yaml"), fleet).unwrap();
    for name in ["\u{1b}[2J.yml", "\u{202e}b.yml", "\u{9b}c.yml"] {
        fs::write(directory.path().join(name), "nope: 1\nclusters: [{name: a}]\n").unwrap();
    }
    assert_harmless(directory.path(), "names of files");
}
