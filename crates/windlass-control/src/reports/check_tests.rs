//! Reports of agents that are wrong, too large or hostile.

use serde_json::{Value, json};
use windlass_core::event::{EventKind, Severity};
use windlass_core::resource::Kind;

use super::*;

fn report(changed: impl FnOnce(&mut Value)) -> ReportBody {
    let mut body = json!({
        "generation": 3,
        "sequence": 7,
        "complete": true,
        "target": {"observed": {"state": "being_changed", "since": "2026-11-18T00:00:00Z"}},
        "modules": [{"name": "nginx", "observation": {"observed": {"state": "absent", "generation": 3,
            "since": "2026-11-18T00:00:00Z", "at": "2026-11-18T00:00:01Z"}}}],
        "drift": [{"kind": "path", "name": "/etc/nginx/nginx.conf", "module": "nginx", "mode": "report",
            "since": "2026-11-18T00:00:00Z", "fields": [{"type": "value", "field": "mode", "observed": "0600",
            "desired": "0644"}]}],
    });
    changed(&mut body);
    serde_json::from_value(body).expect("a report")
}

fn check(body: ReportBody) -> Result<CheckedReport, Refusal> {
    CheckedReport::of(body, Enrolment(2))
}

#[test]
fn a_report_is_ordered_by_the_enrolment_of_the_certificate() {
    let checked = check(report(|_| {})).expect("a valid report");
    let order = ReportOrder { enrolment: Enrolment(2), generation: Generation(3), sequence: 7 };
    assert_eq!((checked.report.order, checked.report.coverage), (order, Coverage::Complete));
    assert!(checked.report.resources.get(Kind::Module, "nginx").is_some());
    assert_eq!(checked.items.len(), 1);
}

#[test]
fn reports_with_invalid_names_or_too_many_entries_are_refused() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 10] = [
        ("a module's name", |body| body["modules"][0]["name"] = json!("../../etc")),
        ("an empty name", |body| body["modules"][0]["name"] = json!("")),
        ("a module listed twice", |body| {
            let module = body["modules"][0].clone();
            body["modules"] = json!([module, module]);
        }),
        ("too many modules", |body| {
            let module = |index: usize| {
                let mut module = body["modules"][0].clone();
                module["name"] = json!(format!("m{index}"));
                module
            };
            body["modules"] = (0..=MAX_MODULES).map(module).collect();
        }),
        ("too many items", |body| {
            body["drift"] = vec![body["drift"][0].clone(); MAX_DRIFTED_ITEMS + 1].into();
        }),
        ("an item of another module", |body| body["drift"][0]["module"] = json!("other")),
        ("an item's type", |body| body["drift"][0]["kind"] = json!("PATH; DROP TABLE")),
        ("an item's name", |body| body["drift"][0]["name"] = json!("/etc/\u{1b}[2J")),
        ("too many events", |body| {
            let event = json!({"at": "2026-11-18T00:00:00Z", "what": {"kind": "trouble"}, "message": "x"});
            body["events"] = vec![event; MAX_EVENTS + 1].into();
        }),
        ("a sequence number", |body| body["sequence"] = json!(u64::MAX)),
    ];
    for (what, change) in cases {
        let refused = check(report(change)).expect_err(what);
        assert_eq!(refused.code(), "bad-request", "{what}: the audit log must not record it");
    }
}

#[test]
fn no_planted_secret_is_left_in_what_is_kept() {
    let planted = "hunter2hunter2";
    let url = format!("https://ada:{planted}@example.com/x");
    let checked = check(report(|body| {
        body["target"]["failure"] = json!({"generation": 3, "since": "2026-11-18T00:00:00Z", "message": url});
        body["drift"][0]["fields"] = json!([{"type": "value", "field": "password", "observed": planted}]);
        body["drift"][0]["problem"] = json!(url);
        body["host"] = json!({"agent_version": "1", "hostname": url});
        let corrected = json!({"kind": "corrected", "item": url, "module": "nginx",
            "fields": [{"type": "value", "field": "environment", "observed": format!("API_TOKEN={planted}")}]});
        let refused = json!({"kind": "refused", "reason": url});
        body["events"] = json!([
            {"at": "2026-11-18T00:00:00Z", "what": corrected, "message": format!("set {url}")},
            {"at": "2026-11-18T00:00:00Z", "what": refused, "message": "refused"},
        ]);
    }))
    .expect("a report that looks valid");
    let kept = format!("{checked:?}");
    assert!(!kept.contains(planted), "{kept}");
}

#[test]
fn each_event_of_an_agent_has_a_kind_and_a_severity() {
    let checked = check(report(|body| {
        let event = |what: Value| json!({"at": "2026-11-18T00:00:00Z", "what": what, "message": "one\ntwo"});
        body["events"] = [
            json!({"kind": "applied", "generation": 3, "changed": 2}),
            json!({"kind": "apply_failed", "generation": 3, "items": vec!["path /a"; 100]}),
            json!({"kind": "drifted", "item": "path /a", "module": "nginx"}),
            json!({"kind": "started", "version": "1.0"}),
            json!({"kind": "trouble"}),
        ]
        .map(event)
        .to_vec()
        .into();
    }))
    .expect("a valid report");
    let kinds: Vec<_> = checked.events.iter().map(|event| (event.kind, event.severity)).collect();
    assert_eq!(
        kinds,
        [
            (EventKind::AgentApplied, Severity::Low),
            (EventKind::AgentApplyFailed, Severity::High),
            (EventKind::AgentDrifted, Severity::Medium),
            (EventKind::AgentStarted, Severity::Low),
            (EventKind::AgentTrouble, Severity::High),
        ]
    );
    assert!(!checked.events[0].message.contains('\n'), "a message is one line");
    assert_eq!(checked.events[1].payload["items"].as_array().map(Vec::len), Some(20));
    assert_eq!(checked.events[1].payload["more_items"], json!(80));
    assert_eq!(checked.events[0].payload["generation"], json!(3));
}
