//! Any graph of git objects is read within its limits: trees that repeat, nest and have arbitrary names.
#![no_main]

use std::sync::OnceLock;

use gix::objs::Write as _;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use windlass_core::manifest::{IncludePattern, ReadCache, ReadContext, Selection};
use windlass_core::shape::TextValue as _;
use windlass_source::{CommitId, FileTree as _, FleetFiles, Mirror, PathPrefix, read_fleet};

/// A directory: entries for files, for directories made before, or for missing objects.
#[derive(Arbitrary, Debug)]
struct Directory {
    entries: Vec<(Mode, Name, u8)>,
}

#[derive(Arbitrary, Debug, Clone, Copy)]
enum Mode {
    File,
    Tree,
    Link,
    Module,
    Odd,
}

#[derive(Arbitrary, Debug)]
enum Name {
    Plain(u8),
    Fleet,
    Up,
    Git,
    Raw(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
struct Graph {
    directories: Vec<Directory>,
    pattern: String,
    prefix: String,
}

/// One mirror for all runs: objects are only added, under their own ids.
fn mirror() -> &'static (tempfile::TempDir, Mirror) {
    static MIRROR: OnceLock<(tempfile::TempDir, Mirror)> = OnceLock::new();
    MIRROR.get_or_init(|| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mirror = Mirror::open_or_create(directory.path()).expect("a mirror");
        (directory, mirror)
    })
}

fn raw(directory: &Directory, files: &[gix::ObjectId], trees: &[gix::ObjectId]) -> Vec<u8> {
    let mut raw = Vec::new();
    for (mode, name, at) in directory.entries.iter().take(64) {
        let (mode, known) = match mode {
            Mode::File => ("100644", files),
            Mode::Tree => ("40000", trees),
            Mode::Link => ("120000", files),
            Mode::Module => ("160000", trees),
            Mode::Odd => ("777", files),
        };
        let name = match name {
            Name::Plain(nth) => format!("d{nth}").into_bytes(),
            Name::Fleet => b"fleet.yaml".to_vec(),
            Name::Up => b"..".to_vec(),
            Name::Git => b".git".to_vec(),
            Name::Raw(bytes) => bytes.iter().copied().filter(|byte| *byte != 0).collect(),
        };
        let missing = gix::ObjectId::null(gix::hash::Kind::Sha1);
        let id = known.get(usize::from(*at) % known.len().max(1)).copied().unwrap_or(missing);
        raw.extend_from_slice(mode.as_bytes());
        raw.push(b' ');
        raw.extend_from_slice(&name);
        raw.push(0);
        raw.extend_from_slice(id.as_slice());
    }
    raw
}

fuzz_target!(|graph: Graph| {
    let (directory, mirror) = mirror();
    let repository = gix::open(directory.path()).expect("a repository");
    let write = |kind, bytes: &[u8]| repository.write_buf(kind, bytes);
    let fleet = "version: 1\naccount: acme\ninclude: ['**/*', 'd1/*']\n";
    let files: Vec<_> = [fleet, "nodes: {}\n", "\0"]
        .iter()
        .filter_map(|text| write(gix::objs::Kind::Blob, text.as_bytes()).ok())
        .collect();
    let mut trees = Vec::new();
    for directory in graph.directories.iter().take(64) {
        trees.extend(write(gix::objs::Kind::Tree, &raw(directory, &files, &trees)).ok());
    }
    let Some(root) = trees.last() else { return };
    let commit = format!("tree {root}\nauthor a <a> 0 +0000\ncommitter a <a> 0 +0000\n\nx\n");
    let Ok(commit) = write(gix::objs::Kind::Commit, commit.as_bytes()) else { return };
    let Some(commit) = CommitId::parse(&commit.to_string()) else { return };
    let prefix = PathPrefix::parse(&graph.prefix).or_else(|_| PathPrefix::parse("")).expect("the root");
    let Ok(tree) = mirror.tree(&commit, &prefix) else { return };
    if let Ok(pattern) = IncludePattern::read(&graph.pattern) {
        let selection = Selection::of(&[pattern]);
        for (path, _) in tree.list(&selection).unwrap_or_default() {
            assert!(
                selection.matches(&path)
                    && !path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git"))
            );
            assert!(tree.entry(&path).is_ok_and(|found| found.is_some()), "{path:?} is listed and not there");
        }
    }
    let mut read_cache = ReadCache::default();
    let read = read_fleet(&tree, "fleet.yaml", &mut read_cache);
    let mut fleet = read_cache.read_once(&read.files, &ReadContext::offline());
    FleetFiles::check_paths(&tree, &mut fleet);
});
