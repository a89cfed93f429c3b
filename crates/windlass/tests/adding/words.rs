//! Event kinds, permissions, sets of states, commands and use cases: each stands wherever people look for it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use windlass_api::endpoint::{Access, endpoints};
use windlass_api::permission::{Permission, Role};
use windlass_core::event::EventKind;

use crate::support::project_root;
use crate::{cells, has_word, quoted, read};

/// The Rust files below a directory of the project, with their texts.
pub(crate) fn sources(directory: &str) -> BTreeMap<String, String> {
    fn collect(directory: &Path, found: &mut BTreeMap<String, String>) {
        for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(project_root()).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(&project_root().join(directory), &mut found);
    found
}

#[test]
fn every_event_kind_is_documented() {
    let page = read("docs/concepts/events-and-audit.md");
    let mut documented = BTreeSet::new();
    for row in
        page.lines().filter(|line| line.starts_with("| `")).take_while(|line| !line.contains("windlass "))
    {
        let mut before = String::new();
        for word in quoted(cells(row)[0]) {
            // `_failed` after `gitops.sync_started` is `gitops.sync_failed`.
            let kind = match word.starts_with('_') {
                true => format!("{}{word}", before.rsplit_once('_').unwrap().0),
                false => word.to_owned(),
            };
            documented.insert(kind.clone());
            before = kind;
        }
    }
    let known: BTreeSet<String> = EventKind::ALL.iter().map(|kind| kind.slug().to_owned()).collect();
    let (missing, unknown): (Vec<_>, Vec<_>) =
        (known.difference(&documented).collect(), documented.difference(&known).collect());
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "the table of docs/concepts/events-and-audit.md lacks {missing:?} and has {unknown:?}, which does not exist \
         (ARCHITECTURE.md, How to add an event kind)"
    );
}

#[test]
fn every_event_kind_is_created_somewhere() {
    let control = sources("crates/windlass-control/src");
    for kind in EventKind::ALL {
        let name = format!("EventKind::{kind:?}");
        let is_made = control.values().any(|text| has_word(text, &name));
        assert!(
            is_made,
            "nothing in crates/windlass-control/src makes {name}: make it where it becomes true, or take it out \
             (ARCHITECTURE.md, How to add an event kind)"
        );
    }
}

/// Permissions that no endpoint needs as a whole, and where they are asked for instead.
const CHECKED_ELSEWHERE: &[(Permission, &str)] =
    &[(Permission::FleetExportSecrets, "crates/windlass-control/src/ask/export.rs")];

#[test]
fn every_permission_is_required_somewhere() {
    let needed: Vec<Access> = endpoints().into_iter().map(|endpoint| endpoint.access).collect();
    for permission in Permission::ALL {
        let elsewhere = CHECKED_ELSEWHERE.iter().find(|(other, _)| other == permission).map(|(_, file)| file);
        let is_asked = match elsewhere {
            Some(file) => has_word(&read(file), &format!("Permission::{permission:?}")),
            None => needed.contains(&Access::Needs(*permission)),
        };
        assert!(
            is_asked,
            "nothing needs {permission}: let an endpoint need it, or name the file that asks for it in `CHECKED_ELSEWHERE` \
             (ARCHITECTURE.md, How to add a permission)"
        );
    }
}

#[test]
fn the_guide_lists_the_permissions_of_each_role() {
    let guide = read("docs/guide/run-a-server.md");
    for role in Role::ALL {
        let row = guide.lines().find(|line| line.starts_with(&format!("| {role} |")));
        let told: BTreeSet<String> = row.map(quoted).into_iter().flatten().map(str::to_owned).collect();
        let has: BTreeSet<String> = role.permissions().iter().map(ToString::to_string).collect();
        assert_eq!(
            told, has,
            "the row {role} in the table of docs/guide/run-a-server.md has other permissions (on the left) than the role \
             (ARCHITECTURE.md, How to add a permission)"
        );
    }
}

/// Sets of words that nobody is told, so that the reference has no place for them.
const NOT_DOCUMENTED: &[(&str, &str)] = &[
    ("MembershipOrigin", "only stored: people see the role"),
    ("ContributorsGap", "told in a sentence"),
    ("ReportKind", "only stored: what a forge is to be told"),
    ("ReportState", "only stored: whether a forge was told"),
    ("StatusState", "each forge has its own word for it"),
    ("DriftKind", "told in a sentence"),
    ("AnnouncedContact", "only stored: events tell it"),
];

#[test]
fn every_set_of_states_is_in_the_reference() {
    let reference = read("crates/windlass-core/src/reference.rs");
    let mut sets = BTreeSet::new();
    for (file, text) in sources("crates/windlass-core/src") {
        if file.ends_with("src/states.rs") {
            continue;
        }
        for table in text.split("states! {\n").skip(1) {
            let head = table.lines().map(str::trim).find(|line| !line.starts_with("///")).unwrap();
            sets.insert(head.split(' ').next().unwrap().to_owned());
        }
    }
    assert!(sets.len() > 20, "{sets:?}");
    for (name, reason) in NOT_DOCUMENTED {
        assert!(
            sets.contains(*name) && !reason.is_empty(),
            "{name} is gone: take it out of `NOT_DOCUMENTED`"
        );
    }
    for set in sets {
        let is_listed = reference.contains(&format!("::{set}>"));
        let is_excepted = NOT_DOCUMENTED.iter().any(|(name, _)| *name == set);
        assert!(
            is_listed != is_excepted,
            "add {set} to `STATES` in crates/windlass-core/src/reference.rs, or to `NOT_DOCUMENTED` here with the reason, and not to \
             both (ARCHITECTURE.md, How to add a state word)"
        );
    }
}

#[test]
fn every_command_is_shown_in_a_guide() {
    let reference = read("docs/reference/command-line.md");
    let titles = reference.lines().filter_map(|line| line.strip_prefix("## windlass "));
    let commands: Vec<&str> = titles.filter(|title| !title.contains(' ')).collect();
    assert!(commands.len() > 30, "{commands:?}");
    let mut texts = vec![read("README.md"), read("docs/runbook.md")];
    for directory in ["docs/guide", "docs/concepts"] {
        let pages = fs::read_dir(project_root().join(directory)).unwrap();
        texts.extend(pages.map(|page| fs::read_to_string(page.unwrap().path()).unwrap()));
    }
    for command in commands {
        let is_shown = texts.iter().any(|text| has_word(text, &format!("windlass {command}")));
        assert!(
            is_shown,
            "no guide shows `windlass {command}`: add it where people need it, for example to docs/guide/command-line.md \
             (ARCHITECTURE.md, How to add a command)"
        );
    }
}

#[test]
fn every_use_case_is_called() {
    let mut texts = sources("crates/windlass-control/src");
    texts.extend(sources("crates/windlass-server/src"));
    texts.extend(sources("crates/windlass/src"));
    let mut checked = 0;
    for (file, text) in texts.iter().filter(|(file, _)| file.contains("/src/ask/")) {
        let module = Path::new(file).file_stem().unwrap().to_str().unwrap();
        for rest in text.split("\npub async fn ").skip(1) {
            let name = rest.split(['(', '<']).next().unwrap();
            let is_used = texts
                .iter()
                .any(|(other, text)| other != file && has_word(text, module) && has_word(text, name));
            checked += 1;
            assert!(
                is_used,
                "nobody asks for `{name}` of {file}: call it from a handler in crates/windlass-server/src/http \
                 (ARCHITECTURE.md, How to add a use case)"
            );
        }
    }
    assert!(checked > 50, "{checked}");
}
