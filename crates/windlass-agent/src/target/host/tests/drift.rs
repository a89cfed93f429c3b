use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use windlass_core::resource::DriftMode;

use super::{Host, changed, web, web_host};
use crate::target::host::{FieldDifference, Scope};

#[test]
fn an_edit_by_hand_is_seen_with_its_diff_and_corrected_only_where_the_module_says_so() {
    let host = Host::new();
    let file = |path: &str| json!({"files": {path: {"content": "a\nb\n"}}, "services": {}});
    let desired = host.desired(&[
        ("reported", &[], json!({"host": file("/etc/reported")})),
        ("corrected", &[], json!({"drift": "correct", "host": file("/etc/corrected")})),
    ]);
    host.apply(&desired);
    host.write("/etc/reported", "a\nhand\n");
    host.write("/etc/corrected", "a\nhand\n");
    let drift = host.target().observe(&desired.document, &desired.state);
    let modes: Vec<DriftMode> = drift.iter().map(|one| one.mode).collect();
    assert_eq!(modes, [DriftMode::Report, DriftMode::Correct]);
    for one in &drift {
        let [FieldDifference::Content(content)] = one.found.as_deref().unwrap() else { panic!("{one:?}") };
        assert_eq!(content.lines.as_deref(), Some("@@ -1,2 +1,2 @@\n a\n-hand\n+b\n"));
    }
    let report = host.target().correct(&desired.document, &desired.state).unwrap();
    assert_eq!(changed(&report), ["Update path /etc/corrected"]);
    assert_eq!(host.read("/etc/corrected"), "a\nb\n");
    assert_eq!(host.read("/etc/reported"), "a\nhand\n");
}

#[test]
fn applying_changes_leaves_what_someone_changed_by_hand() {
    let host = Host::new();
    let file = |path: &str, content: &str| json!({"host": {"files": {path: {"content": content}}}});
    let desired = |content: &str| {
        host.desired(&[
            ("same", &[], file("/etc/same", "a\n")),
            ("there", &[], file("/etc/there", "there before\n")),
            ("new", &[], file("/etc/new", content)),
            (
                "corrected",
                &[],
                json!({"drift": "correct", "host": {"files": {"/etc/c": {"content": "c\n"}}}}),
            ),
        ])
    };
    host.write("/etc/there", "there before\n");
    host.apply(&desired("1\n"));
    for path in ["/etc/same", "/etc/there", "/etc/c"] {
        host.write(path, "by hand\n");
    }
    let two = desired("2\n");
    let expected = host.target().dry_run(&two.document, &two.state, Scope::Changes).unwrap();
    let report = host.target().apply(&two.document, &two.state, Scope::Changes).unwrap();
    assert_eq!(expected, report, "the dry run says what apply does");
    assert_eq!(changed(&report), ["Update path /etc/new", "Update path /etc/c"]);
    for path in ["/etc/same", "/etc/there"] {
        assert_eq!(host.read(path), "by hand\n");
    }
    let again = host.target().apply(&two.document, &two.state, Scope::Changes).unwrap();
    assert_eq!(changed(&again), [""; 0]);
    let report = host.target().apply(&two.document, &two.state, Scope::WholeState).unwrap();
    assert_eq!(changed(&report), ["Update path /etc/same", "Update path /etc/there"]);
}

#[test]
fn every_type_of_item_is_observed() {
    let host = web_host();
    let desired = host.one(web("a\n"));
    host.apply(&desired);
    fs::set_permissions(host.path("/srv/www"), fs::Permissions::from_mode(0o777)).unwrap();
    fs::remove_file(host.path("/srv/www/about.html")).unwrap();
    fs::remove_file(host.path("/srv/current")).unwrap();
    fs::remove_dir_all(host.path("/var")).unwrap();
    fs::remove_dir_all(host.path("/etc")).unwrap();
    let drift = host.target().observe(&desired.document, &desired.state);
    let items: Vec<String> = drift.iter().map(|one| one.item.to_string()).collect();
    assert_eq!(
        items,
        [
            "package nginx",
            "hold nginx",
            "path /srv/www",
            "path /etc/nginx/nginx.conf",
            "path /srv/www/about.html",
            "path /srv/current",
            "sysctl net.ipv4.ip_forward",
            "service nginx",
            "timer rotate"
        ]
    );
    let mode = FieldDifference::Value {
        field: "mode".to_owned(),
        observed: Some("0777".to_owned()),
        desired: Some("0750".to_owned()),
    };
    assert_eq!(drift[2].found.as_deref(), Ok(&[mode][..]));
    host.apply(&desired);
}

#[test]
fn the_kernel_has_the_settings_that_the_state_says() {
    let host = Host::new();
    host.write("/proc/sys/net/ipv4/ip_forward", "0\n");
    host.write("/proc/sys/net/ipv4/ip_local_port_range", "1\t2\n");
    let desired =
        host.one(json!({"sysctl": {"net.ipv4.ip_forward": 1, "net.ipv4.ip_local_port_range": "1 2"}}));
    host.apply(&desired);
    assert_eq!(host.read("/proc/sys/net/ipv4/ip_forward"), "1\n");
    assert_eq!(
        host.read("/proc/sys/net/ipv4/ip_local_port_range"),
        "1\t2\n",
        "the same value in another spelling"
    );
    host.write("/proc/sys/net/ipv4/ip_forward", "0\n");
    assert_eq!(host.target().observe(&desired.document, &desired.state).len(), 1);
    host.apply(&host.one(json!({})));
    assert_eq!(host.read("/proc/sys/net/ipv4/ip_forward"), "0\n");
}

#[test]
fn secrets_are_masked_in_every_difference() {
    let host = Host::new();
    let module = |secret: &str| {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{secret}\n-----END PRIVATE KEY-----\n");
        let config = json!({"p": secret, "key": key, "url": format!("https://me:{secret}@x.y")});
        let spec = json!({"host": {
            "files": {
                "/etc/app.yaml": {"content": "user: me\ndb_password: {{ config.p }}\n"},
                "/etc/app.env": {"content": "API_TOKEN={{ config.p }}\n"},
                "/etc/app.key": {"content": "{{ config.key }}"},
            },
            "timers": {"t": {"schedule": "@daily", "command": "curl {{ config.url }}"}},
            "sysctl": {"kernel.domainname": "{{ config.url }}"},
        }});
        host.desired_with_config(&[("m", &[], spec)], config.as_object().unwrap().clone())
    };
    let shown = |report: &crate::target::host::RunReport| serde_json::to_string(report).unwrap();
    let reports = [
        host.apply(&module("planted-1")),
        host.apply(&module("planted-2")),
        host.apply(&host.one(json!({}))),
    ];
    for report in &reports {
        assert!(report.changes().count() >= 5);
        assert!(!shown(report).contains("planted"), "{}", shown(report));
    }
    host.apply(&module("planted-1"));
    let drift = host.target().observe(&module("planted-3").document, &module("planted-3").state);
    assert!(!drift.is_empty() && !format!("{drift:?}").contains("planted"), "{drift:?}");
}

#[test]
fn a_binary_or_large_file_is_summarised() {
    let large = "x\n".repeat(100_000);
    let host = Host::new().with_source("binary", b"\0\x01").with_source("large", large.as_bytes());
    let files = json!({"/binary": {"source": "binary"}, "/large": {"source": "large"}});
    let report = host.apply(&host.one(json!({"files": files})));
    let shown = serde_json::to_string(&report).unwrap();
    assert!(shown.contains("it is binary") && shown.contains("it is larger than 128 KiB"), "{shown}");
    assert!(shown.len() < 4_000, "{shown}");
}
