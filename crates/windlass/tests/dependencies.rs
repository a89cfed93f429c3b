//! Rules for third-party code: licences, sources, one crypto provider, one version of security-critical crates.
//!
//! The rules are in `deny.toml`, which cargo-deny reads too. Cargo.lock and `cargo metadata` include crates for
//! features and platforms that nobody builds; `cargo tree` lists the crates that are built, so versions are counted
//! there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use support::project_root;

/// The part of `deny.toml` that is checked here. Advisories need a database, which cargo-deny fetches.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
    exceptions: Vec<LicenseException>,
}

#[derive(Deserialize)]
struct LicenseException {
    #[serde(rename = "crate")]
    name: String,
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
    skip: Vec<SecondVersion>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    /// Whether the crate is allowed, but only in one version.
    #[serde(default, rename = "deny-multiple-versions")]
    denies_second_version: bool,
}

#[derive(Deserialize)]
struct SecondVersion {
    #[serde(rename = "crate")]
    name_and_version: String,
    reason: String,
}

impl SecondVersion {
    fn is(&self, name: &str, version: &str) -> bool {
        let (skipped, prefix) = self.name_and_version.split_once('@').expect("written name@version");
        skipped == name && version.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
    }
}

fn rules() -> Rules {
    let text = fs::read_to_string(project_root().join("deny.toml")).unwrap();
    basic_toml::from_str(&text).unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(project_root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The host platform.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// The versions of each crate that are built, tests included.
fn built_versions() -> BTreeMap<String, BTreeSet<String>> {
    let arguments = ["tree", "--workspace", "--locked", "--target", &host(), "--prefix", "none"];
    let text = cargo(&[&arguments[..], &["--edges", "normal,build,dev", "--format", "{p}"]].concat());
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        versions.entry(name.to_owned()).or_default().insert(version.trim_start_matches('v').to_owned());
    }
    assert!(versions.len() > 100, "cargo tree lists what is built");
    versions
}

/// Whether a licence expression can be satisfied with these licences: `OR` is a choice, `AND` is not. Old crates write
/// `/` for `OR`.
fn is_met(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let is_met = any_of(&mut rest, allowed);
    assert!(rest.is_empty(), "this is a licence expression: {expression}");
    is_met
}

fn any_of(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut is_met = all_of(words, allowed);
    while let [first, rest @ ..] = *words
        && *first == "OR"
    {
        *words = rest;
        is_met |= all_of(words, allowed);
    }
    is_met
}

fn all_of(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut is_met = one_of(words, allowed);
    while let [first, rest @ ..] = *words
        && *first == "AND"
    {
        *words = rest;
        is_met &= one_of(words, allowed);
    }
    is_met
}

fn one_of(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let is_met = any_of(words, allowed);
            *words = words.strip_prefix(&[")"]).expect("a closing bracket");
            is_met
        }
        [license, "WITH", exception, rest @ ..] => {
            *words = rest;
            allowed(&format!("{license} WITH {exception}")) || allowed(license)
        }
        [license, rest @ ..] => {
            *words = rest;
            allowed(license)
        }
        [] => panic!("a licence is missing"),
    }
}

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed = |license: &str| matches!(license, "MIT" | "ISC" | "Apache-2.0 WITH LLVM-exception");
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("ISC AND (GPL-3.0 OR MIT)", true),
        ("ISC AND GPL-3.0 OR MIT", true),
        ("(MIT OR GPL-3.0) AND AGPL-3.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(is_met(expression, &allowed), expected, "{expression}");
    }
}

#[test]
fn every_crate_has_a_licence_that_we_allow() {
    let Licenses { allow, exceptions } = rules().licenses;
    let built = built_versions();
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform"];
    let metadata: Value = serde_json::from_str(&cargo(&[&arguments[..], &[&host()]].concat())).unwrap();
    let mut unused: BTreeSet<&str> = exceptions.iter().map(|exception| exception.name.as_str()).collect();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !built.contains_key(name) {
            continue;
        }
        unused.remove(name);
        let license = package["license"].as_str().unwrap_or_default();
        let allowed = |license: &str| {
            let is_excepted = |it: &LicenseException| it.name == name && it.allow.contains(license);
            allow.contains(license) || exceptions.iter().any(is_excepted)
        };
        assert!(is_met(license, &allowed), "{name} is under {license:?}, which deny.toml does not allow");
    }
    assert!(unused.is_empty(), "deny.toml makes exceptions for {unused:?}, which are not built any more");
}

