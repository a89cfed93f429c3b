//! Hosts with systemd.

use std::fs;

use serde_json::{Value, json};
use windlass_testkit::servers::HostKind;

use crate::agent_host::{AgentHost, from_catalogue, module};
use crate::runner::TestModule;

#[test]
fn nginx_of_the_catalogue_answers_on_three_hosts() {
    let hosts: Vec<AgentHost> = (0..3).filter_map(|_| AgentHost::start(HostKind::Systemd)).collect();
    std::thread::scope(|scope| {
        for host in &hosts {
            scope.spawn(|| nginx_answers(host));
        }
    });
}

fn nginx_answers(host: &AgentHost) {
    let base = || from_catalogue("system-base", json!({"timezone": "Europe/Vienna"}));
    let nginx = |workers: u32| [base(), from_catalogue("nginx", json!({"nginx_workers": workers}))];
    assert_eq!(host.http_get("/"), None);
    assert!(host.dry_run(&nginx(1)).changed().contains(&"package nginx".to_owned()));
    assert_eq!(host.http_get("/"), None, "a dry run changes nothing");
    host.apply(&nginx(1)).converged();
    let answer = host.http_get("/").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Welcome to nginx"), "{answer}");
    assert_eq!(host.run("systemctl is-enabled nginx"), "enabled");
    assert_eq!(host.drift(&nginx(1)), [""; 0]);
    assert_eq!(host.apply(&nginx(1)).converged().changed(), [""; 0]);

    let main_process = host.run("systemctl show -p MainPID nginx");
    let report = host.apply(&nginx(3)).converged();
    assert_eq!(report.changed(), ["path /etc/nginx/nginx.conf", "service nginx"]);
    host.wait_for("test $(pgrep -fc 'nginx: worker process$') = 3");
    assert_eq!(host.run("systemctl show -p MainPID nginx"), main_process, "a reload, not a restart");

    fs::write(host.path("/etc/nginx/nginx.conf"), "events {}\n").unwrap();
    host.run("systemctl stop nginx");
    let drift = host.drift(&nginx(3));
    assert!(drift[0].contains("/etc/nginx/nginx.conf") && drift[1].starts_with("service nginx"), "{drift:?}");
    host.apply(&nginx(3)).converged();
    assert!(host.http_get("/").is_some());

    host.apply(&[base()]).converged();
    assert_eq!(host.http_get("/"), None);
    assert!(!host.output("dpkg-query -W -f '${Status}' nginx | grep 'ok installed'").status.success());
    assert_eq!(host.run("cat /etc/timezone"), "Europe/Vienna");
}

/// A service of this project's own. It writes a line each time it starts.
fn counted(setting: &str) -> Vec<TestModule> {
    let unit = "[Service]\nExecStart=/bin/sh -c 'echo started >> /run/counted; exec sleep infinity'\nExecReload=/bin/sh -c \
                'echo reloaded >> /run/counted'\n[Install]\nWantedBy=multi-user.target\n";
    let files = json!({
        "/etc/systemd/system/counted.service": {"content": unit},
        "/etc/counted.conf": {"content": setting},
        "/etc/counted.d/other": {"content": "same"},
    });
    let service = json!({"restart_on": ["/etc/counted.conf"], "reload_on": ["/etc/counted.d/other"]});
    vec![module("counted", json!({"files": files, "services": {"counted": service}}))]
}

#[test]
fn a_service_restarts_only_when_its_file_changed_and_removal_restores_the_host() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    let count = || host.run("cat /run/counted 2>/dev/null || true").lines().count();
    host.apply(&counted("one")).converged();
    host.wait_for("test -s /run/counted");
    assert_eq!(host.apply(&counted("one")).converged().changed(), [""; 0]);
    assert_eq!(count(), 1);
    let report = host.apply(&counted("two")).converged();
    assert_eq!(report.changed(), ["path /etc/counted.conf", "service counted"]);
    host.wait_for("test $(wc -l < /run/counted) = 2");
    assert_eq!(host.run("systemctl is-active counted; systemctl is-enabled counted"), "active\nenabled");
    host.run("systemctl kill --signal KILL counted; systemctl reset-failed counted");
    host.wait_for("! systemctl is-active counted");
    assert!(host.drift(&counted("two"))[0].starts_with("service counted"));

    host.apply(&[]).converged();
    let gone =
        "test ! -e /etc/counted.conf -a ! -e /etc/counted.d -a ! -e /etc/systemd/system/counted.service";
    host.run(&format!("{gone} && ! systemctl cat counted"));
}

