//! No modules of a crate use each other in a cycle: to read one, it is enough to know those below it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod cycles;
mod declared;
mod graph;
mod tokens;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cycles::cycles;
use graph::Modules;

/// The Rust files below a directory: path from there → text.
fn files_in(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            files_in(&path, &format!("{name}/"), files);
        } else if name.ends_with(".rs") {
            files.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_modules_of_a_crate_have_no_circular_dependencies() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut told, mut references) = (Vec::new(), 0);
    for entry in fs::read_dir(crates).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut files = BTreeMap::new();
        files_in(&entry.path().join("src"), "", &mut files);
        for root in ["lib.rs", "main.rs"].into_iter().filter(|root| files.contains_key(*root)) {
            let modules = Modules::read(&files, root);
            references += modules.references().len();
            told.extend(cycles(&modules).into_iter().map(|cycle| format!("{name}, {cycle}")));
        }
    }
    assert!(references > 2_000, "the crates were read");
    assert!(told.is_empty(), "modules use each other, {} times:\n\n{}\n", told.len(), told.join("\n\n"));
}

/// The cycles of a crate with these files.
fn cycles_in(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    cycles(&Modules::read(&files, "lib.rs"))
}

#[test]
fn a_circle_between_siblings_is_told_with_its_places() {
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    let a = ("a.rs", "use crate::b::{self, B};\n\npub struct A(B);\n");
    let told = "in the crate:\n  a → b: a.rs:1 crate::b::B\n  b → a: b.rs:2 super::a::A";
    assert_eq!(cycles_in(&[lib, a, ("b.rs", "pub struct B;\npub fn b(_: super::a::A) {}\n")]), [told]);
    assert!(
        cycles_in(&[lib, a, ("b.rs", "/// [`super::a::A`]\npub struct B(std::rc::Rc<u8>);\n")]).is_empty()
    );
}

#[test]
fn a_child_stands_for_what_is_below_it() {
    let files = [
        ("lib.rs", "mod a;\nmod c;\n"),
        ("a/mod.rs", "pub mod low;\npub mod high;\n"),
        ("a/low.rs", "pub struct Low;\n"),
        ("a/high.rs", "use crate::c;\n\nfn high() -> c::C { c::C }\n"),
        ("c.rs", "pub struct C;\nfn c(_: crate::a::low::Low) {}\n"),
    ];
    let told = "in the crate:\n  a → c: a/high.rs:3 c::C\n  c → a: c.rs:2 crate::a::low::Low";
    assert_eq!(cycles_in(&files), [told]);
}

#[test]
fn a_circle_through_a_re_export_is_one_of_what_defines_it() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
        ("a.rs", "pub use crate::b::B as Renamed;\npub struct A;\n"),
        ("b.rs", "pub struct B;\nfn b(_: crate::c::C) {}\n"),
        ("c.rs", "pub struct C;\nfn c() -> crate::a::Renamed { crate::a::Renamed }\n"),
    ];
    let told = "in the crate:\n  b → c: b.rs:2 crate::c::C\n  c → b: c.rs:2 crate::a::Renamed";
    assert_eq!(cycles_in(&files), [told], "c uses nothing of a");
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a/mod.rs", "mod go;\npub use go::go;\n"),
        ("a/go.rs", "pub fn go() {}\nfn far(_: crate::b::B) {}\n"),
        ("b.rs", "use crate::a::go;\n\npub struct B;\n"),
    ];
    let told = "in the crate:\n  a → b: a/go.rs:2 crate::b::B\n  b → a: b.rs:1 crate::a::go";
    assert_eq!(cycles_in(&files), [told], "a function may be called like its module");
}

#[test]
fn a_circle_through_the_file_of_the_parent_is_one() {
    let a = |text| [("lib.rs", "mod a;\n"), ("a/mod.rs", text), ("a/low.rs", "use super::Low;\n")];
    let told =
        "in a:\n  (its own file) → low: a/mod.rs:3 low::go\n  low → (its own file): a/low.rs:1 super::Low";
    assert_eq!(cycles_in(&a("mod low;\npub struct Low;\nfn f() { low::go() }\n")), [told]);
    assert!(
        cycles_in(&a("pub mod low;\npub use low::Other;\npub struct Low;\n")).is_empty(),
        "only handed on"
    );
    let told =
        "in a:\n  (its own file) → low: a/mod.rs:4 Other\n  low → (its own file): a/low.rs:1 super::Low";
    assert_eq!(cycles_in(&a("mod low;\npub use low::Other;\npub struct Low;\nfn f(_: Other) {}\n")), [told]);
}

#[test]
fn what_a_macro_declares_and_what_stands_in_attributes_counts() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "record! {\n    pub struct A {}\n}\n#[arg(parser = crate::b::read)]\nstruct Options;\n"),
        ("b.rs", "use crate::a::*;\n\npub fn read(_: A) {}\n"),
    ];
    assert_eq!(
        cycles_in(&files),
        ["in the crate:\n  a → b: a.rs:4 crate::b::read\n  b → a: b.rs:1 crate::a"]
    );
}

#[test]
fn what_only_tests_use_is_no_circle() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod machine;\n"),
        ("a.rs", "use crate::b::B;\n\npub struct A(B);\n"),
        ("b.rs", "pub struct B;\n\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
        ("machine.rs", "use crate::a::A;\n"),
    ];
    assert!(cycles_in(&files).is_empty());
}
