//! `windlass plan`.

use std::path::Path;

use windlass_core::catalogue::KnownVersions;
use windlass_core::diagnostic;
use windlass_core::diff::compare;
use windlass_core::live::{Live, Owner};
use windlass_core::manifest::Context;
use windlass_core::plan::{self, Confirmation, Standing};
use windlass_core::resource::{Kind, Spec};
use windlass_core::value::Lifecycle;

use super::load::{self, Loaded};
use crate::args::{PlanFormat, PlanOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

pub(crate) fn run(options: &PlanOptions, terminal: &Terminal) -> Result<Exit, CommandError> {
    let mut context = load::context(&options.account);
    let before = load_before(options, &Context::offline())?;
    if before.has_errors() {
        tell_problems(&before, terminal)?;
        let message = format!("the state to start from, `{}`, has problems", options.from);
        return Err(CommandError::told(message, "choose a state that validates, or fix it first"));
    }
    know_versions(&before, &mut context);
    let after = load::from_path(&options.path, &context);
    // Offline there is one repository: what it declared before is what it owns.
    let repository = Owner::Repository(after.fleet.desired.account.clone());
    let live = Live::after(&before.fleet.desired, &repository);
    let confirmation =
        if options.confirm_mass_destroy { Confirmation::MassDestroy } else { Confirmation::Missing };
    let comparison = compare(&after.fleet.desired, &live, &repository);
    let plan = plan::build(&after.fleet.desired, comparison, confirmation);
    let mut problems = after.problems.clone();
    problems.extend(plan.problems.iter().cloned());
    problems.extend(plan.stopped.iter().map(plan::MassDestroy::diagnostic));
    let batch = plan::take(&plan.steps, options.max_proposals_per_tick, |_| Standing::Fresh);
    let shown = view::Planned {
        plan: &plan,
        problems: &problems,
        from: &options.from,
        provider_configs: &after.fleet.desired.provider_configs,
        cap: options.max_proposals_per_tick,
        remaining: batch.remaining,
    };
    let has_errors = diagnostic::has_errors(&problems);
    match options.format {
        PlanFormat::Human => view::human::plan(&shown, &|file| after.text(file), terminal)?,
        PlanFormat::Json => view::json::plan(&shown)?,
        PlanFormat::Markdown => view::markdown::plan(&shown)?,
    }
    Ok(match (has_errors, plan.is_empty()) {
        (true, _) => Exit::Problems,
        (false, true) => Exit::Fine,
        (false, false) => Exit::Changes,
    })
}

/// A path that exists is a path; anything else is a revision.
fn load_before(options: &PlanOptions, context: &Context) -> Result<Loaded, CommandError> {
    let path = Path::new(&options.from);
    match path.exists() {
        true => Ok(load::from_path(path, context)),
        false => load::from_revision(&options.path, &options.from, context),
    }
}

fn tell_problems(loaded: &Loaded, terminal: &Terminal) -> Result<(), CommandError> {
    let checked = view::Checked {
        problems: &loaded.problems,
        resources: loaded.fleet.desired.resources.len(),
        digest: loaded.fleet.desired.digest(),
    };
    Ok(view::human::problems(&checked, &|file| loaded.text(file), terminal)?)
}

/// Versions that were declared before exist, so pins may still lead to them.
fn know_versions(before: &Loaded, context: &mut Context) {
    for (name, declared) in before.fleet.desired.resources.of_kind(Kind::Module) {
        if let Spec::Module(module) = declared.spec.as_ref()
            && let Some(version) = &module.version
        {
            let known: &mut KnownVersions = context.known.versions.entry(name.to_owned()).or_default();
            known.versions.push((version.clone(), Lifecycle::Live));
        }
    }
}
