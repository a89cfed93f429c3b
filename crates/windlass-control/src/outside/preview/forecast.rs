//! What would happen to each step if it were proposed now.

use windlass_core::account::Account;
use windlass_core::apply::{Gatekeeper, PossibleChange};
use windlass_core::conflict::{Candidate, Claimant};
use windlass_core::diff::Change;
use windlass_core::gate::Contributors;
use windlass_core::plan::{Plan, StepForecast};
use windlass_core::proposal::{ExistingProposal, blockers};
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::flow::gate::gatekeeper::with_hosts;
use crate::flow::sync::fleet_at_commit::FleetAtCommit;

/// What the gate needs besides the change.
pub(crate) struct ForecastContext<'a> {
    pub(crate) contributors: &'a Contributors,
    pub(crate) now: Timestamp,
}

/// Forecasts the gate's decision for each step, in order. A step is blocked only by what the steps before it do not resolve.
pub(crate) async fn forecast_steps(
    reading: &mut Reading,
    (account, repository): (&Account, &Repository),
    plan: &Plan,
    fleet_at_commit: &mut FleetAtCommit,
    context: &ForecastContext<'_>,
) -> Result<Vec<StepForecast>, StoreError> {
    let changes: Vec<Change> = plan.steps.iter().map(|step| step.change.clone()).collect();
    let open = reading.proposals_open_of(&repository.id).await?;
    let open: ResourceMap<&ExistingProposal> = open.iter().map(|open| (open.key.clone(), open)).collect();
    let candidates: Vec<Candidate<'_>> = changes
        .iter()
        .map(|change| {
            let proposal = open.get(change.key.kind, &change.key.name);
            let proposal = proposal.filter(|it| it.base == change.base && it.desired == change.desired);
            let proposal = proposal.map(|proposal| &proposal.id);
            Candidate { change, claimant: Claimant::Repository { id: &repository.id, proposal } }
        })
        .collect();
    let declarations = DeclarationSource::Read(&fleet_at_commit.desired);
    let mut state = load_account_state(reading, &account.id, &candidates, declarations).await?;
    let keys: Vec<ResourceKey> = changes.iter().map(|change| change.key.clone()).collect();
    let gatekeeper = with_hosts(Gatekeeper::before_approvals(account), reading, account, &keys).await?;
    let places = fleet_at_commit.declared_at(&keys);
    let previous_files = reading.resource_files(&account.id, &keys).await?;
    let forecasts = candidates.iter().zip(&places).map(|(candidate, place)| {
        let (change, conflicts) = (candidate.change, state.conflicts(*candidate));
        let blocked_by = blockers(change, &state, &conflicts);
        // A conflicting change would not be applied, so changes that refer to its resource are blocked too.
        if conflicts.is_empty() {
            state.note_applied(change, Some(&repository.id));
        }
        let declared_at = place.as_ref().map(|(file, _)| file.as_str());
        let previous = previous_files.get(change.key.kind, &change.key.name).map(String::as_str);
        let paths: Vec<&str> = declared_at.into_iter().chain(previous).collect();
        let possible =
            PossibleChange { change, repository, paths: &paths, contributors: context.contributors };
        let judgement = gatekeeper.forecast(&possible, context.now);
        StepForecast::of(judgement, &blocked_by)
    });
    Ok(forecasts.collect())
}
