//! Paths that someone on the host prepared, or that are not what anyone expects.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;

use serde_json::json;

use super::{Desired, Host, changed, failure};

const ATTACKER: Option<u32> = Some(4321);

/// A host with a directory of another user; `None` without root, where files cannot be given to others.
fn host_with_home() -> Option<Host> {
    let host = Host::new();
    fs::create_dir_all(host.path("/home/eve/own")).unwrap();
    fs::create_dir_all(host.path("/etc")).unwrap();
    let given =
        ["/home/eve", "/home/eve/own"].iter().all(|path| chown(host.path(path), ATTACKER, ATTACKER).is_ok());
    given.then_some(host)
}

fn file(host: &Host, path: &str) -> Desired {
    host.one(json!({"files": {path: {"content": "x"}}}))
}

#[test]
fn a_link_of_another_user_leads_only_to_that_users_directories() {
    let Some(host) = host_with_home() else { return };
    for (link, target) in
        [("to-etc", "/etc"), ("up", "../../etc"), ("to-own", "/home/eve/own"), ("to-link", "to-etc")]
    {
        symlink(target, host.path("/home/eve").join(link)).unwrap();
        lchown(host.path("/home/eve").join(link), ATTACKER, ATTACKER).unwrap();
    }
    for name in ["to-etc", "up", "to-link"] {
        let report = host.apply_with_failures(&file(&host, &format!("/home/eve/{name}/passwd")));
        let reason = failure(&report, &format!("path /home/eve/{name}/passwd"));
        assert!(reason.contains("a symbolic link of the user 4321"), "{reason}");
    }
    assert_eq!(fs::read_dir(host.path("/etc")).unwrap().count(), 0);
    host.apply(&file(&host, "/home/eve/to-own/a"));
    assert_eq!(host.read("/home/eve/own/a"), "x");
    // A link that root made is followed.
    symlink("/etc", host.path("/home/eve/by-root")).unwrap();
    host.apply(&host.one(
        json!({"files": {"/home/eve/to-own/a": {"content": "x"}, "/home/eve/by-root/b": {"content": "x"}}}),
    ));
    assert_eq!(host.read("/etc/b"), "x");
}

#[test]
fn links_that_lead_in_circles_are_an_error() {
    let host = Host::new();
    symlink("/b", host.path("/a")).unwrap();
    symlink("/a", host.path("/b")).unwrap();
    let report = host.apply_with_failures(&file(&host, "/a/c"));
    assert!(failure(&report, "path /a/c").contains("symbolic links"), "{report:?}");
}

#[test]
fn sockets_pipes_and_devices_are_not_replaced_and_do_not_block() {
    let host = Host::new();
    let _socket = UnixListener::bind(host.path("/socket")).unwrap();
    assert!(Command::new("mkfifo").arg(host.path("/pipe")).status().unwrap().success());
    for path in ["/socket", "/pipe"] {
        let report = host.apply_with_failures(&file(&host, path));
        let item = format!("path {path}");
        assert_eq!(
            failure(&report, &item),
            format!("{path} is a device, a socket or a pipe: remove it, or use another path")
        );
        assert_eq!(host.target().observe(&file(&host, path).document, &file(&host, path).state).len(), 1);
    }
    assert!(fs::symlink_metadata(host.path("/pipe")).is_ok_and(|found| !found.is_file()));
}

#[test]
fn a_link_to_a_name_that_is_not_text_is_restored_byte_by_byte() {
    let host = Host::new();
    let target = OsStr::from_bytes(b"/odd-\xff\xfe");
    symlink(target, host.path("/a")).unwrap();
    host.apply(&file(&host, "/a"));
    host.apply(&host.one(json!({})));
    assert_eq!(fs::read_link(host.path("/a")).unwrap(), target);
}

#[test]
fn names_with_spaces_quotes_and_other_scripts_are_ordinary() {
    let host = Host::new();
    let path = "/srv/a b'\"$(id);ü/日本 {}.conf";
    let desired = host.one(json!({"files": {path: {"content": "x", "validate": "grep -q x {}"}}}));
    host.apply(&desired);
    assert_eq!(host.read(path), "x");
    host.apply(&host.one(json!({})));
    assert_eq!(host.snapshot().len(), 0);
}

#[test]
fn a_huge_file_is_replaced_in_bounded_memory_and_shown_by_its_size() {
    let host = Host::new();
    // Sparse: it takes no space.
    File::create(host.path("/huge")).unwrap().set_len(64 * 1024 * 1024).unwrap();
    let report = host.apply(&file(&host, "/huge"));
    assert_eq!(changed(&report), ["Update path /huge"]);
    assert!(serde_json::to_string(&report).unwrap().len() < 2_000);
    host.write("/etc/passwd", "");
    File::create(host.path("/etc/passwd")).unwrap().set_len(1024 * 1024 * 1024).unwrap();
    let report = host.apply_with_failures(&host.one(json!({"users": {"web": {}}})));
    assert_eq!(failure(&report, "user web"), "/etc/passwd is larger than 16 MiB");
}

#[test]
fn the_selinux_label_of_a_file_is_kept_and_restored() {
    let host = Host::new();
    host.write("/a", "before");
    let label = b"system_u:object_r:etc_t:s0\0";
    // Needs root and a file system with labels; elsewhere this checks nothing.
    let set =
        rustix::fs::setxattr(host.path("/a"), "security.selinux", label, rustix::fs::XattrFlags::empty());
    if set.is_err() {
        return;
    }
    let label_now = || {
        let mut found = vec![0; 100];
        let length = rustix::fs::getxattr(host.path("/a"), "security.selinux", found.as_mut_slice()).unwrap();
        found.truncate(length);
        found
    };
    host.apply(&file(&host, "/a"));
    assert_eq!(label_now(), label);
    host.apply(&host.one(json!({})));
    assert_eq!((host.read("/a").as_str(), label_now()), ("before", label.to_vec()));
}
