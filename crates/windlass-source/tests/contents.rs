//! The content at the paths that a fleet names: the same ids from a directory, from git and from files of a request,
//! and the differences between two of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;
use support::{Remote, TestMirror};
use windlass_core::content::{ContentChange, ContentId, FileChange};
use windlass_core::digest::Digest;
use windlass_core::manifest::{FLEET_FILE, ReadCache, ReadContext};
use windlass_source::{
    DiskTree, FileTree, FleetFiles, GitTree, Mirror, NoObjects, Objects, PathContent, SentFiles,
    content_differences, read_fleet,
};
use windlass_testkit::servers::WorkTree;

const DIRECTORIES: [&str; 4] = ["", "apps", "apps/web", "apps/web-2"];
const NAMES: [&str; 4] = ["a.conf", "b", "web", "web.yaml"];

/// Files by path; no path is a parent of another.
fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let path = (prop::sample::select(&DIRECTORIES[..]), prop::sample::select(&NAMES[..]))
        .prop_map(|(directory, name)| format!("content/{directory}/{name}").replace("//", "/"))
        .prop_filter("a directory has this name", |path| path != "content/apps/web");
    prop::collection::btree_map(path, prop::collection::vec(any::<u8>(), 1..40), 1..8)
}

/// A fleet whose modules name each file, and whose bundles name each directory and each file as values.
fn fleet_of(paths: &BTreeSet<String>) -> String {
    let mut modules = String::new();
    let mut bundles = String::new();
    for (index, path) in paths.iter().enumerate() {
        modules.push_str(&format!("- {{name: m{index}, host: {{files: {{/etc/x: {{source: {path}}}}}}}}}\n"));
        bundles.push_str(&format!(
            "- {{name: v{index}, chart: {{repository: https://charts.example.com, name: c, version: 1.0.0, \
             values_files: [{path}]}}, targets: []}}\n"
        ));
    }
    for (index, path) in directories_of(paths).iter().enumerate() {
        bundles.push_str(&format!("- {{name: b{index}, path: {path}, targets: []}}\n"));
    }
    format!(
        "version: 1\naccount: acme\nmodules:\n{modules}- {{name: fileless, priority: 7}}\nbundles:\n{bundles}"
    )
}

fn directories_of(paths: &BTreeSet<String>) -> BTreeSet<String> {
    let above =
        |path: &String| path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect::<Vec<_>>();
    paths.iter().flat_map(above).collect()
}

/// The digest of every resource, by name.
fn digests(tree: &impl FileTree) -> BTreeMap<String, Digest> {
    let mut cache = ReadCache::default();
    let read = read_fleet(tree, FLEET_FILE, &mut cache);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let mut fleet = cache.read_once(&read.files, &ReadContext::offline());
    let unknown = FleetFiles::check_paths(tree, &mut fleet);
    assert!(!fleet.has_errors() && unknown.is_empty(), "{:?} {unknown:?}", fleet.diagnostics);
    fleet.desired.resources.iter().map(|(_, name, declared)| (name.to_owned(), declared.digest)).collect()
}

