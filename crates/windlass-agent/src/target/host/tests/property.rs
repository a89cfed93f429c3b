use proptest::prelude::*;
use serde_json::{Value, json};

use super::Host;
use crate::target::host::Scope;

/// What is at a path that did not exist before.
fn free_path(base: &'static str) -> impl Strategy<Value = Value> {
    let below = format!("{base}/deep/file");
    let text = prop_oneof![Just("one\n"), Just("two\n")];
    let mode = prop_oneof![Just("0750"), Just("0700")];
    (0..6, text, mode).prop_map(move |(choice, text, mode)| match choice {
        0 => json!({}),
        1 => json!({"files": {base: {"content": text, "mode": mode}}}),
        2 => json!({"links": {base: {"to": "/etc"}}}),
        3 => json!({"directories": {base: {"mode": mode}}}),
        4 => json!({"directories": {base: {"mode": mode}}, "files": {&below: {"content": text}}}),
        _ => json!({"files": {&below: {"content": text}}}),
    })
}

/// What is at a path that was a file before.
fn used_path() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"files": {"/etc/used": {"content": "one\n"}}})),
        Just(json!({"files": {"/etc/used": {"content": "original\n", "mode": "0600"}}})),
        Just(json!({"links": {"/etc/used": {"to": "/etc/other"}}})),
    ]
}

fn other_items() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"packages": ["a=1.*"], "hold": ["a"], "sysctl": {"a.b": 1}})),
        Just(json!({"packages": ["a=2.*", "b"], "sysctl": {"a.b": 2, "a.c": 1}})),
        Just(json!({"services": {"s": {"reload_on": ["/etc/used"]}}})),
        Just(
            json!({"services": {"s": {"state": "stopped"}}, "timers": {"t": {"schedule": "@daily", "command": "x"}}})
        ),
    ]
}

type Modules = Vec<Value>;

fn modules() -> impl Strategy<Value = Modules> {
    (free_path("/srv/x"), free_path("/opt/y"), used_path(), other_items())
        .prop_map(|(x, y, used, other)| vec![x, y, used, other])
        .prop_shuffle()
}

fn desired(host: &Host, modules: &Modules) -> super::Desired {
    const NAMES: [&str; 4] = ["one", "two", "three", "four"];
    let named = NAMES.iter().zip(modules).map(|(name, spec)| (*name, &[][..], json!({"host": spec})));
    host.desired(&named.collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn going_to_another_state_and_back_restores_the_host(a in modules(), b in modules()) {
        let host = Host::new();
        host.write("/etc/used", "original\n");
        let original = host.snapshot();
        let apply = |modules: &Modules| {
            let desired = desired(&host, modules);
            let report = host.target().apply(&desired.document, &desired.state, Scope::WholeState).unwrap();
            prop_assert!(report.is_converged(), "{report:#?}");
            prop_assert_eq!(host.target().observe(&desired.document, &desired.state), []);
            let again = host.target().apply(&desired.document, &desired.state, Scope::WholeState).unwrap();
            prop_assert!(again.changes().next().is_none(), "{again:#?}");
            Ok(host.snapshot())
        };
        let first = apply(&a)?;
        apply(&b)?;
        prop_assert_eq!(apply(&a)?, first);
        prop_assert_eq!(apply(&Vec::new())?, original);
    }
}
