//! The systemd unit.

use std::path::Path;

/// The unit of an agent with this binary and state directory.
///
/// An agent installs packages and writes anywhere in `/etc`, so it cannot run without rights; what it does not need is taken
/// from it all the same.
pub fn systemd_unit(executable: &Path, state_dir: &Path) -> String {
    let (executable, state_dir) = (executable.display(), state_dir.display());
    format!(
        "\
[Unit]
Description=Windlass agent
Wants=network-online.target
After=network-online.target
# A host that cannot reach its server keeps trying.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={executable} run --state {state_dir}
Restart=always
RestartSec=5
# 77: the server revoked the agent. Starting it again would not help.
RestartPreventExitStatus=77
# A run that has begun is finished first.
TimeoutStopSec=300
KillMode=mixed
UMask=0077
StateDirectory=windlass-agent
StateDirectoryMode=0700
MemoryHigh=128M
TasksMax=256
OOMScoreAdjust=-500

# Packages, files, services and kernel settings are the agent's work; these are not.
LockPersonality=yes
MemoryDenyWriteExecute=no
NoNewPrivileges=no
PrivateTmp=yes
ProtectClock=yes
ProtectHostname=no
ProtectKernelLogs=yes
ProtectKernelModules=no
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictRealtime=yes
SystemCallArchitectures=native
SystemCallFilter=~@obsolete @raw-io @reboot @swap @debug @cpu-emulation
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_starts_the_agent_and_leaves_a_revoked_one_stopped() {
        let unit = systemd_unit(Path::new("/usr/bin/windlass-agent"), Path::new("/var/lib/windlass-agent"));
        for line in [
            "ExecStart=/usr/bin/windlass-agent run --state /var/lib/windlass-agent",
            "RestartPreventExitStatus=77",
            "WantedBy=multi-user.target",
        ] {
            assert!(unit.lines().any(|found| found == line), "{line}");
        }
    }
}
