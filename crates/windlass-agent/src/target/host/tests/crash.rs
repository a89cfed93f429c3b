//! A crash at every step in turn, and a second run: the result equals that without the crash.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{Desired, Host, web, web_host};
use crate::target::host::{Scope, StepHook};

/// A hook that stops the agent at this step, and a counter of the steps.
fn crash_at(step: usize) -> (StepHook, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let hook = StepHook::new(move |_| {
        if counter.fetch_add(1, Ordering::SeqCst) == step {
            resume_unwind(Box::new("crash"));
        }
    });
    (hook, count)
}

fn host_before() -> Host {
    let host = web_host();
    host.write("/etc/nginx/nginx.conf", "original\n");
    host.write("/srv/note", "kept\n");
    host
}

fn first(host: &Host) -> Desired {
    let mut one = web("one\n");
    one["files"]["/etc/old/file"] = json!({"content": "old"});
    one["files"]["/opt/type"] = json!({"content": "a file"});
    one["timers"]["weekly"] = json!({"schedule": "@weekly", "command": "one"});
    host.one(one)
}

fn second(host: &Host) -> Desired {
    let mut two = web("two\n");
    two["packages"] = json!(["nginx=1.27.*", "curl"]);
    two["directories"]["/opt/type"] = json!({"mode": "0700"});
    two["files"]["/opt/type/file"] = json!({"content": "below"});
    two["sysctl"] = json!({"net.ipv4.ip_forward": 0, "vm.swappiness": 10});
    two["timers"] = json!({"weekly": {"schedule": "@weekly", "command": "two"}});
    host.one(two)
}

/// Applies `one`, then crashes at a step of `two`, and runs it again. Returns whether the step exists.
fn check(step: usize, expected: &std::collections::BTreeMap<String, String>) -> bool {
    let host = host_before();
    let original = host.snapshot();
    host.apply(&first(&host));
    let two = second(&host);
    let (hook, _) = crash_at(step);
    let target = host.target_with_steps(hook);
    let run = catch_unwind(AssertUnwindSafe(|| {
        target.apply(&two.document, &two.state, Scope::WholeState).unwrap()
    }));
    if run.is_ok() {
        return false;
    }
    let report = host.target().apply(&two.document, &two.state, Scope::WholeState).unwrap();
    assert!(report.is_converged(), "step {step}: {report:#?}");
    assert_eq!(&host.snapshot(), expected, "step {step}");
    assert!(host.service("nginx").reloads >= 1, "step {step}: the reload is not lost");
    let timer = host.service("windlass-weekly.timer");
    assert!(timer.restarts >= 1, "step {step}: the timer follows its new units");
    assert!(host.apply(&two).changes().next().is_none(), "step {step}");
    host.apply(&host.one(json!({})));
    assert_eq!(host.snapshot(), original, "step {step}: removal restores what was there");
    true
}

#[test]
fn a_crash_at_any_step_and_another_run_give_the_same_result() {
    let host = host_before();
    host.apply(&first(&host));
    let (hook, count) = crash_at(usize::MAX);
    let two = second(&host);
    host.target_with_steps(hook).apply(&two.document, &two.state, Scope::WholeState).unwrap();
    let steps = count.load(Ordering::SeqCst);
    assert!(steps > 100, "{steps}");
    let expected = host.snapshot();
    for step in 0..steps {
        assert!(check(step, &expected), "step {step} exists");
    }
}

#[test]
fn a_crash_in_the_first_run_and_another_state_leave_no_trace() {
    let host = host_before();
    let (hook, count) = crash_at(usize::MAX);
    let one = first(&host);
    host.target_with_steps(hook).apply(&one.document, &one.state, Scope::WholeState).unwrap();
    for step in 0..count.load(Ordering::SeqCst) {
        let host = host_before();
        let original = host.snapshot();
        let (hook, _) = crash_at(step);
        let target = host.target_with_steps(hook);
        assert!(
            catch_unwind(AssertUnwindSafe(|| target.apply(&one.document, &one.state, Scope::WholeState)))
                .is_err()
        );
        let report = host.apply_with_failures(&host.one(Value::Object(Default::default())));
        assert!(report.is_converged(), "step {step}: {report:#?}");
        assert_eq!(host.snapshot(), original, "step {step}: torn files are removed");
    }
}
