//! What was found × the accepted state → the document of a preview. Reads rows and writes none.

use serde_json::json;
use windlass_core::account::Account;
use windlass_core::diagnostic;
use windlass_core::display::PlanView;
use windlass_core::plan::{self, MassDestroyConfirmation, Plan, PlanDocument, ProposalHistory, StepForecast};
use windlass_core::repository::Repository;
use windlass_store::{PreviewOutcome, StoreError};

use crate::clock::now;
use crate::content_differences;
use crate::control::Control;
use crate::flow::sync::compare::{ComparedFleet, compare};
use crate::outside::preview::fetched_fleet::FetchedFleet;
use crate::outside::preview::forecast;

/// A document that is longer is kept without its last steps.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// How many steps are kept of a longer one: the most that fits.
const KEPT_STEPS: [usize; 4] = [5_000, 500, 50, 0];

/// For what a plan is made.
pub(crate) struct PreviewPlanner<'p> {
    pub(crate) account: &'p Account,
    pub(crate) repository: &'p Repository,
    pub(crate) confirmation: MassDestroyConfirmation,
    pub(crate) reference: &'p str,
}

/// What a preview found.
pub(crate) struct PlannedPreview {
    pub(crate) outcome: PreviewOutcome,
    pub(crate) changes: usize,
    /// The document.
    pub(crate) whole: String,
    /// The document as it is kept, where the whole is too long.
    pub(crate) short: Option<String>,
}

impl PreviewPlanner<'_> {
    /// Plans, unless the files have errors: what a broken fleet leaves out would look like destroys.
    pub(crate) async fn plan(
        &self,
        server: &Control,
        looked: FetchedFleet,
    ) -> Result<PlannedPreview, StoreError> {
        let (looked, plan, foreseen) = match looked.material.has_errors() {
            true => (looked, Plan::nothing(&self.account.name), Vec::new()),
            false => self.compare(server, looked).await?,
        };
        let changes = plan.steps.iter().flat_map(|step| step.change.content_changes()).collect();
        let mirrors =
            [server.preview_directory(&self.repository.id), server.mirror_directory(&self.repository.id)];
        let content = content_differences::differences(mirrors.into(), changes).await;
        let cap = server.config().max_proposals;
        let configs = &looked.material.desired.provider_configs;
        let told = PlanView {
            problems: &looked.material.problems,
            from: "accepted state",
            content: &content,
            provider_configs: configs.iter().map(|config| config.name.as_str()).collect(),
            cap,
            remaining: plan::next_batch(&plan.steps, cap, |_| ProposalHistory::New).remaining,
            ..PlanView::of(&plan)
        };
        let document = || self.about(told.document(&plan), &looked).with_forecasts(&foreseen);
        let whole = text_of(&document());
        let short = (whole.len() > KEPT_BYTES).then(|| shortened(document));
        let outcome = match (diagnostic::has_errors(&looked.material.problems), plan.is_empty()) {
            (true, _) => PreviewOutcome::Problems,
            (false, true) => PreviewOutcome::Nothing,
            (false, false) => PreviewOutcome::Changes,
        };
        Ok(PlannedPreview { outcome, changes: plan.steps.len(), whole, short })
    }

    /// Compares with the accepted state at one moment, and asks what would become of each step.
    async fn compare(
        &self,
        server: &Control,
        mut looked: FetchedFleet,
    ) -> Result<(FetchedFleet, Plan, Vec<StepForecast>), StoreError> {
        let now = now();
        let mut reading = server.store().read_snapshot().await?;
        let compared =
            compare(&mut reading, self.repository, looked.material, self.confirmation.clone(), now).await?;
        let ComparedFleet { mut material, decided, .. } = compared;
        let plan = decided.plan;
        let around = forecast::ForecastContext { contributors: &looked.contributors, now };
        let whose = (self.account, self.repository);
        let foreseen = forecast::forecast_steps(&mut reading, whose, &plan, &mut material, &around).await?;
        material.add_problems(plan.problems.clone());
        material.problems.extend(plan.stopped.iter().map(plan::MassDestroy::diagnostic));
        looked.material = material;
        Ok((looked, plan, foreseen))
    }

    /// The document with what only a server knows.
    fn about<'d>(&self, document: PlanDocument<'d>, looked: &FetchedFleet) -> PlanDocument<'d> {
        document
            .with("repository", json!(self.repository.name))
            .with("path_prefix", json!(self.repository.path_prefix))
            .with("ref", json!(self.reference))
            .with("commit_sha", json!(looked.commit))
            .with("base_commit", json!(self.repository.good_commit))
            .with("notes", json!(looked.notes))
    }
}

fn text_of(document: &PlanDocument<'_>) -> String {
    serde_json::to_string(document).expect("plain values always serialize into memory")
}

/// A document with as many of its first steps as may be kept.
fn shortened<'d>(document: impl Fn() -> PlanDocument<'d>) -> String {
    let mut text = String::new();
    for steps in KEPT_STEPS {
        text = text_of(&document().with_first(steps));
        if text.len() <= KEPT_BYTES {
            break;
        }
    }
    text
}
