//! What a node shall be, with the origin of every line.

use windlass_api::types::{NodeRender, RenderedAssignment};
use windlass_core::host::NodeResolver;
use windlass_core::resource::{Kind, ResourceKey};

use crate::ask::resource::list::find;
use crate::caller::Identity;
use crate::control::Control;
use crate::flow::assign::fleet::{FleetScope, load_fleet};
use crate::flow::assign::packages::fleet_to_show;
use crate::refusal::Refusal;

/// What a node, by id or name, shall be by what is accepted now.
pub async fn render(server: &Control, who: &Identity, id_or_name: &str) -> Result<NodeRender, Refusal> {
    let mut reading = server.store().read_snapshot().await?;
    let found = find(&mut reading, who, Kind::Node, id_or_name).await?;
    let node = ResourceKey::new(Kind::Node, found.key.name);
    let loaded = load_fleet(server, &mut reading, &who.account_id, FleetScope::Node(&node)).await?;
    let assigned = reading.assignment(&who.account_id, &node).await?;
    let problem = reading.assignment_problem(&who.account_id, &node).await?;
    drop(reading);
    let task = tokio::task::spawn_blocking(move || {
        let fleet = fleet_to_show(loaded);
        match NodeResolver::new(&fleet.accepted, &fleet.versions).resolve(&node.name) {
            Ok(resolved) => NodeRender::of(&node.name, &resolved, &fleet.packages),
            Err(problem) => NodeRender::unresolved(&node.name, problem.to_string()),
        }
    });
    let mut rendered = task.await.map_err(|panic| {
        tracing::error!(error = %panic, "a task panicked");
        Refusal::busy("the node could not be rendered; see the server's log")
    })?;
    if let Some(problem) = problem
        && !rendered.problems.contains(&problem.reason)
    {
        rendered.problems.push(problem.reason);
    }
    rendered.assigned = assigned.map(|assigned| RenderedAssignment {
        generation: assigned.generation.0,
        digest: assigned.digest.to_string(),
    });
    Ok(rendered)
}
