//! Packages with the real apt. The archive is a directory of the host; there is no way to any other.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testkit::servers::HostKind;

use crate::agent_host::{AgentHost, module};
use crate::runner::TestModule;

const INSTALLED: &str = "dpkg-query -W -f '${Version} ${db:Status-Want}' windlass-test";

fn with(host: Value) -> Vec<TestModule> {
    vec![module("test", host)]
}

fn package(pin: &str) -> Vec<TestModule> {
    with(json!({"packages": [pin]}))
}

#[test]
fn pins_and_holds_are_followed_in_both_directions() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    let pinned = |pin: &str| with(json!({"packages": [pin], "hold": ["windlass-test"]}));
    host.apply(&package("windlass-test=1.0")).converged();
    assert_eq!(host.run(INSTALLED), "1.0 install");
    host.apply(&pinned("windlass-test=1.*")).converged();
    assert_eq!(host.run(INSTALLED), "1.0 hold", "1.0 is one of 1.*");
    host.output("apt-get -y install --only-upgrade windlass-test");
    assert_eq!(host.run(INSTALLED), "1.0 hold");
    host.apply(&pinned("windlass-test=2.0")).converged();
    host.apply(&pinned("windlass-test=1.1")).converged();
    assert_eq!(host.run(INSTALLED), "1.1 hold", "a held package goes back to an older version");
    host.run("apt-mark unhold windlass-test && apt-get -y install --only-upgrade windlass-test");
    let drift = host.drift(&pinned("windlass-test=1.1"));
    assert!(drift[0].contains("2.0") && drift[1].starts_with("hold windlass-test"), "{drift:?}");
    host.apply(&pinned("windlass-test=1.1")).converged();
    assert_eq!(host.apply(&pinned("windlass-test=1.1")).converged().changed(), [""; 0]);
    let report = host.apply(&pinned("windlass-test=3.0"));
    assert!(report.failure("package windlass-test").contains("3.0"), "{report:?}");
    assert_eq!(host.run(INSTALLED), "1.1 hold");
    host.apply(&[]).converged();
    assert!(!host.output("test -e /usr/share/windlass-test").status.success());
}

#[test]
fn an_archive_that_cannot_be_reached_is_a_reason_and_not_a_hang() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    let start = Instant::now();
    let report = host.apply(&package("no-such-package"));
    let reason = report.failure("package no-such-package");
    assert!(reason.contains("Unable to locate package no-such-package"), "{reason}");
    assert!(reason.contains("its lists are old: Err:"), "{reason}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_package_that_others_need_is_not_removed_and_what_only_it_needed_is() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    host.apply(&package("windlass-test")).converged();
    let control = "Package: by-hand\\nVersion: 1\\nArchitecture: all\\nMaintainer: t <t@x.y>\\nDepends: windlass-test\\nDescription: t\\n";
    host.run(&format!("mkdir -p /tmp/p/DEBIAN && printf '{control}' > /tmp/p/DEBIAN/control && dpkg-deb -b /tmp/p /tmp/p.deb && dpkg -i /tmp/p.deb"));
    let report = host.apply(&[]);
    let reason = report.failure("package windlass-test");
    assert_eq!(reason, "removing windlass-test would also remove by-hand, which nobody approved");
    host.run("dpkg -s by-hand && dpkg -r by-hand");
    host.apply(&[]).converged();

    let before = host.run("dpkg-query -W -f '${Package} ${db:Status-Status}\\n' | grep ' installed'");
    host.apply(&package("nginx")).converged();
    host.apply(&[]).converged();
    let after = host.run("dpkg-query -W -f '${Package} ${db:Status-Status}\\n' | grep ' installed'");
    assert_eq!(after, before);
}

#[test]
fn the_agent_waits_for_another_package_manager_and_resumes_after_a_power_cut() {
    let Some(host) = AgentHost::start(HostKind::Systemd) else { return };
    // Locks as dpkg does, until a file appears.
    let lock = "use Fcntl; open my $f, '>>', '/var/lib/dpkg/lock-frontend'; \
        my $l = pack('s s x4 q q l x4', F_WRLCK, 0, 0, 0, 0); fcntl($f, F_SETLK, $l) or die; open my $r, '>', '/run/locked'; \
        select undef, undef, undef, 0.05 until -e '/run/release';";
    let mut holder = host.command("perl").args(["-e", lock]).spawn().unwrap();
    host.wait_for("test -e /run/locked");
    std::thread::scope(|scope| {
        let applied = scope.spawn(|| host.apply(&package("windlass-test=1.0")));
        // It has tried, and failed.
        host.wait_for("pgrep -x apt-get");
        host.wait_for("! pgrep -x apt-get");
        assert!(!applied.is_finished());
        host.run("touch /run/release");
        applied.join().unwrap().converged();
    });
    holder.wait().unwrap();
    // What dpkg leaves behind when the power goes.
    host.run("touch /var/lib/dpkg/updates/0000");
    assert!(!host.output("apt-get -y install windlass-test=2.0").status.success());
    host.apply(&package("windlass-test=2.0")).converged();
    assert_eq!(host.run(INSTALLED), "2.0 install");
}
