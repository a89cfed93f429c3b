//! The outbox against a server that stores reports, with any order of losses, restarts and changes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use windlass_api::agent::{
    AgentEventKind, DriftedItem, HostFacts, MAX_EVENTS, MAX_REPORT_BYTES, NewerReport, ObservationBody,
    ReportBody, ReportReceipt,
};
use windlass_core::id::AgentId;

use super::outbox::{Outbox, ReportOccasion};
use super::view::{ApplyFailures, LookResult};
use super::view_tests::{at, document, drifted};

fn outbox() -> Outbox {
    Outbox::new(AgentId::new("a"), at(0))
}

/// A server as the protocol describes it.
#[derive(Default)]
struct Server {
    newest: (u64, u64),
    target: Option<ObservationBody>,
    modules: BTreeMap<String, (ObservationBody, Vec<DriftedItem>)>,
    events: Vec<String>,
    dropped: u64,
}

impl Server {
    fn store(&mut self, report: &ReportBody) -> ReportReceipt {
        let sequence = report.sequence;
        let mut receipt = stored(sequence);
        let order = (report.generation, sequence);
        if order <= self.newest {
            let (generation, sequence) = self.newest;
            receipt.newer = (order < self.newest).then_some(NewerReport { generation, sequence });
            return receipt;
        }
        self.newest = order;
        if report.complete {
            self.modules.clear();
        }
        self.target = Some(report.target.clone());
        for module in &report.modules {
            let drift = report.drift.iter().filter(|item| item.module == module.name).cloned().collect();
            self.modules.insert(module.name.clone(), (module.observation.clone(), drift));
        }
        self.events.extend(report.events.iter().map(|event| event.message.clone()));
        self.dropped += report.events_dropped;
        receipt
    }
}

/// The receipt of a report that was stored.
fn stored(sequence: u64) -> ReportReceipt {
    ReportReceipt { sequence, send_complete: false, newer: None }
}

fn prepared(outbox: &mut Outbox) -> Option<ReportBody> {
    outbox.prepare(ReportOccasion::Change, HostFacts::default).cloned()
}

fn exchange(outbox: &mut Outbox, server: &mut Server) {
    while let Some(report) = prepared(outbox) {
        let receipt = server.store(&report);
        outbox.acknowledge(&receipt, at(0));
    }
}

fn look(outbox: &mut Outbox, modules: &[&str], drift: &[(&str, &str)], millis: i64) -> bool {
    let document = document(modules);
    let drift = drift.iter().map(|(module, observed)| drifted(module, observed)).collect();
    let failures = ApplyFailures::default();
    let look = LookResult { document: &document, generation: 1, drift, failures, at: at(millis) };
    let view = outbox.view().after_look(look);
    outbox.show(view, 1)
}

#[test]
fn only_changed_modules_are_reported_and_a_look_that_finds_nothing_new_is_not() {
    let (mut outbox, mut server) = (outbox(), Server::default());
    assert!(look(&mut outbox, &["a", "b"], &[], 10));
    let first = prepared(&mut outbox).unwrap();
    assert!(first.complete && first.host.is_some());
    exchange(&mut outbox, &mut server);
    assert!(!look(&mut outbox, &["a", "b"], &[], 20));
    assert_eq!(prepared(&mut outbox), None);
    assert!(look(&mut outbox, &["a", "b"], &[("b", "0600")], 30));
    let second = prepared(&mut outbox).unwrap();
    let names: Vec<&str> = second.modules.iter().map(|module| module.name.as_str()).collect();
    assert_eq!((second.complete, names, second.drift.len()), (false, vec!["b"], 1));
    exchange(&mut outbox, &mut server);
    let refresh = outbox.prepare(ReportOccasion::Refresh, HostFacts::default).unwrap();
    assert_eq!((refresh.modules.len(), refresh.events.len()), (0, 0), "only the time of the last look");
}

#[test]
fn a_report_stays_the_same_until_it_is_acknowledged() {
    let mut outbox = outbox();
    outbox.push(at(1), AgentEventKind::Trouble, "first");
    let sent = prepared(&mut outbox).unwrap();
    outbox.push(at(2), AgentEventKind::Trouble, "second");
    look(&mut outbox, &["a"], &[], 10);
    assert_eq!(prepared(&mut outbox).unwrap(), sent);
    outbox.acknowledge(&stored(sent.sequence + 7), at(3));
    assert_eq!(prepared(&mut outbox).unwrap(), sent, "a receipt of another report acknowledges nothing");
    outbox.acknowledge(&ReportReceipt { send_complete: true, ..stored(sent.sequence) }, at(3));
    let next = prepared(&mut outbox).unwrap();
    assert_eq!((next.complete, next.events[0].message.as_str()), (true, "second"));
}

#[test]
fn events_are_bounded_and_what_is_dropped_is_counted() {
    let (mut outbox, mut server) = (outbox(), Server::default());
    for number in 0..3_000 {
        outbox.push(at(number), AgentEventKind::Trouble, &format!("{number}"));
    }
    let first = prepared(&mut outbox).unwrap();
    assert_eq!((first.events.len(), first.events_dropped), (MAX_EVENTS, 2_000));
    exchange(&mut outbox, &mut server);
    assert_eq!((server.events.len(), server.dropped), (1_000, 2_000));
    assert_eq!(
        (server.events[0].as_str(), server.events[999].as_str()),
        ("2000", "2999"),
        "the newest are kept"
    );
    for number in 0..3_000 {
        outbox.push(at(number), AgentEventKind::Trouble, &"x".repeat(900));
    }
    let report = prepared(&mut outbox).unwrap();
    assert!(serde_json::to_vec(&report).unwrap().len() < MAX_REPORT_BYTES);
    assert!(serde_json::to_vec(&outbox).unwrap().len() < 2 * MAX_REPORT_BYTES);
}