fn write(root: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (path, bytes) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn commit_all(work: &WorkTree) -> GitTree {
    work.git(&["add", "--all"]);
    work.git(&["commit", "--quiet", "--allow-empty", "--message", "content"]);
    GitTree::open(work.path(), "HEAD").unwrap()
}

/// The files of a fleet as a client sends them: fleet.yaml, and the ids of the others.
fn sent_files(directory: &DiskTree, fleet: &str, named: &BTreeSet<String>) -> SentFiles {
    let id = |path: &String| match directory.content(path).unwrap() {
        PathContent::Known(id) => (path.clone(), id),
        other => panic!("{path}: {other:?}"),
    };
    let files = [(FLEET_FILE.to_owned(), fleet.as_bytes().to_vec())];
    SentFiles::new(files, []).unwrap().with_contents(named.iter().map(id)).unwrap()
}

/// The names of the resources that name a path or one of its parents.
fn resources_naming(paths: &BTreeSet<String>, changed: &str) -> BTreeSet<String> {
    let at = paths.iter().position(|path| path == changed).unwrap();
    let above = directories_of(paths).into_iter().enumerate();
    let above = above.filter(|(_, directory)| changed.starts_with(&format!("{directory}/")));
    above.map(|(index, _)| format!("b{index}")).chain([format!("m{at}"), format!("v{at}")]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The main property: if one byte of a named file changes, exactly the resources that name the file or one of its
    /// parents get another digest, and all kinds of trees agree.
    #[test]
    fn one_byte_changes_exactly_the_digests_of_resources_that_name_its_file(
        files in files(), which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), by in 1u8..,
    ) {
        let work = WorkTree::new();
        let paths: BTreeSet<String> = files.keys().cloned().collect();
        let fleet = fleet_of(&paths);
        fs::write(work.path().join(FLEET_FILE), &fleet).unwrap();
        write(work.path(), &files);
        let named: BTreeSet<String> = paths.iter().cloned().chain(directories_of(&paths)).collect();
        let agreed = |work: &WorkTree| {
            let directory = DiskTree::new(work.path());
            let from_disk = digests(&directory);
            assert_eq!(digests(&commit_all(work)), from_disk);
            assert_eq!(digests(&sent_files(&directory, &fleet, &named)), from_disk);
            from_disk
        };
        let before = agreed(&work);
        let changed = which.get(&paths.iter().collect::<Vec<_>>()).to_string();
        let mut bytes = files[&changed].clone();
        let position = at.index(bytes.len());
        bytes[position] = bytes[position].wrapping_add(by);
        fs::write(work.path().join(&changed), bytes).unwrap();
        let after = agreed(&work);
        let differ: BTreeSet<String> =
            before.keys().filter(|name| before[*name] != after[*name]).cloned().collect();
        prop_assert_eq!(differ, resources_naming(&paths, &changed));
    }
}

#[test]
fn a_directory_on_disk_has_the_id_that_git_gives_it_whatever_is_in_it() {
    let work = WorkTree::new();
    work.commit("app/run.sh", "#!/bin/sh\n");
    work.commit("app/run/nested.txt", "");
    work.commit("app/run.txt", "sorted between the two\n");
    fs::set_permissions(work.path().join("app/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../../outside", work.path().join("app/link")).unwrap();
    fs::create_dir_all(work.path().join("app/empty/deeper")).unwrap();
    let tree = commit_all(&work);
    let directory = DiskTree::new(work.path());
    for path in ["app", "./app/", "app/run", "app/run.sh"] {
        let content = tree.content(path).unwrap();
        assert!(matches!(content, PathContent::Known(_)), "{path}");
        assert_eq!(directory.content(path).unwrap(), content, "{path}");
    }
    let id = work.git(&["rev-parse", "HEAD:app"]);
    assert_eq!(
        tree.content("app").unwrap(),
        PathContent::Known(ContentId::parse(&format!("tree:{id}")).unwrap())
    );
    for path in ["app/link", "app/link/x", "app/gone", "app/run.sh/x"] {
        assert_eq!(tree.content(path).unwrap(), PathContent::Nothing, "{path}");
        assert_eq!(directory.content(path).unwrap(), PathContent::Nothing, "{path}");
    }
    fs::create_dir_all(work.path().join("app/module/.git")).unwrap();
    let refused = DiskTree::new(work.path()).content("app").unwrap_err();
    assert!(refused.source.to_string().contains("a separate repository"), "{refused:?}");
}

#[test]
fn what_was_sent_without_an_id_is_there_and_not_known() {
    let files = [("fleet.yaml".to_owned(), b"a\n".to_vec())];
    let tree = SentFiles::new(files, ["apps/web".to_owned()]).unwrap();
    assert_eq!(tree.content("apps/web").unwrap(), PathContent::Unknown);
    assert_eq!(tree.content("apps/other").unwrap(), PathContent::Nothing);
    let id = ContentId::parse("blob:78981922613b2afb6025042ff6bd878ac1994e85").unwrap();
    assert_eq!(tree.content("fleet.yaml").unwrap(), PathContent::Known(id), "what was sent itself is known");
    assert!(tree.with_contents([("../x".to_owned(), id)]).is_err());
}

fn known(tree: &impl FileTree, path: &str) -> ContentId {
    match tree.content(path).unwrap() {
        PathContent::Known(id) => id,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn a_difference_names_what_changed_below_a_directory_and_nothing_else() {
    let work = WorkTree::new();
    let same: BTreeMap<String, Vec<u8>> =
        (0..300).map(|index| (format!("app/same/{index}.txt"), b"same\n".to_vec())).collect();
    write(work.path(), &same);
    work.commit("app/deep/er/down.yaml", "replicas: 2\n");
    work.commit("app/gone.txt", "going\n");
    work.commit("app/image.bin", "\0\u{1}");
    let before = commit_all(&work);
    work.git(&["rm", "--quiet", "app/gone.txt"]);
    work.commit("app/deep/er/down.yaml", "replicas: 3\n");
    work.commit("app/image.bin", "\0\u{2}");
    work.commit("app/new/file.txt", "coming\n");
    symlink("/etc/passwd", work.path().join("app/trap")).unwrap();
    let after = commit_all(&work);
    let change = || ContentChange {
        path: "app".to_owned(),
        before: Some(known(&before, "app")),
        after: known(&after, "app"),
    };
    let [difference] = content_differences(&after, [change(), change()]).try_into().unwrap();
    let told: Vec<(&str, FileChange)> =
        difference.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(
        told,
        [
            ("app/deep/er/down.yaml", FileChange::Changed),
            ("app/gone.txt", FileChange::Removed),
            ("app/image.bin", FileChange::Changed),
            ("app/new/file.txt", FileChange::Added),
            ("app/trap", FileChange::Added),
        ]
    );
    assert_eq!(difference.files[0].lines.as_deref(), Some("@@ -1 +1 @@\n-replicas: 2\n+replicas: 3\n"));
    assert_eq!(difference.files[2].not_shown.as_deref(), Some("it is binary"));
    assert!(difference.files[4].not_shown.as_deref().unwrap().contains("symbolic link"), "never followed");
    assert_eq!((difference.more_files, difference.note), (0, None));

    let directory = DiskTree::new(work.path());
    assert_eq!(known(&directory, "app"), change().after);
    let both: [&dyn Objects; 2] = [&directory, &before];
    let [from_disk] = content_differences(both.as_slice(), [change()]).try_into().unwrap();
    assert_eq!(from_disk.files, difference.files, "a directory and a revision are compared alike");

    let lost = ContentChange { before: Some(ContentId::tree([7; 20])), ..change() };
    let [difference] = content_differences(&after, [lost]).try_into().unwrap();
    assert!(difference.note.unwrap().contains("is not in this copy"), "said, not guessed");
    assert!(difference.files.iter().all(|file| file.change == FileChange::Added));
    assert!(difference.more_files > 200);
    let [difference] = content_differences(&NoObjects, [change()]).try_into().unwrap();
    assert!(difference.note.unwrap().contains("not available") && difference.files.is_empty());
}

#[test]
fn what_is_accepted_survives_however_often_a_mirror_is_pruned() {
    let (work, root) = (WorkTree::new(), tempfile::tempdir().unwrap());
    work.commit("app/deep/a.txt", "accepted\n");
    work.commit("other.txt", "not accepted\n");
    let bare = work.publish(root.path(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::file(&bare));
    let mut used = scratch.fetch(&remote).unwrap().commit;
    let first = scratch.mirror.tree(&used, &Default::default()).unwrap();
    let (accepted, other) = (known(&first, "app"), known(&first, "other.txt"));
    let missing = ContentId::tree([9; 20]);
    Mirror::keep_contents_in(&scratch.path(), &BTreeSet::from([accepted, missing])).unwrap();
    for version in 0..80 {
        work.commit("app/deep/a.txt", &format!("{version}\n"));
        work.commit("other.txt", &format!("{version}\n"));
        work.push(&bare, "main");
        used = scratch.fetch_since(&remote, &used).unwrap().commit;
    }
    let objects = Mirror::objects_in(&scratch.path()).unwrap();
    let is_here = |id: ContentId| objects.file(id.as_bytes(), 100).unwrap().is_some();
    assert!(!is_here(other), "it was pruned, or this shows nothing");
    let now = scratch.mirror.tree(&used, &Default::default()).unwrap();
    let change = ContentChange { path: "app".to_owned(), before: Some(accepted), after: known(&now, "app") };
    let [difference] = content_differences(&objects, [change]).try_into().unwrap();
    assert_eq!(difference.note, None);
    assert_eq!(difference.files[0].lines.as_deref(), Some("@@ -1 +1 @@\n-accepted\n+79\n"));
}
