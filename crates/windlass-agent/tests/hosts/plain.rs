//! Hosts without systemd, as containers are: the agent runs the services itself.

use serde_json::json;
use windlass_testkit::servers::HostKind;

use crate::agent_host::{AgentHost, from_catalogue, module};

#[test]
fn nginx_of_the_catalogue_answers_on_a_host_without_systemd() {
    let Some(host) = AgentHost::start(HostKind::Plain) else { return };
    let nginx = |workers: u32| [from_catalogue("nginx", json!({"nginx_workers": workers}))];
    host.apply(&nginx(1)).converged();
    let answer = host.http_get("/").unwrap();
    assert!(answer.contains("Welcome to nginx"), "{answer}");
    assert_eq!(host.apply(&nginx(1)).converged().changed(), [""; 0]);

    let first = host.run("cat /run/nginx.pid");
    let report = host.apply(&nginx(3)).converged();
    assert_eq!(report.changed(), ["path /etc/nginx/nginx.conf", "service nginx"]);
    host.wait_for("test $(pgrep -fc 'nginx: worker process$') = 3");
    assert_eq!(host.run("cat /run/nginx.pid"), first, "a reload, not a restart");

    let (report, agent) = host.stay(&nginx(3));
    assert_eq!(report.converged().changed(), [""; 0], "another agent goes on with what runs");
    host.run("pkill -KILL -x nginx");
    host.wait_for(&format!("pid=$(cat /run/nginx.pid) && test $pid != {first} && kill -0 $pid"));
    assert!(host.http_get("/").is_some());
    drop(agent);
    assert!(host.http_get("/").is_some(), "services go on without the agent");

    let mut stopped = nginx(3);
    stopped[0].spec["host"]["services"]["nginx"]["state"] = json!("stopped");
    host.apply(&stopped).converged();
    assert_eq!(host.http_get("/"), None);
    host.apply(&[]).converged();
    assert!(!host.output("test -e /usr/sbin/nginx").status.success());
}

#[test]
fn timers_of_a_host_without_systemd_are_files_of_cron() {
    let Some(host) = AgentHost::start(HostKind::Plain) else { return };
    let timer = json!({"schedule": "30 3 * * *", "command": "echo 5%"});
    let modules = [module("cron", json!({"services": {"cron": {}}, "timers": {"note": timer}}))];
    host.apply(&modules).converged();
    assert!(host.run("cat /etc/cron.d/windlass-note").ends_with("30 3 * * * root echo 5\\%"));
    host.run("pgrep -x cron");
    assert_eq!(host.apply(&modules).converged().changed(), [""; 0]);
    host.apply(&[]).converged();
    host.run("test ! -e /etc/cron.d/windlass-note && ! pgrep -x cron");
}
