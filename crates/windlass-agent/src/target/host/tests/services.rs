use serde_json::{Value, json};

use super::{Desired, Host, changed};
use crate::target::host::services::RecordedServices;
use crate::target::host::step_hook::StepHook;
use crate::target::host::tree::HostTree;
use crate::target::host::{Scope, TimerSupport};

fn desired(host: &Host, reload: &str, restart: &str) -> Desired {
    host.one(json!({
        "files": {"/etc/reload": {"content": reload}, "/etc/restart": {"content": restart}},
        "services": {"web": {"reload_on": ["/etc/reload"], "restart_on": ["/etc/restart"]}},
    }))
}

#[test]
fn a_service_that_was_just_started_is_not_reloaded() {
    let host = Host::new();
    host.apply(&desired(&host, "1", "1"));
    let service = host.service("web");
    assert_eq!((service.running, service.reloads, service.restarts), (true, 0, 0));
}

#[test]
fn a_changed_file_reloads_or_restarts_its_service_once() {
    let host = Host::new();
    host.apply(&desired(&host, "1", "1"));
    for (reload, restart, counts) in
        [("2", "1", (1, 0)), ("2", "2", (1, 1)), ("3", "3", (1, 2)), ("3", "3", (1, 2))]
    {
        host.apply(&desired(&host, reload, restart));
        let service = host.service("web");
        assert_eq!((service.reloads, service.restarts), counts, "{reload} {restart}");
    }
}

#[test]
fn a_file_of_a_later_module_and_a_removed_file_reload_the_service_too() {
    let host = Host::new();
    let service = json!({"host": {"services": {"web": {"reload_on": ["/etc/later"]}}}});
    let with =
        |later: Value| host.desired(&[("web", &[], service.clone()), ("later", &[], json!({"host": later}))]);
    host.apply(&with(json!({"files": {"/etc/later": {"content": "1"}}})));
    assert_eq!(host.service("web").reloads, 1, "the service started before its file changed");
    let report = host.apply(&with(json!({"files": {"/etc/later": {"content": "2"}}})));
    assert_eq!(changed(&report), ["Update service web", "Update path /etc/later"]);
    assert_eq!(host.service("web").reloads, 2);
    host.apply(&with(json!({})));
    assert_eq!(host.service("web").reloads, 3);
}

#[test]
fn a_stopped_service_is_not_reloaded() {
    let host = Host::new();
    let with = |text: &str| {
        host.one(json!({"files": {"/a": {"content": text}},
            "services": {"web": {"state": "stopped", "enabled": false, "restart_on": ["/a"]}}}))
    };
    host.apply(&with("1"));
    let report = host.apply(&with("2"));
    assert_eq!(changed(&report), ["Update path /a"]);
    assert_eq!(host.service("web"), Default::default());
}

#[test]
fn a_host_without_systemd_gets_a_cron_file() {
    let host = Host::new();
    let desired =
        host.one(json!({"timers": {"a.b": {"schedule": "@daily", "command": "echo 5%", "user": "web"}}}));
    let tree = HostTree::open(&host.root, StepHook::default()).unwrap();
    let services = RecordedServices::new(tree.into(), TimerSupport::Cron);
    let target = host.target().with_services(Box::new(services));
    assert!(target.apply(&desired.document, &desired.state, Scope::WholeState).unwrap().is_converged());
    assert_eq!(target.observe(&desired.document, &desired.state), []);
    let names: Vec<String> = host.snapshot().into_keys().collect();
    let file = names.iter().find(|name| name.starts_with("/etc/cron.d/windlass-a-b-")).unwrap();
    assert!(host.read(file).ends_with("0 0 * * * web echo 5\\%\n"));
}
