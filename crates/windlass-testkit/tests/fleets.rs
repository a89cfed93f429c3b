//! The generated fleets have the documented properties.

use std::sync::Arc;

use windlass_core::manifest::{FileRole, Fleet, MAX_RESOURCES, ReadContext, assemble, read_file};
use windlass_core::resource::Kind;
use windlass_core::yaml::MAX_FILE_BYTES;
use windlass_testkit::fleet::{
    FleetEdition, FleetForm, FleetText, LARGEST_FILE_NODES, nothing, one_file, spread,
};
use windlass_testkit::model::Model;

fn read(files: &[FleetText]) -> Fleet {
    let role = |index| if index == 0 { FileRole::Root } else { FileRole::Included };
    let read = |(index, file): (usize, &FleetText)| {
        Arc::new(read_file(&file.path, file.text.as_bytes(), role(index)))
    };
    assemble(files.iter().enumerate().map(read).collect(), &ReadContext::offline())
}

#[test]
fn fleets_of_every_size_and_form_have_no_problems() {
    assert_eq!(read(&[nothing()]).diagnostics, []);
    for nodes in [1, 2, 9, 100, 1000, 1001] {
        for form in [FleetForm::List, FleetForm::Map] {
            let fleet = read(&[one_file(nodes, form, FleetEdition::Current)]);
            assert_eq!(fleet.diagnostics, [], "{nodes} nodes as {form:?}");
        }
    }
}

#[test]
fn both_forms_mean_the_same_and_the_editions_differ() {
    let digest = |form, edition| read(&[one_file(300, form, edition)]).desired.digest();
    let current = digest(FleetForm::List, FleetEdition::Current);
    assert_eq!(current, digest(FleetForm::Map, FleetEdition::Current));
    assert_ne!(current, digest(FleetForm::List, FleetEdition::Previous));
}

#[test]
fn the_largest_file_is_just_below_the_limit() {
    let size = one_file(LARGEST_FILE_NODES, FleetForm::List, FleetEdition::Current).text.len();
    assert!((1_000_000..=MAX_FILE_BYTES).contains(&size), "{size} bytes");
}

#[test]
fn a_spread_fleet_has_exactly_the_requested_resources_in_files_below_the_limit() {
    for resources in [1000, 5000, MAX_RESOURCES] {
        let files = spread(resources, FleetForm::List, FleetEdition::Current);
        assert!(files.iter().all(|file| file.text.len() <= MAX_FILE_BYTES));
        let fleet = read(&files);
        assert_eq!(fleet.diagnostics, []);
        assert_eq!(fleet.desired.resources.len(), resources);
    }
}

#[test]
fn the_model_generates_every_kind() {
    // With odd bytes, `flip` always returns true.
    let files = Model::from_tape(&[0xff; 400]).files(&[]);
    let texts = files.into_iter().map(|file| FleetText {
        path: file.path,
        text: String::from_utf8(file.bytes).expect("a model is text"),
    });
    let generated = read(&texts.collect::<Vec<_>>()).desired.resources;
    for kind in Kind::ALL {
        let is_generated = generated.of_kind(*kind).next().is_some();
        assert!(
            is_generated,
            "no property test ever sees a {kind}: let `Model::from_tape` in src/model.rs make some up \
             (ARCHITECTURE.md, How to add a kind)"
        );
    }
}
