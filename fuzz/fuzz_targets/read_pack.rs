//! Any pack is accepted or rejected within its limits, like the pack of a fetch.
#![no_main]

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use gix::odb::pack;
use libfuzzer_sys::fuzz_target;
use windlass_source::{CommitId, FileTree as _, Mirror, PathPrefix};

/// The same limit as in a mirror.
const MAX_OBJECT_BYTES: usize = 64 << 20;

/// A valid pack with a commit, a tree, files and a delta, of which runs change single bytes.
fn sound() -> &'static [u8] {
    static PACK: OnceLock<Vec<u8>> = OnceLock::new();
    PACK.get_or_init(|| {
        let work = windlass_testkit::servers::WorkTree::new();
        let nodes: String = (0..200).map(|nth| format!("  n{nth}: {{}}\n")).collect();
        work.commit("fleet.yaml", &format!("version: 1\naccount: a\nnodes:\n{nodes}"));
        work.commit("fleet.yaml", &format!("version: 1\naccount: a\nnodes:\n{nodes}  more: {{}}\n"));
        work.git(&["repack", "-adfq"]);
        let directory = work.path().join(".git/objects/pack");
        let entries = std::fs::read_dir(directory).expect("a directory").flatten();
        let path =
            entries.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "pack"));
        std::fs::read(path.expect("a pack")).expect("a pack")
    })
}

/// The input: the bytes themselves, or the valid pack with some of its bytes changed.
fn coming(bytes: &[u8]) -> Vec<u8> {
    let Some((0, changes)) = bytes.split_first().map(|(first, rest)| (first % 2, rest)) else {
        return [b"PACK\0\0\0\x02".as_slice(), bytes].concat();
    };
    let mut pack = sound().to_vec();
    for change in changes.chunks_exact(3) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % pack.len();
        pack[at] ^= change[2];
    }
    pack
}

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mirror = Mirror::open_or_create(directory.path()).expect("a mirror");
    let repository = gix::open(directory.path()).expect("a repository");
    let options = pack::bundle::write::Options {
        thread_limit: Some(1),
        alloc_limit_bytes: Some(MAX_OBJECT_BYTES),
        ..Default::default()
    };
    let taken = pack::Bundle::write_to_directory(
        &mut coming(bytes).as_slice(),
        Some(&directory.path().join("objects/pack")),
        &mut gix::progress::Discard,
        &AtomicBool::new(false),
        Some(repository.objects.clone()),
        gix::hash::Kind::Sha1,
        options,
    );
    let Ok(taken) = taken else { return };
    let Some(bundle) = taken.to_bundle().and_then(Result::ok) else { return };
    for entry in bundle.index.iter() {
        let Some(id) = CommitId::parse(&entry.oid.to_string()) else { continue };
        if let Ok(tree) = mirror.tree(&id, &PathPrefix::parse("").expect("the root")) {
            let _ = (tree.entry("fleet.yaml"), tree.read("fleet.yaml"));
        }
        let _ = mirror.commit(&id);
    }
});