#[test]
fn a_service_that_does_not_start_says_why() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    let with = |command: &str, timeout: u32| {
        let unit =
            format!("[Service]\nType=oneshot\nTimeoutStartSec={timeout}\nExecStart=/bin/sh -c '{command}'\n");
        let files = json!({"/etc/systemd/system/bad.service": {"content": unit}});
        vec![module("bad", json!({"files": files, "services": {"bad": {"enabled": false}}}))]
    };
    // The journal looks up whose line it is while the process still runs.
    let report = host.apply(&with("echo no such port in https://me:secret@x.y; sleep 1; exit 7", 30));
    let reason = report.failure("service bad");
    assert!(
        reason.starts_with("cannot start bad.service: the job ended with `failed`; exit-code 7"),
        "{reason}"
    );
    assert!(reason.contains("no such port in https://(hidden)@x.y"), "{reason}");
    let report = host.apply(&with("sleep 60", 1));
    assert!(report.failure("service bad").contains("time"), "{report:?}");
    let report = host.apply(&[module("none", json!({"services": {"not-there": {}}}))]);
    let reason = report.failure("service not-there");
    assert!(reason.contains("not-there.service") && reason.contains("not"), "{reason}");

    host.run("systemctl mask cron");
    let cron = |service: Value| vec![module("cron", json!({"services": {"cron": service}}))];
    let report = host.apply(&cron(json!({})));
    assert!(report.failure("service cron").starts_with("cron is masked on this host"), "{report:?}");
    host.run("systemctl stop cron");
    assert_eq!(host.drift(&cron(json!({"state": "stopped", "enabled": false}))), [""; 0]);
}

#[test]
fn users_kernel_settings_and_timers_are_true_for_the_tools_of_the_host() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1kTqJd8Xk2 me@example.com";
    let with = |schedule: &str| {
        let timer = json!({"schedule": schedule, "command": "id -un > /run/timer-ran", "user": "deploy"});
        let user = json!({"uid": 900, "groups": ["ops"], "shell": "/bin/sh", "authorized_keys": [key]});
        vec![module(
            "base",
            json!({
                "groups": {"ops": {"gid": 901}}, "users": {"deploy": user},
                "sysctl": {"net.ipv4.ip_forward": 1, "net.ipv4.ip_local_port_range": "20000 30000"},
                "directories": {"/srv/deploy": {"owner": "deploy", "group": "ops", "mode": "2770"}},
                "timers": {"note": timer},
            }),
        )]
    };
    let before =
        host.run("cat /etc/passwd /etc/group; sysctl -n net.ipv4.ip_forward net.ipv4.ip_local_port_range");
    host.apply(&with("30 3 * * *")).converged();
    assert_eq!(host.run("id deploy"), "uid=900(deploy) gid=1000(deploy) groups=1000(deploy),901(ops)");
    assert_eq!(host.run("sysctl -n net.ipv4.ip_forward net.ipv4.ip_local_port_range"), "1\n20000\t30000");
    assert_eq!(
        host.run("stat -c '%a %U %G' /srv/deploy ~deploy/.ssh/authorized_keys"),
        "2770 deploy ops\n600 deploy deploy"
    );
    let timers = "systemctl list-timers --all --no-legend windlass-note.timer";
    assert!(host.run(timers).contains("03:30:00"), "{}", host.run(timers));
    assert!(host.run("systemctl is-enabled windlass-note.timer") == "enabled");
    host.run("chmod 777 /run && systemctl start windlass-note.service");
    assert_eq!(host.run("cat /run/timer-ran"), "deploy");
    host.apply(&with("45 4 * * *")).converged();
    assert!(host.run(timers).contains("04:45:00"), "the timer has its new schedule at once");
    assert_eq!(host.apply(&with("45 4 * * *")).converged().changed(), [""; 0]);

    host.run(
        "usermod -s /bin/false deploy; sysctl -qw net.ipv4.ip_forward=0; systemctl stop windlass-note.timer",
    );
    let drift = host.drift(&with("45 4 * * *")).join("\n");
    for item in ["user deploy", "sysctl net.ipv4.ip_forward", "timer note"] {
        assert!(drift.contains(item), "{drift}");
    }
    host.apply(&with("45 4 * * *")).converged();
    host.apply(&[]).converged();
    let after =
        host.run("cat /etc/passwd /etc/group; sysctl -n net.ipv4.ip_forward net.ipv4.ip_local_port_range");
    assert_eq!(after, before);
    assert_eq!(host.run(timers), "");
}
