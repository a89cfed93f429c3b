//! Confirm or revert: which changes could cut the agent off from its server.
//!
//! After such a change the agent must reach its server on a new connection before a deadline; otherwise it goes back to what
//! it applied before (docs/adr/2026-11-18-confirm-or-revert.md). The deadline and the way back are in the cycle; this module
//! only decides which changes it is about.

use windlass_core::host::HostItemId;

/// Paths with which a host reaches its network. A path that ends in `/` stands for everything below it.
const PATHS: &[&str] = &[
    "/etc/network/",
    "/etc/netplan/",
    "/etc/systemd/network/",
    "/etc/systemd/networkd.conf",
    "/etc/systemd/resolved.conf",
    "/etc/NetworkManager/",
    "/etc/sysconfig/network",
    "/etc/sysconfig/network-scripts/",
    "/etc/ssh/",
    "/etc/nftables",
    "/etc/iptables/",
    "/etc/sysconfig/iptables",
    "/etc/firewalld/",
    "/etc/ufw/",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/wireguard/",
    "/etc/windlass-agent/",
];

/// Services with which a host reaches its network, and the agent's own.
const SERVICES: &[&str] = &[
    "ssh",
    "sshd",
    "systemd-networkd",
    "systemd-resolved",
    "networking",
    "network",
    "NetworkManager",
    "nftables",
    "iptables",
    "ip6tables",
    "firewalld",
    "ufw",
    "wg-quick",
    "windlass-agent",
];

/// Packages that bring them.
const PACKAGES: &[&str] = &[
    "openssh-server",
    "systemd",
    "systemd-resolved",
    "network-manager",
    "NetworkManager",
    "netplan.io",
    "ifupdown",
    "nftables",
    "iptables",
    "firewalld",
    "ufw",
    "wireguard",
    "iproute2",
    "windlass-agent",
];

/// Where unit files and their additions are.
const UNIT_DIRECTORIES: &[&str] =
    &["/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"];

/// The agent's own files on the host.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnPaths {
    pub(crate) state_dir: Option<String>,
    pub(crate) executable: Option<String>,
}

/// Whether a change of this item could cut the agent off.
pub(crate) fn could_cut_off(item: &HostItemId, own: &OwnPaths) -> bool {
    match item.kind {
        "path" => is_network_path(&item.name) || own.contains(&item.name),
        "service" | "timer" => is_service(&item.name),
        "package" | "hold" => PACKAGES.contains(&item.name.as_str()),
        "sysctl" => item.name.starts_with("net.") || item.name.starts_with("net/"),
        _ => false,
    }
}

impl OwnPaths {
    fn contains(&self, path: &str) -> bool {
        let is_below = |directory: &String| {
            path.strip_prefix(directory.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.state_dir.as_ref().is_some_and(is_below) || self.executable.as_deref() == Some(path)
    }
}

fn is_network_path(path: &str) -> bool {
    let is_meant = |known: &&str| {
        // A directory itself counts too, and so do `/etc/hosts.allow` and `/etc/nftables.conf`.
        path.starts_with(*known) || known.strip_suffix('/') == Some(path)
    };
    PATHS.iter().any(is_meant) || is_unit_of_service(path)
}

fn is_unit_of_service(path: &str) -> bool {
    let unit = UNIT_DIRECTORIES.iter().find_map(|directory| path.strip_prefix(directory));
    unit.and_then(|unit| unit.split('/').next()).is_some_and(is_service)
}

/// Whether this is the name of such a service, with or without `.service`, an instance or a `.d` directory.
fn is_service(name: &str) -> bool {
    let name = name.strip_suffix(".d").unwrap_or(name);
    let name = name.rsplit_once('.').map_or(name, |(name, _)| name);
    let name = name.split('@').next().unwrap_or(name);
    SERVICES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_the_network_ssh_the_firewall_and_the_agent_itself_could_cut_it_off() {
        let own = OwnPaths {
            state_dir: Some("/var/lib/windlass-agent".to_owned()),
            executable: Some("/usr/bin/windlass-agent".to_owned()),
        };
        let check = |kind: &'static str, name: &str, expected| {
            let item = HostItemId { kind, name: name.to_owned() };
            assert_eq!(could_cut_off(&item, &own), expected, "{item}");
        };
        for path in [
            "/etc/network",
            "/etc/network/interfaces",
            "/etc/netplan/01.yaml",
            "/etc/ssh/sshd_config",
            "/etc/nftables.conf",
            "/etc/nftables/main.nft",
            "/etc/hosts",
            "/etc/resolv.conf",
            "/etc/systemd/system/sshd.service",
            "/etc/systemd/system/ssh.service.d/override.conf",
            "/etc/systemd/system/wg-quick@wg0.service",
            "/etc/systemd/system/windlass-agent.service",
            "/var/lib/windlass-agent",
            "/var/lib/windlass-agent/identity.json",
            "/usr/bin/windlass-agent",
        ] {
            check("path", path, true);
        }
        for path in [
            "/etc/nginx/nginx.conf",
            "/srv/etc/ssh/sshd_config",
            "/etc/systemd/system/nginx.service",
            "/var/lib/windlass-agent-2/x",
            "/usr/bin/windlass-agents",
        ] {
            check("path", path, false);
        }
        check("service", "ssh", true);
        check("service", "sshd.service", true);
        check("service", "nginx", false);
        check("sysctl", "net.ipv4.ip_forward", true);
        check("sysctl", "vm.swappiness", false);
        check("package", "openssh-server", true);
        check("package", "nginx", false);
        check("user", "root", false);
    }
}
