//! Reports of agents.

use axum::Extension;
use axum::extract::{Request, State};
use windlass_api::agent::ReportBody;
use windlass_control::ask::agent::report::report as store_report;
use windlass_control::caller::AgentCaller;

use crate::http::body::read_whole;
use crate::http::request::{HandlerResult, json_ok, read_json};
use crate::state::Server;

pub(crate) async fn report(
    State(server): State<Server>,
    Extension(caller): Extension<AgentCaller>,
    request: Request,
) -> HandlerResult {
    let bytes = read_whole(request.into_body()).await?;
    let body: ReportBody = read_json(&bytes)?;
    json_ok(&store_report(&server, caller, body, bytes.len()).await?)
}
