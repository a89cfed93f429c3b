use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{Host, changed, failure, outcome, web, web_host};
use crate::target::host::{ItemOutcome, Scope};

#[test]
fn after_an_apply_the_host_is_in_sync() {
    let host = web_host();
    let desired = host.one(web("workers 4;\n"));
    let report = host.apply(&desired);
    assert_eq!(report.changes().count(), 10);
    assert_eq!(host.read("/etc/nginx/nginx.conf"), "workers 4;\n");
    assert_eq!(host.read("/srv/www/about.html"), "n1\n");
    assert_eq!(host.read("/srv/www/index.html"), "<h1>index</h1>\n");
    assert!(host.read("/etc/sysctl.d/60-windlass.conf").ends_with("net.ipv4.ip_forward = 1\n"));
    assert!(host.read("/etc/systemd/system/windlass-rotate.timer").contains("OnCalendar=*-*-* 03:30:00\n"));
    assert!(host.read("/etc/systemd/system/windlass-rotate.service").contains("\"echo 100%%\""));
    assert!(host.service("nginx").running && host.service("windlass-rotate.timer").enabled);
}

#[test]
fn a_second_apply_changes_and_reloads_nothing() {
    let host = web_host();
    let desired = host.one(web("workers 4;\n"));
    host.apply(&desired);
    let (before, service) = (host.snapshot(), host.service("nginx"));
    let report = host.apply(&desired);
    assert_eq!(changed(&report), [""; 0]);
    assert_eq!((host.snapshot(), host.service("nginx")), (before, service));
}

#[test]
fn a_change_of_the_state_is_shown_as_a_diff() {
    let host = web_host();
    host.apply(&host.one(web("a\nb\n")));
    let report = host.apply(&host.one(web("a\nc\n")));
    assert_eq!(changed(&report), ["Update path /etc/nginx/nginx.conf", "Update service nginx"]);
    let shown = serde_json::to_string(&report).unwrap();
    assert!(shown.contains("@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n"), "{shown}");
    assert!(shown.contains("because of /etc/nginx/nginx.conf"), "{shown}");
}

#[test]
fn a_rejected_file_leaves_the_old_one_and_stops_its_module_and_dependents_only() {
    let host = Host::new();
    let modules = |text: &str| {
        let files = json!({"/etc/a.conf": {"content": text, "validate": "grep -q good {}"}, "/etc/b.conf": {"content": "b"}});
        let services = json!({"a": {"reload_on": ["/etc/a.conf"]}});
        let file = |path: &str, content: &str| json!({"host": {"files": {path: {"content": content}}}});
        host.desired(&[
            ("first", &[], json!({"host": {"files": files, "services": services}})),
            ("second", &["first"], file("/etc/c.conf", text)),
            ("third", &[], file("/etc/d.conf", text)),
        ])
    };
    host.apply(&modules("good 1"));
    let bad = modules("bad");
    let report = host.apply_with_failures(&bad);
    assert!(
        failure(&report, "path /etc/a.conf")
            .starts_with("the command `grep -q good {}` rejected the new file")
    );
    let skipped = ItemOutcome::Skipped { module: "first".to_owned() };
    for item in ["path /etc/b.conf", "service a", "path /etc/c.conf"] {
        assert_eq!(outcome(&report, item), &skipped, "{item}");
    }
    assert_eq!(changed(&report), ["Update path /etc/d.conf"]);
    assert_eq!(host.read("/etc/a.conf"), "good 1");
    assert_eq!(fs::read_dir(host.path("/etc")).unwrap().count(), 4, "no temporary file is left");
    let report = host.apply(&modules("good 1"));
    assert_eq!(changed(&report), ["Update path /etc/d.conf"]);
    assert_eq!(host.service("a").reloads, 0, "the file of the service did not change");
}

#[test]
fn what_a_validation_printed_is_in_the_reason_without_secrets() {
    let host = Host::new();
    let validate = "sh -c 'echo bad line in https://me:pw@x.y; exit 1' {}";
    let report =
        host.apply_with_failures(&host.one(json!({"files": {"/a": {"content": "x", "validate": validate}}})));
    assert!(failure(&report, "path /a").ends_with("bad line in https://(hidden)@x.y"));
    assert!(!host.path("/a").exists());
}

#[test]
fn a_symbolic_link_does_not_lead_out_of_the_tree() {
    let host = Host::new();
    let outside = tempfile::TempDir::new().unwrap();
    symlink(outside.path(), host.path("/etc")).unwrap();
    symlink("../../../../../../../../../tmp", host.path("/up")).unwrap();
    fs::create_dir(host.path("/real")).unwrap();
    symlink("/real", host.path("/inside")).unwrap();
    let files = json!({"/inside/a": {"content": "x"}, "/etc/a": {"content": "x"}});
    let report = host.apply_with_failures(&host.one(json!({"files": files})));
    assert!(failure(&report, "path /etc/a").contains("leads outside the root or to nothing"));
    let report =
        host.apply_with_failures(&host.one(json!({"files": {"/up/windlass-escape": {"content": "x"}}})));
    assert!(failure(&report, "path /up/windlass-escape").contains("/up is a symbolic link"));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    host.apply(&host.one(json!({"files": {"/inside/a": {"content": "x"}}})));
    assert_eq!(host.read("/real/a"), "x", "a link inside the tree is followed as on a machine");
}

