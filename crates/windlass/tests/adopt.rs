//! `git apply` accepts the patch of an adopted change.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use windlass_core::adopt::{adopt, patch};
use windlass_core::manifest::{Fleet, ReadCache, ReadContext, SourceFile};
use windlass_core::resource::{ResourceKey, Spec};

fn read(files: &[(&str, &str)]) -> Fleet {
    let files: Vec<SourceFile> =
        files.iter().map(|(path, text)| SourceFile::new(*path, text.as_bytes().to_vec())).collect();
    let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
    assert!(!fleet.has_errors(), "{:?}", fleet.diagnostics);
    fleet
}

fn everything(fleet: &Fleet) -> Vec<(ResourceKey, Option<Arc<Spec>>)> {
    let declared = fleet.desired.resources.iter();
    declared
        .map(|(kind, name, declared)| (ResourceKey::new(kind, name), Some(Arc::clone(&declared.spec))))
        .collect()
}

fn git_apply(directory: &Path, patch: &str) {
    fs::write(directory.join("adopt.patch"), patch).unwrap();
    let output = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "adopt.patch"])
        .current_dir(directory)
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{patch}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn git_applies_the_patch_whatever_the_lines_end_with() {
    let head = "version: 1\naccount: acme\ninclude: [\"fleet.d/*.yaml\"]\n";
    let root = format!("{head}clusters:\n  - name: a  # kept\n    labels: {{x: old}}");
    let included = "nodes:\r\n- {hostname: n, template: t}\t# kept\r\n";
    let files = [("fleet.yaml", root.as_str()), ("fleet.d/a b.yaml", included)];
    let accepted = format!(
        "{head}clusters: [{{name: a, labels: {{x: new}}}}, {{name: b}}]\nnodes: [{{hostname: n, template: u}}]\n"
    );
    let accepted = read(&[("fleet.yaml", &accepted), ("fleet.d/a.yaml", "")]);
    let edited = adopt(&read(&files), &everything(&accepted), &ReadContext::offline()).unwrap();
    assert_eq!(edited.len(), 2);

    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("fleet.d")).unwrap();
    for (path, text) in files {
        fs::write(directory.path().join(path), text).unwrap();
    }
    git_apply(directory.path(), &patch(&edited));
    for edited in edited {
        assert_eq!(fs::read_to_string(directory.path().join(&edited.path)).unwrap(), edited.after);
    }
}
