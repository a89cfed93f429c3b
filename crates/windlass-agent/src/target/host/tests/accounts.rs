//! Users and groups. These tests run `useradd` and its relatives, which needs root; without root they check nothing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use super::{Host, changed, failure};

const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1kTqJd8Xk2 me@example.com";

fn host_with_accounts() -> Option<Host> {
    let host = Host::new();
    host.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n");
    host.write("/etc/group", "root:x:0:\nsudo:x:27:\n");
    host.write("/etc/shadow", "root:*:1:0:99999:7:::\n");
    host.write("/etc/gshadow", "root:*::\nsudo:*::\n");
    let is_there = fs::exists("/usr/sbin/useradd").unwrap();
    (rustix::process::geteuid().is_root() && is_there).then_some(host)
}

#[test]
fn users_and_groups_are_created_changed_and_removed() {
    let Some(host) = host_with_accounts() else { return };
    let with = |shell: &str, gid: u32| {
        let user = json!({"uid": 1234, "group": "web", "groups": ["sudo"], "comment": "Web", "home": "/home/web",
            "shell": shell, "authorized_keys": [KEY]});
        host.one(json!({"groups": {"web": {"gid": gid}}, "users": {"web": user},
            "files": {"/home/web/site": {"content": "x", "owner": "web", "group": "web"}}}))
    };
    host.apply_with_failures(&with("/bin/sh", 900));
    let desired = with("/bin/sh", 900);
    assert_eq!(host.target().observe(&desired.document, &desired.state), []);
    assert!(host.read("/etc/passwd").contains("web:x:1234:900:Web:/home/web:/bin/sh\n"));
    assert!(host.read("/etc/group").contains("sudo:x:27:web\n"));
    assert_eq!(host.read("/home/web/.ssh/authorized_keys"), format!("{KEY}\n"));
    let owner = |path: &str| {
        fs::metadata(host.path(path)).map(|found| (found.uid(), found.gid(), found.mode() & 0o777))
    };
    assert_eq!(owner("/home/web/.ssh/authorized_keys").unwrap(), (1234, 900, 0o600));
    assert_eq!(owner("/home/web/.ssh").unwrap(), (1234, 900, 0o700));
    assert_eq!(owner("/home/web/site").unwrap(), (1234, 900, 0o644));
    assert_eq!(changed(&host.apply(&desired)), [""; 0]);
    let keys = host.path("/home/web/.ssh/authorized_keys");
    fs::set_permissions(&keys, fs::Permissions::from_mode(0o666)).unwrap();
    std::os::unix::fs::chown(&keys, Some(0), None).unwrap();
    assert_eq!(changed(&host.apply(&desired)), ["Update user web"], "sshd would ignore the keys");
    assert_eq!(owner("/home/web/.ssh/authorized_keys").unwrap(), (1234, 900, 0o600));
    let report = host.apply(&with("/bin/bash", 900));
    assert_eq!(changed(&report), ["Update user web"]);
    host.apply(&host.one(json!({})));
    assert_eq!(host.read("/etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
    assert_eq!(host.read("/etc/group"), "root:x:0:\nsudo:x:27:\n");
}

#[test]
fn a_user_that_existed_before_gets_its_fields_and_keys_back() {
    let Some(host) = host_with_accounts() else { return };
    host.write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nme:x:1000:0:Me:/home/me:/bin/sh\n");
    host.write("/home/me/.ssh/authorized_keys", "old\n");
    let before = host.read("/etc/passwd");
    let user = json!({"comment": "Other", "groups": ["sudo"], "authorized_keys": [KEY]});
    host.apply(&host.one(json!({"users": {"me": user}})));
    assert!(host.read("/etc/passwd").contains(":Other:") && host.read("/etc/group").contains("sudo:x:27:me"));
    host.apply(&host.one(json!({})));
    assert_eq!(host.read("/etc/passwd"), before);
    assert_eq!(host.read("/etc/group"), "root:x:0:\nsudo:x:27:\n");
    assert_eq!(host.read("/home/me/.ssh/authorized_keys"), "old\n");
}

#[test]
fn an_unknown_owner_is_reported() {
    let Some(host) = host_with_accounts() else { return };
    let files = json!({"/a": {"content": "x", "owner": "nobody-here"}});
    let report = host.apply_with_failures(&host.one(json!({"files": files})));
    assert_eq!(failure(&report, "path /a"), "there is no user nobody-here on this host");
}
