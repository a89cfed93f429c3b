//! The fleet that was read × the accepted state → the document of a preview. Reads rows and writes none.

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

/// The longest document that is stored. A longer one is stored without its last steps.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

/// How many steps of a longer one are stored: the first of these numbers that fits.
const KEPT_STEPS: [usize; 4] = [5_000, 500, 50, 0];

/// What a preview is planned for.
pub(crate) struct PreviewPlanner<'p> {
    pub(crate) account: &'p Account,
    pub(crate) repository: &'p Repository,
    pub(crate) confirmation: MassDestroyConfirmation,
    pub(crate) reference: &'p str,
}

/// The result of planning a preview.
pub(crate) struct PlannedPreview {
    pub(crate) outcome: PreviewOutcome,
    pub(crate) changes: usize,
    /// The document.
    pub(crate) whole: String,
    /// The document as stored, if the complete one is too long.
    pub(crate) short: Option<String>,
}

impl PreviewPlanner<'_> {
    /// Plans, unless the files have errors: resources that a broken fleet omits would look like destroys.
    pub(crate) async fn plan(
        &self,
        server: &Control,
        fetched: FetchedFleet,
    ) -> Result<PlannedPreview, StoreError> {
        let (fetched, plan, forecasts) = match fetched.fleet_at_commit.has_errors() {
            true => (fetched, Plan::nothing(&self.account.name), Vec::new()),
            false => self.compare(server, fetched).await?,
        };
        let changes = plan.steps.iter().flat_map(|step| step.change.content_changes()).collect();
        let mirrors =
            [server.preview_directory(&self.repository.id), server.mirror_directory(&self.repository.id)];
        let content = content_differences::compare_contents(mirrors.into(), changes).await;
        let cap = server.config().max_proposals;
        let configs = &fetched.fleet_at_commit.desired.provider_configs;
        let view = PlanView {
            problems: &fetched.fleet_at_commit.problems,
            from: "accepted state",
            content: &content,
            provider_configs: configs.iter().map(|config| config.name.as_str()).collect(),
            cap,
            remaining: plan::next_batch(&plan.steps, cap, |_| ProposalHistory::New).remaining,
            ..PlanView::of(&plan)
        };
        let document = || self.about(view.document(&plan), &fetched).with_forecasts(&forecasts);
        let whole = text_of(&document());
        let short = (whole.len() > KEPT_BYTES).then(|| shortened(document));
        let outcome = match (diagnostic::has_errors(&fetched.fleet_at_commit.problems), plan.is_empty()) {
            (true, _) => PreviewOutcome::Problems,
            (false, true) => PreviewOutcome::Nothing,
            (false, false) => PreviewOutcome::Changes,
        };
        Ok(PlannedPreview { outcome, changes: plan.steps.len(), whole, short })
    }

    /// Compares with one snapshot of the accepted state, and forecasts each step.
    async fn compare(
        &self,
        server: &Control,
        mut fetched: FetchedFleet,
    ) -> Result<(FetchedFleet, Plan, Vec<StepForecast>), StoreError> {
        let now = now();
        let mut reading = server.store().read_snapshot().await?;
        let compared =
            compare(&mut reading, self.repository, fetched.fleet_at_commit, self.confirmation.clone(), now)
                .await?;
        let ComparedFleet { mut fleet_at_commit, decided, .. } = compared;
        let plan = decided.plan;
        let context = forecast::ForecastContext { contributors: &fetched.contributors, now };
        let whose = (self.account, self.repository);
        let forecasts =
            forecast::forecast_steps(&mut reading, whose, &plan, &mut fleet_at_commit, &context).await?;
        fleet_at_commit.add_problems(plan.problems.clone());
        fleet_at_commit.problems.extend(plan.stopped.iter().map(plan::MassDestroy::diagnostic));
        fetched.fleet_at_commit = fleet_at_commit;
        Ok((fetched, plan, forecasts))
    }

    /// Adds the facts to the document that only a server has.
    fn about<'d>(&self, document: PlanDocument<'d>, fetched: &FetchedFleet) -> PlanDocument<'d> {
        document
            .with("repository", json!(self.repository.name))
            .with("path_prefix", json!(self.repository.path_prefix))
            .with("ref", json!(self.reference))
            .with("commit_sha", json!(fetched.commit))
            .with("base_commit", json!(self.repository.good_commit))
            .with("notes", json!(fetched.notes))
    }
}

fn text_of(document: &PlanDocument<'_>) -> String {
    serde_json::to_string(document).expect("plain values always serialize into memory")
}

/// The document with as many of its first steps as may be stored.
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
