//! Plans on display: the same from a document, never interpreted as markup, never too long.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use windlass_core::accepted::{Accepted, Owner};
use windlass_core::blocked_by::BlockedByKind;
use windlass_core::diff::compare;
use windlass_core::display::{MAX_MARKDOWN, PlanView, markdown};
use windlass_core::manifest::{Fleet, ReadCache, ReadContext, SourceFile};
use windlass_core::plan::{self, MassDestroyConfirmation, ParsedPlan, Plan, PolicyOutlook, StepForecast};

fn fleet(body: &str) -> Fleet {
    let text = format!("version: 1\naccount: acme\n{body}");
    let files = [SourceFile::new("fleet.yaml", text.into_bytes())];
    ReadCache::default().read_once(&files, &ReadContext::offline())
}

fn plan_from(before: &str, after: &str) -> Plan {
    let owner = Owner::Repository("ours".to_owned());
    let accepted = Accepted::from_desired(&fleet(before).desired, &owner);
    let after = fleet(after).desired;
    plan::build(&after, compare(&after, &accepted, &owner), MassDestroyConfirmation::MassDestroy)
}

fn read_back(text: &str) -> ParsedPlan {
    serde_json::from_str(text).unwrap()
}

const BEFORE: &str = "templates: {t: {node_platform: debian-12-amd64}, old: {node_platform: debian-12-amd64}}\n\
     nodes: {a: {template: t, region: eu}, b: {template: t, region: eu}}\n\
     clusters: {kept: {protect: true}}\n";
const AFTER: &str = "templates: {t: {node_platform: debian-12-amd64, description: \"new\\nlines\"}}\n\
     nodes: {a: {template: t, region: us}, b: {template: t, region: us}, c: {template: t}}\n\
     provider_configs: {aws: {}}\n";

#[test]
fn a_plan_rebuilt_from_its_document_renders_the_same() {
    let plan = plan_from(BEFORE, AFTER);
    let problems = fleet("nodes: {x: {colour: red}}").diagnostics;
    let told = PlanView {
        problems: &problems,
        from: "accepted state",
        provider_configs: vec!["aws"],
        cap: 2,
        remaining: 3,
        ..PlanView::of(&plan)
    };
    let read = read_back(&serde_json::to_string(&told.document(&plan)).unwrap());
    assert_eq!(read.steps.len(), plan.steps.len());
    assert_eq!(markdown(&PlanView::read(&read)), markdown(&told));
    assert_eq!(read.groups().len(), told.groups.len(), "the same steps are joined");
}

#[test]
fn what_is_foreseen_is_told_and_what_is_left_out_is_counted() {
    let plan = plan_from(BEFORE, AFTER);
    let foreseen = |outlook| StepForecast {
        blocked_by: vec!["template x does not exist yet".to_owned()],
        blocked_by_kinds: vec![BlockedByKind::MissingResource],
        outlook,
        reasons: Vec::new(),
        rule: None,
    };
    let all = vec![foreseen(PolicyOutlook::Blocked); plan.steps.len()];
    let document = plan.document().with_forecasts(&all).with_first(1);
    let read = read_back(&serde_json::to_string(&document).unwrap());
    let text = markdown(&PlanView::read(&read));
    assert!(
        text.contains("| # | Change | Kind | Resource | After | Then |\n|--:|---|---|---|---|---|\n| 1 | "),
        "{text}"
    );
    assert!(text.contains("blocked by policy; blocked: template x does not exist yet"), "{text}");
    assert_eq!(read.omitted, plan.steps.len() - 1);
    assert!(text.contains(&format!("… and {} more changes", read.omitted)), "{text}");
}

#[test]
fn a_comment_is_never_longer_than_forges_accept() {
    let nodes = |count: usize, region: &str| -> String {
        let node =
            |number| format!("  n-{number}: {{template: t, region: {region}-{number}, protect: true}}\n");
        format!("nodes:\n{}", (0..count).map(node).collect::<String>())
    };
    let template = "templates: {t: {node_platform: debian-12-amd64}}\n";
    let long = "x".repeat(50_000);
    for (before, after) in [
        (String::new(), format!("{template}{}", nodes(5_000, "eu"))),
        (format!("{template}{}", nodes(3_000, "eu")), format!("{template}{}", nodes(3_000, "us"))),
        (format!("{template}{}", nodes(3_000, "eu")), String::new()),
        (
            String::new(),
            format!(
                "templates: {{t: {{node_platform: p, description: {long}}}, u: {{description: {long}, node_platform: q}}}}\n"
            ),
        ),
    ] {
        let plan = plan_from(&before, &after);
        let broken = fleet(&"nodes: {x: {colour: red}}\n".repeat(3)).diagnostics;
        let configs: Vec<String> = (0..500).map(|number| format!("{number}{long}")).collect();
        let told = PlanView {
            problems: &broken,
            provider_configs: configs.iter().map(String::as_str).collect(),
            from: &long,
            account: &long,
            ..PlanView::of(&plan)
        };
        let text = markdown(&told);
        assert!(text.len() <= MAX_MARKDOWN, "{}", text.len());
        assert!(text.contains("not fit in a comment") || text.contains("and 2981 more"), "{}", &text[..2000]);
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert!(text.ends_with("</sub>\n"));
    }
}

#[test]
fn nothing_that_a_fleet_says_ends_its_block() {
    let hostile = "```\\n</details>\\n# heading\\n<script>alert(1)</script> @everyone ````";
    let plan =
        plan_from("", &format!("templates: {{t: {{node_platform: p, description: \"{hostile}\"}}}}\n"));
    let text = markdown(&PlanView::of(&plan));
    let (_, inside) = text.split_once("`````diff\n").unwrap_or_else(|| panic!("{text}"));
    let (inside, after) = inside.split_once("`````\n").unwrap();
    assert!(
        inside.contains("<script>") && inside.lines().all(|line| line.starts_with(['+', '-', '!'])),
        "{inside}"
    );
    assert!(after.starts_with("\n</details>\n"), "{after}");
    assert!(!after.contains("<script>"));
}
