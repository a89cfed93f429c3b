//! What an open proposal does to nodes: which change and how, identical ones once.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_api::types::{ProposalEffects, ProposalInfo};
use windlass_core::accepted::{AcceptedResource, Owner};
use windlass_core::access::Permission;
use windlass_core::assign::ApprovedFleet;
use windlass_core::diff::Change;
use windlass_core::host::{FleetContent, changed_nodes};
use windlass_core::id::ProposalId;
use windlass_core::proposal::Proposal;
use windlass_core::resource::Kind;
use windlass_store::ApprovedResource;

use crate::ask::proposal::list::load;
use crate::caller::Identity;
use crate::control::Control;
use crate::flow::assign::fleet::{FleetScope, LoadedFleet, load_fleet};
use crate::flow::assign::packages::fleet_to_show;
use crate::flow::assign::versions::ModuleContent;
use crate::refusal::Refusal;

/// Everything about one proposal, with what it does to nodes if the caller may see them.
pub async fn load_with_effects(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
) -> Result<ProposalInfo, Refusal> {
    let mut info = load(server, who, id).await?;
    if info.status.is_open() && who.permissions.contains(&Permission::FleetRead) {
        info.effects = effects(server, who, id).await?;
    }
    Ok(info)
}

fn reaches_machines(kind: Kind) -> bool {
    matches!(kind, Kind::Node | Kind::Template | Kind::Module | Kind::Assignment)
}

/// What a proposal does to nodes; none if it is about something else. Kept until the account's state changes.
async fn effects(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
) -> Result<Option<ProposalEffects>, Refusal> {
    let mut reading = server.store().read_snapshot().await?;
    let Some(proposal) = reading.proposal(&who.account_id, id).await? else { return Ok(None) };
    if !reaches_machines(proposal.change.key.kind) {
        return Ok(None);
    }
    let key = (id.clone(), proposal.version, reading.state_version(&who.account_id).await?);
    if let Some(known) = server.effects_cache().get(&key) {
        return Ok(Some(ProposalEffects::clone(&known)));
    }
    let loaded = load_fleet(server, &mut reading, &who.account_id, FleetScope::All).await?;
    drop(reading);
    let mirrors = loaded.mirrors(server, proposal.governing_repository());
    // Few at once: each holds the fleet of an account in memory.
    let permit = server.reading_permit(&who.account_id).await;
    let task = tokio::task::spawn_blocking(move || {
        let after = loaded_after(loaded.clone(), &proposal, mirrors);
        compare(&fleet_to_show(loaded), &fleet_to_show(after))
    });
    let found = task.await.unwrap_or_else(|panic| {
        tracing::error!(error = %panic, "a task panicked");
        ProposalEffects::unknown("the effects could not be computed; see the server's log")
    });
    drop(permit);
    let found = Arc::new(found);
    let bytes = serde_json::to_string(found.as_ref()).map_or(0, |text| text.len());
    server.effects_cache().put(key, Arc::clone(&found), bytes);
    Ok(Some(ProposalEffects::clone(&found)))
}

/// The fleet after the change of a proposal.
fn loaded_after(mut loaded: LoadedFleet, proposal: &Proposal, mirrors: Vec<PathBuf>) -> LoadedFleet {
    let Change { key, after, desired, .. } = proposal.effective_change();
    let Some(spec) = after else {
        loaded.fleet.accepted.resources.remove(key.kind, &key.name);
        if key.kind == Kind::Module {
            loaded.modules = loaded.modules.with_module(&key.name, None);
        }
        return loaded;
    };
    let digest = desired.unwrap_or_else(|| spec.digest());
    let accepted = AcceptedResource { spec: Arc::clone(&spec), digest, owner: Owner::Nobody };
    loaded.fleet.accepted.resources.insert(key.clone(), accepted);
    if key.kind == Kind::Module {
        let module = key.name.clone();
        let resource = ApprovedResource { key, spec, digest, owner_id: None, approval: None };
        let content = ModuleContent::of_resource(&resource, mirrors);
        loaded.modules = loaded.modules.with_module(&module, content);
    }
    loaded
}

fn compare(before: &ApprovedFleet, after: &ApprovedFleet) -> ProposalEffects {
    fn content(fleet: &ApprovedFleet) -> FleetContent<'_> {
        let ApprovedFleet { accepted, versions, packages, .. } = fleet;
        FleetContent { accepted, versions, packages }
    }
    let mut effects: ProposalEffects = changed_nodes(content(before), content(after)).into();
    // Content that cannot be read is the reason, not that it is missing.
    for problem in effects.groups.iter_mut().flat_map(|group| &mut group.problems) {
        let known =
            after.unavailable.iter().find(|(module, _)| problem.contains(&format!("module {module} (")));
        if let Some((_, reason)) = known {
            reason.clone_into(problem);
        }
    }
    effects
}
