//! What would become of each step if it were proposed now.

use windlass_core::diff::Change;
use windlass_core::plan::{Foreseen, Plan};
use windlass_core::proposal::blockers;
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;
use windlass_store::{Account, Reading, Repository, StoreError};

use crate::gatekeeper::{Foreseeable, Gatekeeper};
use crate::sync::Material;
use crate::world::World;

/// What the gate wants to know beside the change.
pub(super) struct Around<'a> {
    pub(super) author: Option<&'a str>,
    pub(super) now: Timestamp,
}

/// Asks the gate about every step, in their order. A step waits only for what the steps before it do not bring.
pub(super) async fn all(
    reading: &mut Reading,
    (account, repository): (&Account, &Repository),
    plan: &Plan,
    material: &mut Material,
    around: &Around<'_>,
) -> Result<Vec<Foreseen>, StoreError> {
    let changes: Vec<Change> = plan.steps.iter().map(|step| step.change.clone()).collect();
    let mut world = World::around(reading, &account.id, &changes).await?;
    let gatekeeper = Gatekeeper::of(account);
    let keys: Vec<ResourceKey> = changes.iter().map(|change| change.key.clone()).collect();
    let places = material.declared_at(&keys);
    let foreseen = changes.iter().zip(&places).map(|(change, place)| {
        let blocked_by = blockers(change, &world);
        world.make(change, Some(&repository.id));
        let path = place.as_ref().map(|(file, _)| file.as_str());
        let judgement =
            gatekeeper.foresee(&Foreseeable { change, repository, path, author: around.author }, around.now);
        Foreseen::of(judgement, blocked_by)
    });
    Ok(foreseen.collect())
}
