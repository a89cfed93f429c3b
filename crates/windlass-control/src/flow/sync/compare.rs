//! What git says × the accepted state → what to do about it, for runs and for previews. Reads rows and writes none.

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::plan::MassDestroyConfirmation;
use windlass_core::repository::Repository;
use windlass_core::run::{RunDecision, decide};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

use crate::account_state::{accepted, names};
use crate::flow::sync::fleet_at_commit::FleetAtCommit;

/// What git says, the accepted state, and what to do about it.
pub(crate) struct ComparedFleet {
    pub(crate) material: FleetAtCommit,
    pub(crate) decided: RunDecision,
    pub(crate) accepted: Accepted,
}

/// Compares with everything that is accepted in the repository's account.
pub(crate) async fn compare(
    reading: &mut Reading,
    repository: &Repository,
    mut material: FleetAtCommit,
    confirmation: MassDestroyConfirmation,
    now: Timestamp,
) -> Result<ComparedFleet, StoreError> {
    let account_id = &repository.account_id;
    let names = names::repository_names(reading, account_id).await?;
    let accepted = accepted::load_accepted(reading, account_id, &material.desired, &names).await?;
    accepted.fill_unknown_contents(&mut material.desired, &material.unknown_contents);
    let owner = Owner::Repository(repository.name.clone());
    let acceptances = reading.acceptances(&repository.id).await?.into_iter().collect();
    // Comparing a large fleet takes long enough to keep other requests of this thread waiting.
    let compared = move || {
        let decided = decide(&material.desired, &accepted, &owner, &acceptances, confirmation, now);
        ComparedFleet { material, decided, accepted }
    };
    match tokio::task::spawn_blocking(compared).await {
        Ok(compared) => Ok(compared),
        Err(died) => std::panic::resume_unwind(died.into_panic()),
    }
}
