//! Compares the desired state with the accepted state and decides what to do, for runs and previews. Writes nothing.

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::plan::MassDestroyConfirmation;
use windlass_core::repository::Repository;
use windlass_core::run::{RunDecision, decide};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::account_state::{accepted, modules, names};
use crate::flow::sync::fleet_at_commit::FleetAtCommit;

/// The desired state, the accepted state, and the decision about them.
pub(crate) struct ComparedFleet {
    pub(crate) fleet_at_commit: FleetAtCommit,
    pub(crate) decided: RunDecision,
    pub(crate) accepted: Accepted,
}

/// Compares a fleet with the accepted state of the repository's account.
pub(crate) async fn compare(
    reading: &mut Reading,
    repository: &Repository,
    mut fleet_at_commit: FleetAtCommit,
    confirmation: MassDestroyConfirmation,
    now: Timestamp,
) -> Result<ComparedFleet, StoreError> {
    let account_id = &repository.account_id;
    let names = names::repository_names(reading, account_id).await?;
    // Before the accepted state is loaded, because versions are part of digests.
    fleet_at_commit.resolve_pins(&modules::load_known_modules(reading, account_id).await?);
    let accepted = accepted::load_accepted(reading, account_id, &fleet_at_commit.desired, &names).await?;
    accepted.fill_unknown_contents(&mut fleet_at_commit.desired, &fleet_at_commit.unknown_contents);
    let owner = Owner::Repository(repository.name.clone());
    let acceptances = reading.acceptances(&repository.id).await?.into_iter().collect();
    // Comparing a large fleet takes long enough to block other requests on this thread.
    let compared = move || {
        let decided = decide(&fleet_at_commit.desired, &accepted, &owner, &acceptances, confirmation, now);
        ComparedFleet { fleet_at_commit, decided, accepted }
    };
    match tokio::task::spawn_blocking(compared).await {
        Ok(compared) => Ok(compared),
        Err(died) => std::panic::resume_unwind(died.into_panic()),
    }
}
