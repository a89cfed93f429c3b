//! The progress of a run as steps: queued, fetched, compared, approved, applied.

use windlass_api::types::RunInfo;
use windlass_core::run::{RunStatus, Stage};

use crate::words;

/// The state of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepState {
    Done,
    Now,
    Failed,
    Pending,
    NotNeeded,
}

impl StepState {
    pub(crate) fn slug(self) -> &'static str {
        match self {
            StepState::Done => "done",
            StepState::Now => "now",
            StepState::Failed => "failed",
            StepState::Pending => "ahead",
            StepState::NotNeeded => "needless",
        }
    }

    pub(crate) fn is_now(self) -> bool {
        self == StepState::Now
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunStep {
    pub(crate) what: &'static str,
    pub(crate) state: StepState,
    /// When it was completed, if that is known.
    pub(crate) at: Option<String>,
    /// A note that is shown if there is no time.
    pub(crate) note: String,
}

/// The number of a run's proposals by decision, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DecisionCounts {
    pub(crate) pending: usize,
    /// Approved, and not applied yet.
    pub(crate) approved: usize,
    pub(crate) failed: usize,
    /// The time of the last decision.
    pub(crate) at: Option<String>,
}

/// The steps of a run.
pub(crate) fn steps(run: &RunInfo, decided: &DecisionCounts) -> Vec<RunStep> {
    let mut steps = steps_until_comparison(run);
    steps.extend(steps_after_comparison(run, decided));
    steps
}

fn step(what: &'static str, state: StepState, at: Option<&String>, note: &str) -> RunStep {
    let at = at.filter(|_| matches!(state, StepState::Done | StepState::Failed)).cloned();
    RunStep { what, state, at, note: note.to_owned() }
}

/// The steps up to the comparison.
fn steps_until_comparison(run: &RunInfo) -> Vec<RunStep> {
    use StepState::{Done, Failed, Now, Pending};
    let has_commit = run.commit_sha.is_some();
    let (queued, fetched, compared) = match (run.stage, run.error.is_some()) {
        (Stage::Queued, _) => (Now, Pending, Pending),
        (Stage::Fetching, _) => (Done, Now, Pending),
        (Stage::Comparing, _) => (Done, Done, Now),
        (Stage::Finished, true) if has_commit => (Done, Done, Failed),
        (Stage::Finished, true) => (Done, Failed, Pending),
        (Stage::Finished, false) => (Done, Done, Done),
    };
    let fetched_note = match (fetched, &run.commit_sha) {
        (Now, _) => "fetching".to_owned(),
        (Done, Some(commit)) => words::short_commit(commit),
        _ => String::new(),
    };
    vec![
        step("Queued", queued, Some(&run.created_at), "queued"),
        step("Fetched", fetched, run.completed_at.as_ref().filter(|_| fetched == Failed), &fetched_note),
        step("Compared", compared, run.completed_at.as_ref(), if compared == Now { "comparing" } else { "" }),
    ]
}

/// The steps after the comparison.
fn steps_after_comparison(run: &RunInfo, decided: &DecisionCounts) -> [RunStep; 2] {
    use StepState::{Done, Failed, NotNeeded, Now, Pending};
    let has_compared = run.stage == Stage::Finished && run.error.is_none();
    let (approved, note) = match (has_compared, decided.pending) {
        (false, _) => (Pending, String::new()),
        (_, 0) if run.diff_count == 0 => (NotNeeded, "no differences".to_owned()),
        (_, 0) => (Done, "decided".to_owned()),
        (_, pending) => (Now, format!("{pending} to review")),
    };
    let (applied, applied_note) = match run.status {
        _ if !has_compared => (Pending, ""),
        _ if decided.failed > 0 => (Failed, "partially"),
        _ if approved == NotNeeded => (NotNeeded, "no changes"),
        RunStatus::Applied | RunStatus::AppliedManually | RunStatus::Success => (Done, ""),
        _ if decided.approved > 0 => (Now, "applying"),
        RunStatus::Partial if decided.pending == 0 => (Done, "partially"),
        _ => (Pending, ""),
    };
    [
        RunStep { note, ..step("Approved", approved, decided.at.as_ref(), "") },
        step("Applied", applied, run.applied_at.as_ref(), applied_note),
    ]
}
