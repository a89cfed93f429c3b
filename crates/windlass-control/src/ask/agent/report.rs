//! An agent reports what it sees on its target.

use std::time::Instant;

use windlass_api::agent::{ReportBody, ReportReceipt};

use crate::caller::AgentCaller;
use crate::control::Control;
use crate::refusal::Refusal;
use crate::reports::check::CheckedReport;

/// Stores a report of this many bytes. Which target it is about, the certificate says; nothing in the report does.
pub async fn report(
    server: &Control,
    caller: AgentCaller,
    body: ReportBody,
    bytes: usize,
) -> Result<ReportReceipt, Refusal> {
    let limit = &server.rate_limits().agent_reports;
    if let Err(wait) = limit.take(caller.agent.id.as_str(), Instant::now()) {
        return Err(Refusal::too_many("this agent reports too often", wait, "merge reports"));
    }
    let checked = CheckedReport::of(body, caller.agent.enrolment)?;
    server.reports().submit(caller.agent, checked, bytes).await
}
