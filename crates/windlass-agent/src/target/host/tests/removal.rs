use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::{Host, changed, web, web_host};
use crate::target::host::Scope;

#[test]
fn removal_restores_what_was_there() {
    let host = web_host();
    host.write("/etc/nginx/nginx.conf", "original\n");
    fs::set_permissions(host.path("/etc/nginx/nginx.conf"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(host.path("/srv")).unwrap();
    let before = host.snapshot();
    host.apply(&host.one(web("one\n")));
    host.apply(&host.one(web("two\n")));
    let report = host.apply(&host.one(json!({})));
    assert_eq!(host.snapshot(), before);
    assert_eq!(
        changed(&report),
        [
            "Remove timer rotate",
            "Remove service nginx",
            "Remove sysctl net.ipv4.ip_forward",
            "Remove path /srv/current",
            "Remove path /srv/www/index.html",
            "Remove path /srv/www/about.html",
            "Remove path /etc/nginx/nginx.conf",
            "Remove path /srv/www",
            "Remove hold nginx",
            "Remove package nginx",
        ]
    );
    assert_eq!(fs::read_dir(host.state_dir.join("previous")).unwrap().count(), 0, "nothing is kept for ever");
}

#[test]
fn a_directory_is_removed_only_if_it_is_empty_and_the_agent_created_it() {
    let host = Host::new();
    fs::create_dir(host.path("/there")).unwrap();
    let directories = json!({"/there": {"mode": "0700"}, "/new": {}, "/used": {}});
    host.apply(&host.one(json!({"directories": directories, "files": {"/a/b/c": {"content": "x"}}})));
    host.write("/used/data", "kept");
    host.apply(&host.one(json!({})));
    let names: Vec<String> = host.snapshot().into_keys().collect();
    assert_eq!(names, ["/there", "/used", "/used/data"]);
    assert_eq!(fs::metadata(host.path("/there")).unwrap().permissions().mode() & 0o777, 0o755);
    fs::remove_file(host.path("/used/data")).unwrap();
    host.apply(&host.one(json!({})));
    assert!(!host.path("/used").exists());
}

#[test]
fn an_item_that_was_in_sync_already_is_not_removed() {
    let host = Host::new();
    host.write("/etc/motd", "hello");
    host.apply(&host.one(json!({"files": {"/etc/motd": {"content": "hello"}}})));
    host.apply(&host.one(json!({})));
    assert_eq!(host.read("/etc/motd"), "hello");
}

#[test]
fn a_path_can_change_its_type() {
    let host = Host::new();
    let states = [
        json!({"files": {"/srv/x": {"content": "x"}}}),
        json!({"directories": {"/srv/x": {}}, "files": {"/srv/x/y": {"content": "y"}}}),
        json!({"links": {"/srv/x": {"to": "/etc"}}}),
        json!({"files": {"/srv/x/y": {"content": "y"}}}),
        json!({"files": {"/srv/x": {"content": "x"}}}),
    ];
    for state in &states {
        let desired = host.one(state.clone());
        let report = host.target().apply(&desired.document, &desired.state, Scope::WholeState).unwrap();
        assert!(report.is_converged(), "{state}: {report:#?}");
        assert_eq!(host.target().observe(&desired.document, &desired.state), []);
    }
    host.apply(&host.one(json!({})));
    assert_eq!(host.snapshot().len(), 0);
}

#[test]
fn items_of_a_failed_module_are_not_removed() {
    let host = Host::new();
    host.apply(&host.one(json!({"files": {"/old": {"content": "x"}}})));
    let files = json!({"/new": {"content": "x", "validate": "false {}"}});
    host.apply_with_failures(&host.one(json!({"files": files})));
    assert_eq!(host.read("/old"), "x");
}
