//! One preview: what a commit or files would change. It has no decisions, because nothing was proposed.

use askama::Template;
use windlass_api::types::PreviewInfo;
use windlass_core::code::ProblemSeverity;
use windlass_core::diff::{self, Action};
use windlass_core::display::PlanView;
use windlass_core::plan::{ParsedPlan, PolicyOutlook, StepGroup};
use windlass_core::preview::{PreviewOutcome, PreviewSource};

use super::run::{KindDiff, by_kind};
use crate::content::{self, ContentRow};
use crate::diff::{DiffRow, SpecDiff};
use crate::frame::{Frame, NavEntry};
use crate::words;

/// The most groups of changes that are shown; the rest is counted.
const GROUPS_SHOWN: usize = 100;

/// The most names of a group that are shown; the rest is counted.
const NAMES_SHOWN: usize = 8;

/// The most problems that are shown; the rest is counted.
const PROBLEMS_SHOWN: usize = 100;

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "preview.html")]
pub struct PreviewPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The preview, without its plan.
    pub preview: PreviewInfo,
    /// The plan; `None` if another version of Windlass wrote it.
    pub plan: Option<ParsedPlan>,
}

/// Identical changes of one or several resources.
pub(crate) struct ChangeGroup {
    pub(crate) change: Action,
    pub(crate) kind: &'static str,
    pub(crate) names: Vec<String>,
    pub(crate) more: usize,
    pub(crate) positions: String,
    pub(crate) fields: Vec<diff::FieldChange>,
    pub(crate) comparison: SpecDiff,
    pub(crate) content: Vec<ContentRow>,
    pub(crate) outlook: Option<PolicyOutlook>,
    pub(crate) reasons: Vec<String>,
}

impl PreviewPage {
    pub(crate) fn kinds(&self, plan: &ParsedPlan) -> Vec<KindDiff> {
        let keys: Vec<_> = plan
            .steps
            .iter()
            .map(|step| {
                let key = windlass_core::resource::ResourceKey::new(step.kind, step.name.clone());
                (step.cause.action(), key)
            })
            .collect();
        let document = diff::nonempty_diff_document(keys.iter().map(|(action, key)| (*action, key)));
        by_kind(&document)
    }

    /// The groups, and how many more there are.
    pub(crate) fn groups(&self, plan: &ParsedPlan) -> (Vec<ChangeGroup>, usize) {
        let groups = plan.groups();
        let left: usize = groups.iter().skip(GROUPS_SHOWN).map(|group| group.steps.len()).sum();
        (
            groups.iter().take(GROUPS_SHOWN).map(|group| change_group(group, plan)).collect(),
            left + plan.omitted,
        )
    }

    /// The number of problems that are not shown.
    pub(crate) fn problems_left(&self, plan: &ParsedPlan) -> usize {
        plan.problems.len().saturating_sub(PROBLEMS_SHOWN)
    }

    pub(crate) fn is_of_files(&self) -> bool {
        self.preview.source == PreviewSource::Files
    }
}

fn change_group(group: &StepGroup<'_>, plan: &ParsedPlan) -> ChangeGroup {
    let (_, first) = group.steps[0];
    let payload = first.payload();
    let forecast = first.forecast();
    let reasons =
        forecast.map(|forecast| forecast.reasons.iter().chain(&forecast.blocked_by).cloned().collect());
    let change = group.cause.action();
    let comparison = match change {
        Action::Create => SpecDiff::of(None, Some(&payload)),
        Action::Destroy => SpecDiff::of(Some(&payload), None),
        Action::Update => SpecDiff::default(),
    };
    ChangeGroup {
        change,
        kind: group.kind.slug(),
        names: group.steps.iter().take(NAMES_SHOWN).map(|(_, step)| step.name().to_owned()).collect(),
        more: group.steps.len().saturating_sub(NAMES_SHOWN),
        positions: group.positions(),
        fields: first.fields().into_owned(),
        comparison,
        content: content::rows(PlanView::read(plan).content_of(first)),
        outlook: forecast.map(|forecast| forecast.outlook),
        reasons: reasons.unwrap_or_default(),
    }
}

/// The outcome in words.
pub(crate) fn outcome(outcome: &PreviewOutcome) -> &'static str {
    match outcome {
        PreviewOutcome::Nothing => "No changes",
        PreviewOutcome::Changes => "Changes",
        PreviewOutcome::Problems => "Problems",
    }
}

/// The tone of the outcome.
pub(crate) fn outcome_tone(outcome: &PreviewOutcome) -> &'static str {
    match outcome {
        PreviewOutcome::Nothing => "good",
        PreviewOutcome::Changes => "warn",
        PreviewOutcome::Problems => "bad",
    }
}

/// The policy's forecast in words.
pub(crate) fn outlook(outlook: &PolicyOutlook) -> &'static str {
    match outlook {
        PolicyOutlook::Auto => "Applied automatically",
        PolicyOutlook::Approval => "Needs approval",
        PolicyOutlook::Blocked => "Blocked by policy",
    }
}

/// The tone of the forecast.
pub(crate) fn outlook_tone(outlook: &PolicyOutlook) -> &'static str {
    match outlook {
        PolicyOutlook::Auto => "good",
        PolicyOutlook::Approval => "warn",
        PolicyOutlook::Blocked => "bad",
    }
}