#[test]
fn every_crate_comes_from_one_registry_with_its_checksum() {
    let mut sources = BTreeSet::new();
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let text = fs::read_to_string(project_root().join(lock)).unwrap();
        for package in text.split("[[package]]").skip(1) {
            let field = |key: &str| {
                let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
                line.map(|line| line.trim_end_matches('"').to_owned())
            };
            let name = field("name").unwrap();
            let Some(source) = field("source") else {
                assert!(name.starts_with("windlass"), "{name} in {lock} comes from a path");
                continue;
            };
            assert!(source.starts_with("registry+"), "{name} in {lock} comes from {source}");
            assert!(field("checksum").is_some_and(|sum| sum.len() == 64), "{name} in {lock} has no checksum");
            sources.insert(source);
        }
    }
    assert_eq!(sources.len(), 1, "crates come from several registries: {sources:?}");
}

#[test]
fn tls_is_rustls_with_one_crypto_provider() {
    let built = built_versions();
    for ban in rules().bans.deny.iter().filter(|ban| !ban.denies_second_version) {
        assert!(!built.contains_key(&ban.name), "{} is built, which deny.toml forbids", ban.name);
    }
    for name in ["rustls", "aws-lc-rs"] {
        assert_eq!(built.get(name).map(BTreeSet::len), Some(1), "{name} is built, in one version");
    }
}

#[test]
fn crates_that_handle_secrets_have_one_version_unless_deny_toml_says_why() {
    let bans = rules().bans;
    let built = built_versions();
    for ban in bans.deny.iter().filter(|ban| ban.denies_second_version) {
        let Some(versions) = built.get(&ban.name) else { continue };
        let counted: Vec<&String> = versions
            .iter()
            .filter(|version| !bans.skip.iter().any(|skip| skip.is(&ban.name, version)))
            .collect();
        assert!(counted.len() <= 1, "{} is built as {versions:?}: give a reason in deny.toml", ban.name);
    }
    for skip in &bans.skip {
        assert!(!skip.reason.trim().is_empty(), "{} has no reason", skip.name_and_version);
        let is_built = |(name, versions): (&String, &BTreeSet<String>)| {
            versions.len() > 1 && versions.iter().any(|version| skip.is(name, version))
        };
        let needless = !built.iter().any(is_built);
        assert!(!needless, "{} is the only version now: take it out of deny.toml", skip.name_and_version);
    }
}

/// Our files outside of tests that contain one of these words.
fn sources_with(words: &[&str]) -> Vec<String> {
    let mut grep = Command::new("git");
    grep.args(["grep", "--files-with-matches", "--fixed-strings"]);
    for word in words {
        grep.args(["-e", word]);
    }
    let output = grep.args(["--", "crates/*/src/*.rs"]).current_dir(project_root()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// RUSTSEC-2023-0071 is about private RSA keys: docs/adr/2026-11-17-rsa-verifies-only.md.
#[test]
fn no_private_key_is_named_where_keys_and_signatures_are_checked() {
    let home = "crates/windlass-source/src/";
    let users = sources_with(&["pgp::", "ssh_key::", "rsa::"]);
    assert!(users.len() >= 2, "signatures are verified somewhere: {users:?}");
    for file in users {
        assert!(
            file.starts_with(home),
            "{file} uses a library that is for checking keys and signatures only"
        );
        let text = fs::read_to_string(project_root().join(&file)).unwrap();
        for word in ["PrivateKey", "SecretKey", "SecretSubkey", "decrypt", "SigningKey"] {
            assert!(!text.contains(word), "{file} names {word}");
        }
    }
}
