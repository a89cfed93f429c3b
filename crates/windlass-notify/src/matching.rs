//! Which events match an alert.

use windlass_core::resource::{AlertResource, AlertSpec};
use windlass_core::value::Wildcard;

use crate::message::AlertEvent;

/// Only the beginning of a longer message is compared, so that the cost is bounded.
const MAX_COMPARED_CHARS: usize = 4096;

/// Whether an event matches an alert.
pub fn alert_matches(alert: &AlertSpec, event: &AlertEvent) -> bool {
    let message = beginning(&event.message);
    alert.enabled
        && event.severity >= alert.severity
        && matches_any(alert.events.iter(), Some(&event.kind))
        && matches_any(alert.repositories.iter(), event.repository.as_deref())
        && (alert.resources.is_empty()
            || alert.resources.iter().any(|wanted| concerns_resource(wanted, event)))
        && matches_any(alert.include.iter(), Some(message))
        && !alert.exclude.iter().any(|pattern| pattern.matches(message))
}

/// Whether one of the patterns matches; without patterns everything matches, also an absent text.
fn matches_any<'p>(mut patterns: impl ExactSizeIterator<Item = &'p Wildcard>, text: Option<&str>) -> bool {
    patterns.len() == 0 || text.is_some_and(|text| patterns.any(|pattern| pattern.matches(text)))
}

fn concerns_resource(wanted: &AlertResource, event: &AlertEvent) -> bool {
    event.resource.as_ref().is_some_and(|(kind, name)| {
        wanted.kind.is_none_or(|wanted| wanted.slug() == kind)
            && wanted.name.as_ref().is_none_or(|pattern| pattern.matches(name))
    })
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MAX_COMPARED_CHARS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use windlass_core::resource::{AlertSeverity, Kind, Spec};
    use windlass_core::time::Timestamp;

    use super::*;

    fn alert(json: &str) -> AlertSpec {
        let json = json.replacen('{', r#"{"providers": ["p"], "#, 1).replace(", }", "}");
        match Spec::read(Kind::Alert, &json).spec {
            Some(Spec::Alert(alert)) => alert,
            other => panic!("{json}: {other:?}"),
        }
    }

    fn event() -> AlertEvent {
        AlertEvent {
            seq: 1,
            kind: "gitops.drift_detected".to_owned(),
            severity: AlertSeverity::High,
            resource: Some(("node".to_owned(), "edge-01".to_owned())),
            repository: Some("fleet-prod".to_owned()),
            run_id: None,
            source: "drift sensor".to_owned(),
            message: "node edge-01 was changed by eve".to_owned(),
            at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn what_an_alert_leaves_out_fits_everything() {
        assert!(alert_matches(&alert("{}"), &event()));
        let nowhere = AlertEvent { resource: None, repository: None, ..event() };
        assert!(alert_matches(&alert("{}"), &nowhere));
    }

    #[test]
    fn everything_an_alert_lists_must_fit() {
        for json in [
            r#"{"events": ["gitops.*"]}"#,
            r#"{"events": ["x", "*detected"]}"#,
            r#"{"severity": "high"}"#,
            r#"{"repositories": ["fleet-*"]}"#,
            r#"{"resources": [{"kind": "peer"}, {"kind": "node", "name": "edge-*"}]}"#,
            r#"{"resources": [{"name": "*-01"}]}"#,
            r#"{"include": ["*edge*"], "exclude": ["*canary*"]}"#,
        ] {
            assert!(alert_matches(&alert(json), &event()), "{json}");
        }
        for json in [
            r#"{"events": ["resource.*"]}"#,
            r#"{"severity": "critical"}"#,
            r#"{"repositories": ["staging"]}"#,
            r#"{"resources": [{"kind": "peer", "name": "edge-*"}]}"#,
            r#"{"include": ["edge"]}"#,
            r#"{"exclude": ["*eve*"]}"#,
            r#"{"enabled": false}"#,
        ] {
            assert!(!alert_matches(&alert(json), &event()), "{json}");
        }
        let nowhere = AlertEvent { resource: None, repository: None, ..event() };
        for json in [r#"{"repositories": ["*"]}"#, r#"{"resources": [{}]}"#] {
            assert!(!alert_matches(&alert(json), &nowhere), "{json}");
        }
    }

    #[test]
    fn what_ends_something_says_what_it_ended() {
        let over =
            AlertEvent { kind: "gitops.drift_resolved".to_owned(), severity: AlertSeverity::Low, ..event() };
        let ended = over.resolves().unwrap();
        assert_eq!((ended.kind.as_str(), ended.severity), ("gitops.drift_detected", AlertSeverity::High));
        assert_eq!(ended.resolves(), None);
    }
}
