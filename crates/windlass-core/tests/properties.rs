//! Properties that hold for every fleet, with all kinds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::accepted::{Accepted, Owner};
use windlass_core::code::ProblemSeverity;
use windlass_core::desired::Desired;
use windlass_core::diagnostic::has_errors;
use windlass_core::diff::{Action, Cause, compare};
use windlass_core::manifest::{FileRole, Fleet, ReadCache, ReadContext, read_file};
use windlass_core::plan::{self, MassDestroyConfirmation, Plan};
use windlass_core::resource::{Kind, Spec};
use windlass_core::shape::Defaults;
use windlass_testkit::apply_plan;
use windlass_testkit::model::Model;

fn tape() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..160)
}

fn spread() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..36)
}

fn read(tape: &[u8], spread: &[u8]) -> Fleet {
    let files = Model::from_tape(tape).files(spread);
    ReadCache::default().read_once(&files, &ReadContext::offline())
}

fn ours() -> Owner {
    Owner::Repository("ours".to_owned())
}

fn plan_to(desired: &Desired, accepted: &Accepted) -> Plan {
    plan::build(desired, compare(desired, accepted, &ours()), MassDestroyConfirmation::MassDestroy)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn generated_fleets_are_sound(tape in tape(), spread in spread()) {
        let fleet = read(&tape, &spread);
        prop_assert!(!has_errors(&fleet.diagnostics), "{:?}", fleet.diagnostics);
    }

    #[test]
    fn after_a_plan_is_applied_the_next_plan_is_empty(before in tape(), after in tape(), spread in spread()) {
        let (before, after) = (read(&before, &spread), read(&after, &spread));
        let accepted = Accepted::from_desired(&before.desired, &ours());
        let plan = plan_to(&after.desired, &accepted);
        let errors = plan.problems.iter().filter(|remark| remark.code.severity() == ProblemSeverity::Error).count();
        prop_assert_eq!(errors, 0, "{:?}", &plan.problems);
        // Applying checks at each step that all references exist and that nothing refers to a destroyed resource.
        let applied = apply_plan::apply(&accepted, &plan, &ours());
        prop_assert!(applied.is_ok(), "{:?}", applied);
        let again = plan_to(&after.desired, &applied.unwrap());
        prop_assert_eq!(again.steps, vec![]);
    }

    #[test]
    fn the_order_respects_every_reference(before in tape(), after in tape()) {
        let (before, after) = (read(&before, &[]), read(&after, &[]));
        let plan = plan_to(&after.desired, &Accepted::from_desired(&before.desired, &ours()));
        let position = |kind: Kind, name: &str| {
            plan.steps.iter().position(|step| step.change.key.kind == kind && step.change.key.name == name)
        };
        for (index, step) in plan.steps.iter().enumerate() {
            let key = &step.change.key;
            if let Some(spec) = &step.change.after {
                spec.references(&key.name, &mut |reference| {
                    if let Some(target) = position(reference.kind, &reference.name) {
                        assert!(target < index, "{key} comes before {}", reference.name);
                    }
                });
            }
            if let (Some(spec), Action::Destroy) = (&step.change.before, step.change.action()) {
                spec.references(&key.name, &mut |reference| {
                    if let Some(target) = position(reference.kind, &reference.name)
                        && plan.steps[target].change.action() == Action::Destroy
                    {
                        assert!(target > index, "{key} goes after {}", reference.name);
                    }
                });
            }
            for waited in &step.waits_for {
                prop_assert!(position(waited.kind, &waited.name).is_some_and(|first| first < index));
            }
        }
    }

    #[test]
    fn form_file_and_order_do_not_change_the_plan(tape in tape(), one in spread(), other in spread()) {
        let (first, second) = (read(&tape, &one), read(&tape, &other));
        prop_assert_eq!(first.desired.digest(), second.desired.digest());
        let plans = [&first, &second].map(|fleet| plan_to(&fleet.desired, &Accepted::default()).canonical_bytes());
        prop_assert_eq!(&plans[0], &plans[1]);
    }

    #[test]
    fn resources_of_other_repositories_are_only_contested_never_destroyed(before in tape(), after in tape(), owners in vec(0..3_u8, 64)) {
        let (before, after) = (read(&before, &[]), read(&after, &[]));
        let theirs = Owner::Repository("theirs".to_owned());
        let mut accepted = Accepted::from_desired(&before.desired, &ours());
        let keys: Vec<_> = before.desired.resources.iter().map(|(kind, name, _)| (kind, name.to_owned())).collect();
        for ((kind, name), owner) in keys.iter().zip(owners) {
            let mut resource = accepted.resources.remove(*kind, name).unwrap();
            resource.owner = [ours(), theirs.clone(), Owner::Nobody][usize::from(owner)].clone();
            accepted.resources.insert(windlass_core::resource::ResourceKey::new(*kind, name), resource);
        }
        let comparison = compare(&after.desired, &accepted, &ours());
        for change in &comparison.changes {
            let owner = accepted.resources.get(change.key.kind, &change.key.name).map(|accepted| &accepted.owner);
            prop_assert_eq!(owner == Some(&theirs), change.cause == Cause::Contested, "{}", change.key);
            if change.action() == Action::Destroy {
                prop_assert_eq!(owner, Some(&ours()), "{}", change.key);
            }
        }
        let refused = after.desired.resources.iter().filter(|(kind, name, _)| {
            accepted.resources.get(*kind, name).is_some_and(|accepted| accepted.owner == theirs)
        });
        prop_assert_eq!(comparison.problems.len(), refused.count());
    }

    #[test]
    fn a_stored_spec_reads_back_unchanged(tape in tape(), texts in spread()) {
        let files = Model::from_tape(&tape).with_hostile_texts(&texts).files(&[]);
        let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
        prop_assert!(!has_errors(&fleet.diagnostics), "{:?}", fleet.diagnostics);
        for (kind, name, declared) in fleet.desired.resources.iter() {
            let filled = declared.spec.to_json(Defaults::Fill).to_string();
            for text in [declared.spec.to_stored(), filled] {
                let spec = Spec::read_stored(kind, &text);
                prop_assert_eq!(spec.map(|spec| spec.digest()), Some(declared.digest), "{} {} {}", kind, name, text);
            }
        }
    }

    #[test]
    fn protected_resources_are_never_destroyed(before in tape(), after in tape()) {
        let (before, after) = (read(&before, &[]), read(&after, &[]));
        let plan = plan_to(&after.desired, &Accepted::from_desired(&before.desired, &ours()));
        for step in plan.steps.iter().filter(|step| step.change.action() == Action::Destroy) {
            prop_assert!(!step.change.before.as_ref().unwrap().is_protected());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reading_never_panics_on_bytes(bytes in vec(any::<u8>(), 0..400)) {
        let _ = read_file("fleet.yaml", &bytes, FileRole::Root);
    }

    #[test]
    fn reading_never_panics_on_text_that_is_nearly_yaml(
        text in "([ \\-\\[\\]{}:,#&*!|>'\"%@`?~\n\ta-z0-9é]|nodes:|templates:|\n  |: |- |<<: |\\*a|&a ){0,60}",
    ) {
        let _ = read_file("fleet.yaml", text.as_bytes(), FileRole::Root);
    }

    #[test]
    fn reading_never_panics_on_a_damaged_fleet(tape in tape(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = Model::from_tape(&tape).files(&[]).remove(0).bytes;
        let position = at.index(bytes.len());
        bytes[position] = byte;
        let file = std::sync::Arc::new(read_file("fleet.yaml", &bytes, FileRole::Root));
        let _ = windlass_core::manifest::assemble(vec![file], &ReadContext::offline());
    }
}
