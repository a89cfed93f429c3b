//! The link to the page about an event.

use serde_json::Value;
use url::Url;
use windlass_core::event::{Event, EventKind};
use windlass_core::id::RunId;

/// The address of the page that shows what an event is about; none if no public URL is configured.
pub(crate) fn page_of(public_url: Option<&str>, event: &Event) -> Option<String> {
    let proposal = event.payload.get("proposal_id").and_then(Value::as_str);
    let run = event.correlation_id.as_ref().map(RunId::as_str);
    let rollout = event.payload.get("rollout_id").and_then(Value::as_str);
    let is_drift = event.kind.starts_with("gitops.drift_");
    if let Some(rollout) = rollout {
        return page(public_url, &["rollouts", rollout], &[]);
    }
    match (EventKind::from_slug(&event.kind), proposal, run, &event.resource_kind, &event.resource_name) {
        (Some(EventKind::ApprovalRequested), _, Some(run), ..) => {
            page(public_url, &["approvals"], &[("run", run)])
        }
        (_, Some(proposal), ..) => page(public_url, &["proposals", proposal], &[]),
        _ if is_drift => page(public_url, &["drift"], &[]),
        (Some(EventKind::NotificationFailed), ..) => page(public_url, &["settings", "notifications"], &[]),
        (_, _, Some(run), ..) => page(public_url, &["runs", run], &[]),
        (_, _, None, Some(kind), Some(name)) => page(public_url, &["resources", kind, name], &[]),
        _ => page(public_url, &["events"], &[]),
    }
}

/// An address below `/app`. Names are encoded, so that no name can change the path.
pub(crate) fn page(public_url: Option<&str>, path: &[&str], query: &[(&str, &str)]) -> Option<String> {
    let mut url = Url::parse(public_url?).ok()?;
    url.path_segments_mut().ok()?.pop_if_empty().push("app").extend(path);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Some(url.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::event::Severity;
    use windlass_core::time::Timestamp;

    use super::*;

    fn link(kind: &str, run: Option<&str>, resource: Option<(&str, &str)>, payload: Value) -> String {
        let (resource_kind, resource_name) =
            resource.map(|(kind, name)| (kind.to_owned(), name.to_owned())).unzip();
        let event = Event {
            seq: 1,
            kind: kind.to_owned(),
            severity: Severity::Low,
            resource_kind,
            resource_name,
            repository_id: None,
            correlation_id: run.map(RunId::new),
            source: String::new(),
            message: String::new(),
            payload,
            at: Timestamp::from_millis(0),
        };
        assert_eq!(page_of(None, &event), None);
        page_of(Some("https://w.example"), &event).unwrap_or_default()
    }

    #[test]
    fn each_event_links_to_the_page_that_shows_it() {
        let none = || json!({});
        let approval = link(EventKind::ApprovalRequested.slug(), Some("r1"), None, none());
        assert_eq!(approval, "https://w.example/app/approvals?run=r1");
        let proposal = link(EventKind::ProposalFailed.slug(), Some("r1"), None, json!({"proposal_id": "p1"}));
        assert_eq!(proposal, "https://w.example/app/proposals/p1");
        assert_eq!(
            link(EventKind::SyncFailed.slug(), Some("r1"), None, none()),
            "https://w.example/app/runs/r1"
        );
        let stopped = link(
            EventKind::RolloutStopped.slug(),
            None,
            Some(("template", "edge")),
            json!({"rollout_id": "o1"}),
        );
        assert_eq!(stopped, "https://w.example/app/rollouts/o1");
        let peer = link(EventKind::ResourceChanged.slug(), None, Some(("peer", "../a/b?c")), none());
        assert_eq!(peer, "https://w.example/app/resources/peer/..%2Fa%2Fb%3Fc");
        assert_eq!(link(EventKind::AccountHalted.slug(), None, None, none()), "https://w.example/app/events");
    }
}
