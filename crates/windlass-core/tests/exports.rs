//! An export reads back as the same fleet.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::desired::Desired;
use windlass_core::export::{HiddenValues, SectionForm, fleet_files, fleet_yaml};
use windlass_core::manifest::{Fleet, ReadCache, ReadContext, SourceFile};
use windlass_core::resource::Spec;
use windlass_core::yaml;
use windlass_testkit::model::Model;

fn read(files: &[SourceFile]) -> Fleet {
    ReadCache::default().read_once(files, &ReadContext::offline())
}

fn resources(desired: &Desired) -> impl Iterator<Item = (&str, &Spec)> {
    desired.resources.iter().map(|(_, name, declared)| (name, declared.spec.as_ref()))
}

fn check(fleet: &Fleet) {
    assert!(!fleet.has_errors(), "{:#?}", fleet.diagnostics);
    let desired = &fleet.desired;
    for form in [SectionForm::List, SectionForm::Map] {
        let export = fleet_yaml(&desired.account, resources(desired), form, HiddenValues::Shown);
        assert_eq!(export.left_out, []);
        let again = read(&[SourceFile::new("fleet.yaml", export.text.clone().into_bytes())]);
        assert!(!again.has_errors(), "{:#?}\n{}", again.diagnostics, export.text);
        assert_eq!(again.desired.digest(), desired.digest(), "{}", export.text);
        assert_eq!(yaml::format(&export.text).unwrap(), export.text, "laid out as fmt does");
        let files = fleet_files(&desired.account, resources(desired), form, HiddenValues::Shown).files;
        assert_eq!((files[0].path.as_str(), &files[0].text), ("fleet.yaml", &export.text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_export_reads_back_to_the_same_fleet(tape in vec(any::<u8>(), 0..160)) {
        check(&read(&Model::from_tape(&tape).files(&[])));
    }
}

#[test]
fn the_example_and_the_documents_read_back_to_the_same_fleets() {
    let file = |path: &str, text: &str| SourceFile::new(path, text.into());
    check(&read(&[
        file("fleet.yaml", include_str!("../../../examples/edge/fleet.yaml")),
        file("fleet.d/clusters.yaml", include_str!("../../../examples/edge/fleet.d/clusters.yaml")),
        file("fleet.d/network.yaml", include_str!("../../../examples/edge/fleet.d/network.yaml")),
    ]));
    for text in [
        include_str!("../../../examples/edge-before/fleet.yaml"),
        include_str!("../../windlass/tests/documents/tutorial.yaml"),
        include_str!("../../windlass/tests/documents/runbook.yaml"),
    ] {
        check(&read(&[file("fleet.yaml", text)]));
    }
}

#[test]
fn an_account_of_more_than_a_file_becomes_several() {
    let mut text = String::from("version: 1\naccount: acme\nmodules:\n");
    for number in 0..9000 {
        text.push_str(&format!(
            "  m-{number}: {{description: '{}', config: {{a: 1}}}}\n",
            "word ".repeat(12)
        ));
    }
    let fleet = read(&[SourceFile::new("fleet.yaml", text.into())]);
    let exported = fleet_files("acme", resources(&fleet.desired), SectionForm::List, HiddenValues::Shown);
    assert_eq!(exported.left_out, []);
    assert!(exported.files.len() > 2);
    assert!(exported.files.iter().all(|file| file.text.len() <= yaml::MAX_FILE_BYTES));
    let files: Vec<SourceFile> =
        exported.files.into_iter().map(|file| SourceFile::new(file.path, file.text.into())).collect();
    let again = read(&files);
    assert!(!again.has_errors());
    assert_eq!(again.desired.digest(), fleet.desired.digest());
}
