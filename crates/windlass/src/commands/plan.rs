//! `windlass plan`.

use std::path::Path;
use std::thread;

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::catalogue::KnownVersions;
use windlass_core::code::{Code, ProblemSeverity};
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::diff::compare;
use windlass_core::display::{PlanView, markdown};
use windlass_core::manifest::ReadContext;
use windlass_core::plan::{self, MassDestroyConfirmation, Plan, ProposalHistory};
use windlass_core::resource::{ResourceKey, Spec};
use windlass_source::{Objects, content_differences};

use super::load::{self, LoadedFleet};
use super::preview;
use crate::args::server::RootServerOptions;
use crate::args::{PlanFormat, PlanOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// Plans from another state of the fleet, or from the accepted state on a server.
pub(crate) fn run(
    options: &PlanOptions,
    root: RootServerOptions,
    terminal: &Terminal,
) -> Result<Exit, CommandError> {
    match (&options.from, options.server.is_some() || root.is_given()) {
        (Some(_), true) => Err(CommandError::usage(
            "--from and --server cannot be used together",
            "compare with another state of the fleet (--from), or with the accepted state on a server (--server)",
        )),
        (None, true) => preview::plan(options, root, terminal),
        (Some(from), false) => offline(options, from, terminal),
        (None, false) => Err(CommandError::usage(
            "no state to compare with was given",
            "use --from PATH or --from GIT-REVISION to compare with another state of the fleet, or --server to \
                compare with the accepted state",
        )),
    }
}

fn offline(options: &PlanOptions, from: &str, terminal: &Terminal) -> Result<Exit, CommandError> {
    let (before, after) = load_both(options, from)?;
    let (plan, problems) = make_plan(options, &before, &after);
    let changes = plan.steps.iter().flat_map(|step| step.change.content_changes());
    let objects: [&dyn Objects; 2] = [after.objects.as_ref(), before.objects.as_ref()];
    let content = content_differences(objects.as_slice(), changes);
    let batch = plan::next_batch(&plan.steps, options.max_proposals_per_tick, |_| ProposalHistory::New);
    let configs = &after.fleet.desired.provider_configs;
    let shown = PlanView {
        problems: &problems,
        from,
        content: &content,
        provider_configs: configs.iter().map(|config| config.name.as_str()).collect(),
        cap: options.max_proposals_per_tick,
        remaining: batch.remaining,
        ..PlanView::of(&plan)
    };
    match options.format {
        PlanFormat::Human => {
            view::human::plan(&shown, &|file| after.text(file).or_else(|| before.text(file)), terminal)?;
        }
        PlanFormat::Json => view::json::document(&shown.document(&plan))?,
        PlanFormat::Markdown => view::text(&markdown(&shown))?,
    }
    Ok(match (diagnostic::has_errors(&problems), plan.is_empty()) {
        (true, _) => Exit::Problems,
        (false, true) => Exit::Fine,
        (false, false) => Exit::Changes,
    })
}

/// Both states. Their files are read at the same time; joining the new one needs to know the old.
fn load_both(options: &PlanOptions, from: &str) -> Result<(LoadedFleet, LoadedFleet), CommandError> {
    thread::scope(|scope| {
        let reading = scope.spawn(|| load::read_path(&options.path));
        let before = load_before(options, from, &ReadContext::offline())?;
        let context = add_known(&before, load::context(&options.account));
        let after = reading.join().map(|read| read.join(&context));
        Ok((before, after.unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })
}

/// The plan and every problem. A fleet with errors is not planned: what it leaves out would look like destroys.
fn make_plan(options: &PlanOptions, before: &LoadedFleet, after: &LoadedFleet) -> (Plan, Vec<Diagnostic>) {
    let desired = &after.fleet.desired;
    if before.has_errors() {
        let mut problems: Vec<Diagnostic> = before.problems.clone();
        problems.retain(|problem| problem.severity == ProblemSeverity::Error);
        return (Plan::nothing(&desired.account), problems);
    }
    if after.has_errors() {
        return (Plan::nothing(&desired.account), after.problems.clone());
    }
    // Offline there is one repository: what it declared before is what it owns.
    let repository = Owner::Repository(desired.account.clone());
    let accepted = Accepted::from_desired(&before.fleet.desired, &repository);
    let confirmation = if options.confirm_mass_destroy {
        MassDestroyConfirmation::MassDestroy
    } else {
        MassDestroyConfirmation::Missing
    };
    let plan = plan::build(desired, compare(desired, &accepted, &repository), confirmation);
    let mut problems = after.problems.clone();
    problems.extend(after.tell(plan.problems.clone()));
    problems.extend(plan.stopped.iter().map(plan::MassDestroy::diagnostic));
    diagnostic::sort_diagnostics(&mut problems);
    (plan, problems)
}

/// A path that exists is a path; anything else is a revision. Where no fleet.yaml is yet, there is an empty fleet: the
/// first pull request of a repository has nothing to compare with.
fn load_before(
    options: &PlanOptions,
    from: &str,
    context: &ReadContext,
) -> Result<LoadedFleet, CommandError> {
    let path = Path::new(from);
    let mut before = match path.exists() {
        true => load::from_path(path, context),
        false => load::from_revision(&options.path, from, context)?,
    };
    let is_absent = matches!(before.problems.as_slice(), [problem] if problem.code == Code::FileMissing);
    if is_absent {
        before.problems.clear();
    }
    Ok(before)
}

/// What was declared before exists: references may lead there, and pins to its versions.
fn add_known(before: &LoadedFleet, mut context: ReadContext) -> ReadContext {
    for (kind, name, declared) in before.fleet.desired.resources.iter() {
        context.known.resources.insert(ResourceKey::new(kind, name), ());
        if let Spec::Module(module) = declared.spec.as_ref()
            && let Some(version) = &module.version
        {
            let known: &mut KnownVersions = context.known.versions.entry(name.to_owned()).or_default();
            known.versions.push((version.clone(), module.version_state.lifecycle()));
        }
    }
    context
}
