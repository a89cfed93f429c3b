//! Real hosts.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use windlass_testkit::servers::{HostKind, TestHost};

#[test]
fn hosts_start_have_a_network_and_leave_nothing_behind() {
    let before = traces();
    let kinds = [HostKind::Systemd, HostKind::Systemd, HostKind::Plain];
    let hosts: Vec<TestHost> = kinds.iter().filter_map(|kind| TestHost::start(*kind, &[])).collect();
    if hosts.len() < kinds.len() {
        return;
    }
    for (host, kind) in hosts.iter().zip(kinds) {
        let has_systemd = host.output("test -d /run/systemd/system").status.success();
        assert_eq!(has_systemd, kind == HostKind::Systemd);
        host.run("echo written > /etc/only-here && id root && mount | grep ' / .*overlay'");
        assert_eq!(fs::read_to_string(host.path("/etc/only-here")).unwrap(), "written\n");
        let (machine, address) = (host.machine_address(), host.address());
        assert_eq!(host.run("ip -4 -brief address show host0 | awk '{print $3}'"), format!("{address}/30"));
        let route = Command::new("ip").args(["route", "get", &address.to_string()]).output().unwrap();
        assert!(String::from_utf8_lossy(&route.stdout).contains(&machine.to_string()), "{route:?}");
    }
    assert_ne!(hosts[0].address(), hosts[1].address());
    let server = TcpListener::bind((hosts[0].machine_address(), 0)).unwrap();
    let (address, port) = (hosts[0].machine_address(), server.local_addr().unwrap().port());
    let connect = format!("IO::Socket::INET->new(PeerAddr => '{address}:{port}', Timeout => 30) or die $@");
    hosts[0].run(&format!("perl -MIO::Socket::INET -e \"{connect}\""));
    assert_ne!(traces(), before, "hosts are visible while they run");
    drop(hosts);
    assert_eq!(traces(), before);
    assert!(!Path::new("/etc/only-here").exists());
}

/// What hosts have on the machine: network interfaces, control groups, directories and mounts.
fn traces() -> Vec<String> {
    let names = |directory: &str, prefix: &str| -> Vec<String> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(prefix)).map(|name| format!("{directory}/{name}")).collect()
    };
    let mut traces = names("/sys/class/net", "wl");
    for group in ["/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"] {
        traces.extend(names(group, "windlass-host-"));
    }
    traces.extend(names("/tmp", "windlass-host-"));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    traces.extend(mounts.lines().filter(|line| line.contains("windlass-host-")).map(str::to_owned));
    traces.sort();
    traces
}
