//! Any bytes are read without panicking, and a fleet without errors has an empty plan against itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::accepted::{Accepted, Owner};
use windlass_core::diff::compare;
use windlass_core::manifest::{ReadCache, ReadContext, SourceFile};
use windlass_core::plan::{self, MassDestroyConfirmation};

fuzz_target!(|bytes: &[u8]| {
    let files = [SourceFile::new("fleet.yaml", bytes.to_vec())];
    let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
    if fleet.has_errors() {
        return;
    }
    let repository = Owner::Repository("fuzz".to_owned());
    let accepted = Accepted::from_desired(&fleet.desired, &repository);
    let plan = plan::build(
        &fleet.desired,
        compare(&fleet.desired, &accepted, &repository),
        MassDestroyConfirmation::Missing,
    );
    assert!(plan.is_empty());
});