#[test]
fn a_report_that_the_server_never_stores_is_given_up_and_its_events_are_counted() {
    let (mut outbox, mut server) = (outbox(), Server::default());
    outbox.push(at(1), AgentEventKind::Trouble, "lost");
    let refused = prepared(&mut outbox).unwrap();
    outbox.give_up_sending();
    let next = prepared(&mut outbox).unwrap();
    assert!(next.sequence > refused.sequence && next.complete);
    exchange(&mut outbox, &mut server);
    assert_eq!((server.events.len(), server.dropped), (0, 1));
}

#[test]
fn numbers_rise_after_a_loss_of_the_newest_file() {
    let mut outbox = outbox();
    let written = serde_json::to_string(&outbox).unwrap();
    let last = (0..5).map(|_| {
        outbox.push(at(1), AgentEventKind::Trouble, "x");
        let sequence = prepared(&mut outbox).unwrap().sequence;
        outbox.acknowledge(&stored(sequence), at(0));
        sequence
    });
    let last = last.max().unwrap();
    let older: Outbox = serde_json::from_str(&written).unwrap();
    assert!(prepared(&mut older.resumed_after_loss()).unwrap().sequence > last);
}

#[test]
fn an_agent_that_lost_every_file_learns_from_its_server_where_to_continue() {
    let (mut before, mut server) = (outbox(), Server::default());
    for millis in 1..5 {
        look(&mut before, &["a", "b"], &[("a", &millis.to_string())], millis);
        exchange(&mut before, &mut server);
    }
    let mut anew = outbox();
    anew.push(at(1), AgentEventKind::Trouble, "damaged");
    look(&mut anew, &["a"], &[], 1);
    exchange(&mut anew, &mut server);
    assert_eq!(server.events, ["damaged"]);
    assert_eq!(server.modules.keys().collect::<Vec<_>>(), ["a"]);
    assert_eq!(server.modules["a"].1, []);
}

/// What can happen to an agent.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Look {
        drift_a: u8,
        drift_b: u8,
        modules: u8,
    },
    Event,
    Apply,
    /// The report gets lost, or only the receipt does.
    SendInVain {
        stored: bool,
    },
    Send,
    Restart,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (0..3_u8, 0..3_u8, 1..4_u8).prop_map(|(drift_a, drift_b, modules)| Happening::Look {
            drift_a,
            drift_b,
            modules
        }),
        Just(Happening::Event),
        Just(Happening::Apply),
        any::<bool>().prop_map(|stored| Happening::SendInVain { stored }),
        Just(Happening::Send),
        Just(Happening::Restart),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_the_server_ends_with_what_the_agent_sees_and_with_every_event_once(
        happenings in proptest::collection::vec(any_happening(), 0..40),
    ) {
        let (mut outbox, mut server) = (outbox(), Server::default());
        let mut events = Vec::new();
        for (millis, happening) in (1..).zip(happenings) {
            match happening {
                Happening::Look { drift_a, drift_b, modules } => {
                    let modes = ["", "0600", "0666"];
                    let mut drift = Vec::new();
                    if drift_a > 0 { drift.push(("a", modes[usize::from(drift_a)])); }
                    if drift_b > 0 && modules > 1 { drift.push(("b", modes[usize::from(drift_b)])); }
                    let names = &["a", "b", "c"][..usize::from(modules)];
                    let is_smaller = outbox.view().modules.len() > names.len();
                    look(&mut outbox, names, &drift, millis);
                    // Modules leave with a new generation only, and after that the report is complete.
                    if is_smaller { outbox.request_complete(); }
                }
                Happening::Event => {
                    events.push(millis.to_string());
                    outbox.push(at(millis), AgentEventKind::Trouble, &millis.to_string());
                }
                Happening::Apply => outbox.request_complete(),
                Happening::SendInVain { stored } => {
                    if let Some(report) = prepared(&mut outbox) && stored {
                        server.store(&report);
                    }
                }
                Happening::Send => {
                    if let Some(report) = prepared(&mut outbox) {
                        let receipt = server.store(&report);
                        outbox.acknowledge(&receipt, at(millis));
                    }
                }
                Happening::Restart => {
                    let written = serde_json::to_string(&outbox).unwrap();
                    outbox = serde_json::from_str::<Outbox>(&written).unwrap().resumed();
                }
            }
        }
        exchange(&mut outbox, &mut server);
        prop_assert_eq!(prepared(&mut outbox), None, "nothing is left to say");
        prop_assert_eq!(&server.events, &events);
        let view = outbox.view();
        let names: Vec<&String> = server.modules.keys().collect();
        prop_assert_eq!(names, view.modules.keys().collect::<Vec<_>>());
        for (name, (observation, drift)) in &server.modules {
            // The server may have an older time of the last look.
            let failure_and_drift = (&view.modules[name].failure, view.drift.iter().filter(|item| item.module == *name).cloned().collect::<Vec<_>>());
            prop_assert_eq!((&observation.failure, drift.clone()), failure_and_drift);
        }
    }
}
