//! `windlass node list`.

use windlass_api::client::ApiCall;
use windlass_api::endpoint::Operation;
use windlass_api::types::{NodeStatusList, NodeStatusSummary};
use windlass_core::report::TargetStatus;

use crate::args::paging::Paging;
use crate::commands::find;
use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view;

/// Which nodes are wanted.
pub(super) struct NodeFilterArgs<'a> {
    pub(super) state: &'a Option<String>,
    pub(super) template: &'a Option<String>,
    pub(super) region: &'a Option<String>,
    pub(super) label: &'a Option<String>,
    pub(super) query: &'a Option<String>,
}

impl NodeFilterArgs<'_> {
    fn call<'r>(&self, operation: Operation, remote: &'r ServerConnection) -> ApiCall<'r> {
        remote
            .call(operation, &[])
            .query_if("state", self.state.as_ref())
            .query_if("template", self.template.as_ref())
            .query_if("region", self.region.as_ref())
            .query_if("label", self.label.as_ref())
            .query_if("q", self.query.as_ref())
    }
}

pub(super) fn list(
    filter: &NodeFilterArgs<'_>,
    paging: Paging,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let answer =
        find::pages(remote, "nodes", paging.into(), || filter.call(Operation::NodeStatusList, remote))?;
    let list =
        remote.show::<NodeStatusList>(&answer, |list, terminal| view::node::list(&list.nodes, terminal))?;
    find::tell_more(&answer, remote)?;
    let is_bad = |state: TargetStatus| matches!(state, TargetStatus::Drifted | TargetStatus::Failed);
    Ok(if list.nodes.iter().any(|node| is_bad(node.state)) { Exit::Changes } else { Exit::Fine })
}

pub(super) fn count(
    filter: &NodeFilterArgs<'_>,
    by: &str,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    let answer = remote.ask(filter.call(Operation::NodeStatusSummary, remote).query("by", by))?;
    remote.show::<NodeStatusSummary>(&answer, view::node::summary)?;
    Ok(Exit::Fine)
}