#[test]
fn a_link_at_the_end_of_a_path_is_replaced_and_not_followed() {
    let host = Host::new();
    host.write("/target", "untouched");
    symlink("/target", host.path("/a")).unwrap();
    host.apply(&host.one(json!({"files": {"/a": {"content": "x"}}})));
    assert_eq!((host.read("/a").as_str(), host.read("/target").as_str()), ("x", "untouched"));
    host.apply(&host.one(json!({})));
    assert_eq!(fs::read_link(host.path("/a")).unwrap().to_str(), Some("/target"));
}

#[test]
fn a_directory_is_not_replaced_by_a_file() {
    let host = Host::new();
    host.write("/a/b", "kept");
    let report = host.apply_with_failures(&host.one(json!({"files": {"/a": {"content": "x"}}})));
    assert_eq!(failure(&report, "path /a"), "/a is a directory: remove it, or use another path");
    assert_eq!(host.read("/a/b"), "kept");
}

#[test]
fn a_blob_with_other_content_is_not_put_in_place() {
    let mut host = Host::new().with_source("a", b"right");
    let desired = host.one(json!({"files": {"/a": {"source": "a"}}}));
    for wrong in ["wrong", "right and more", "righ"] {
        host.blobs.0.values_mut().for_each(|blob| *blob = wrong.as_bytes().to_vec());
        let report = host.apply_with_failures(&desired);
        assert!(failure(&report, "path /a").contains("does not match its digest"), "{report:?}");
        assert_eq!(fs::read_dir(&host.root).unwrap().count(), 0);
    }
}

#[test]
fn packages_are_installed_in_one_transaction_and_per_module_if_that_fails() {
    let host = Host::new();
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let packages = |names: &[&str]| json!({"host": {"packages": names}});
    let run = |desired: &super::Desired| {
        log.lock().unwrap().clear();
        let manager = Box::new(packages::LoggedPackages::new(log.clone()));
        let target = host.target().with_packages(manager);
        let report = target.apply(&desired.document, &desired.state, Scope::WholeState).unwrap();
        (report, log.lock().unwrap().clone())
    };
    let good = host.desired(&[("one", &[], packages(&["a", "b=1.*"])), ("two", &[], packages(&["c"]))]);
    let (report, transactions) = run(&good);
    assert!(report.is_converged());
    assert_eq!(transactions, ["a b=1.* c"]);
    let bad = host.desired(&[("one", &[], packages(&["a", "broken"])), ("two", &[], packages(&["c"]))]);
    let (report, transactions) = run(&bad);
    assert_eq!(transactions, ["a broken c", "a broken", "c"]);
    assert!(failure(&report, "package a").contains("no package broken"));
    assert_eq!(outcome(&report, "package broken"), &ItemOutcome::Skipped { module: "one".to_owned() });
    assert_eq!(changed(&report), ["Create package c"]);
}

mod packages {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use windlass_core::value::PackagePin;

    use crate::target::host::{HostError, PackageManager};

    /// Notes each transaction. A package with the name `broken` cannot be installed.
    pub(super) struct LoggedPackages {
        log: Arc<Mutex<Vec<String>>>,
        installed: Mutex<BTreeMap<String, String>>,
    }

    impl LoggedPackages {
        pub(super) fn new(log: Arc<Mutex<Vec<String>>>) -> LoggedPackages {
            LoggedPackages { log, installed: Mutex::default() }
        }
    }

    impl PackageManager for LoggedPackages {
        fn forget_observations(&self) {}

        fn installed(&self, name: &str) -> Result<Option<String>, HostError> {
            Ok(self.installed.lock().unwrap().get(name).cloned())
        }

        fn install(&self, pins: &[&PackagePin]) -> Result<(), HostError> {
            let names: Vec<String> = pins.iter().map(ToString::to_string).collect();
            self.log.lock().unwrap().push(names.join(" "));
            if names.iter().any(|name| name == "broken") {
                let output = "no package broken".to_owned();
                return Err(HostError::CommandFailed { command: "install".to_owned(), output });
            }
            let installed = pins.iter().map(|pin| (pin.name.to_string(), "1.0".to_owned()));
            self.installed.lock().unwrap().extend(installed);
            Ok(())
        }

        fn remove(&self, names: &[&str]) -> Result<(), HostError> {
            self.installed.lock().unwrap().retain(|installed, _| !names.contains(&installed.as_str()));
            Ok(())
        }

        fn is_held(&self, _: &str) -> Result<bool, HostError> {
            Ok(false)
        }

        fn hold(&self, _: &str) -> Result<(), HostError> {
            Ok(())
        }

        fn unhold(&self, _: &str) -> Result<(), HostError> {
            Ok(())
        }
    }
}
