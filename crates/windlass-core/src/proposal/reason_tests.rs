//! Every reason has a word and a sentence, and is read back from the database as it was written.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{CloseReason, CloseReasonKind, ProposedAgain};
use crate::blocked_by::{BlockedBy, BlockedByKind};
use crate::conflict::{Conflict, HeldBy};
use crate::gate::{
    BlockingRule, ContributorRole, ContributorsGap, FailedSync, GateReason, GateReasonKind, Halt,
    IgnoredApproval, PolicyWindow, WindowOpening,
};
use crate::resource::{Kind, ResourceKey};
use crate::shape::Decoder;
use crate::states::Spelled;
use crate::time::Timestamp;

/// What a person, a policy or a database may have written, reasons of ours among it.
fn words() -> BoxedStrategy<String> {
    prop_oneof![
        any::<String>(),
        select(vec![
            "",
            "no",
            "git changed since this was proposed",
            "{\"kind\":\"git_moved\"}",
            "{",
            "null",
            "[]"
        ])
        .prop_map(str::to_owned),
    ]
    .boxed()
}

fn key() -> impl Strategy<Value = ResourceKey> {
    (select(Kind::ALL), words()).prop_map(|(kind, name)| ResourceKey::new(kind, name))
}

fn held_by() -> impl Strategy<Value = HeldBy> {
    prop_oneof![proptest::option::of(words()).prop_map(HeldBy::Owner), words().prop_map(HeldBy::Proposer)]
}

fn range() -> impl Strategy<Value = ipnet::IpNet> {
    let ranges = ["10.1.2.0/24", "10.1.2.3/32", "0.0.0.0/0", "fd00::/8", "2001:db8::1/128"];
    select(ranges.to_vec()).prop_map(|range| range.parse().expect("a range"))
}

fn conflict() -> impl Strategy<Value = Conflict> {
    prop_oneof![
        (key(), held_by()).prop_map(|(key, held_by)| Conflict::Name { key, held_by }),
        (key(), words()).prop_map(|(key, repository)| Conflict::Dependency { key, repository }),
        (range(), range(), key(), held_by()).prop_map(|(wanted, held, key, held_by)| Conflict::Addresses {
            wanted,
            held,
            key,
            held_by
        }),
        (range(), range(), key(), held_by())
            .prop_map(|(cidr, held, key, held_by)| Conflict::ExcludesAddress { cidr, held, key, held_by }),
        (range(), words(), range()).prop_map(|(wanted, network, cidr)| Conflict::OutsideNetwork {
            wanted,
            network,
            cidr
        }),
    ]
}

fn opening() -> impl Strategy<Value = WindowOpening> {
    select(vec!["UTC", "Europe/Berlin", "Asia/Kolkata"]).prop_map(|zone| {
        use crate::shape::Shape as _;
        let text = format!("{{days: [sat], from: \"22:00\", to: \"02:00\", timezone: {zone}}}");
        let (tree, _) = crate::yaml::parse(&text);
        let tree = tree.expect("a tree");
        let window = PolicyWindow::decode(tree.root(), &mut Decoder::default()).expect("a window");
        window.next_opening(Timestamp::from_millis(1_700_000_000_123)).expect("it opens every week")
    })
}

fn moment() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000_000).prop_map(Timestamp::from_millis)
}

fn blocked_by() -> BoxedStrategy<BlockedBy> {
    prop_oneof![
        conflict().prop_map(BlockedBy::Conflict),
        key().prop_map(|by| BlockedBy::StillReferenced { by }),
        key().prop_map(|key| BlockedBy::MissingResource { key }),
        words().prop_map(|platform| BlockedBy::MissingPlatform { platform }),
        (words(), words()).prop_map(|(module, state)| BlockedBy::NoVersion { module, state }),
        (words(), words()).prop_map(|(module, version)| BlockedBy::VersionReused { module, version }),
        words().prop_map(|name| BlockedBy::VersionNotMade { name }),
        (words(), words()).prop_map(|(from, to)| BlockedBy::VersionBack { from, to }),
        proptest::option::of(opening()).prop_map(|next| BlockedBy::OutsideWindows { next }),
        (words(), words(), moment()).prop_map(|(by, reason, since)| BlockedBy::Halted(Halt {
            by,
            reason,
            since
        })),
        (words(), words())
            .prop_map(|(repository, reason)| BlockedBy::SyncFailed(FailedSync { repository, reason })),
        (words(), words()).prop_map(|(rule, reason)| BlockedBy::Policy(BlockingRule { rule, reason })),
        any::<u32>().prop_map(|count| BlockedBy::More { count: count as usize }),
        words().prop_map(BlockedBy::Text),
    ]
    .boxed()
}

fn ignored() -> impl Strategy<Value = IgnoredApproval> {
    prop_oneof![
        Just(IgnoredApproval::OtherContent),
        words().prop_map(IgnoredApproval::Lapsed),
        Just(IgnoredApproval::NoApprover),
        select(ContributorRole::ALL).prop_map(IgnoredApproval::Contributor),
    ]
}

fn gate_reason() -> BoxedStrategy<GateReason> {
    prop_oneof![
        (words(), 1_usize..10, words()).prop_map(|(rule, approvals, reason)| GateReason::RuleAsks {
            rule,
            approvals,
            reason
        }),
        (1_usize..10).prop_map(|approvals| GateReason::NoRule { approvals }),
        (1_usize..10).prop_map(|approvals| GateReason::OwnedElsewhere { approvals }),
        (1_usize..10).prop_map(|approvals| GateReason::Edited { approvals }),
        (1_usize..10).prop_map(|approvals| GateReason::Direct { approvals }),
        (words(), select(ContributorsGap::ALL))
            .prop_map(|(rule, gap)| GateReason::ContributorsUnknown { rule, gap }),
        (words(), ignored()).prop_map(|(approver, why)| GateReason::ApprovalIgnored { approver, why }),
    ]
    .boxed()
}

fn close_reason() -> BoxedStrategy<CloseReason> {
    let plain = [
        CloseReason::GitMoved,
        CloseReason::AcceptedMoved,
        CloseReason::AcceptedMovedSinceApproval,
        CloseReason::MadeByHand,
        CloseReason::NoDifference,
        CloseReason::ReplacedByDirectChange,
        CloseReason::OwnerChanged,
        CloseReason::RepositoryGone,
        CloseReason::RepositoryRemoved,
        CloseReason::OwnerRemoved,
        CloseReason::RepositorySourceChanged,
        CloseReason::RepositoryMoved,
        CloseReason::RepositoryReturned,
    ];
    let again = || select(vec![ProposedAgain::BySync, ProposedAgain::ByAuthor]);
    prop_oneof![
        13 => select(plain.to_vec()),
        1 => again().prop_map(|again| CloseReason::NotDecided { again }),
        1 => (vec(blocked_by(), 0..3), again())
            .prop_map(|(blocked_by, again)| CloseReason::NotApplied { blocked_by, again }),
        1 => vec(gate_reason(), 0..3).prop_map(|reasons| CloseReason::ApprovalsMissing { reasons }),
        1 => words().prop_map(|error| CloseReason::ApplyFailed { error }),
        1 => words().prop_map(|text| CloseReason::OwnWords { text }),
        1 => words().prop_map(|text| CloseReason::Text { text }),
    ]
    .boxed()
}

/// Enough of something made up that every kind of it is among them.
fn many<T: std::fmt::Debug>(made_up: &BoxedStrategy<T>) -> Vec<T> {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    (0..2000).map(|_| made_up.new_tree(&mut runner).expect("a reason").current()).collect()
}

/// Each kind is among the reasons, with a sentence, and is stored under its own word.
fn check_kinds<K: Spelled + std::fmt::Debug>(reasons: Vec<(K, String, Value)>) {
    for kind in K::WORDS {
        let of_kind: Vec<_> = reasons.iter().filter(|(other, _, _)| other == kind).collect();
        assert!(of_kind.iter().any(|(_, sentence, _)| !sentence.is_empty()), "{kind:?} has a sentence");
        for (_, sentence, stored) in of_kind.iter().filter(|(_, _, stored)| !stored.is_string()) {
            assert_eq!(stored["kind"], kind.spelling(), "{sentence}");
        }
    }
}

fn stored<T: serde::Serialize>(reason: &T) -> Value {
    serde_json::to_value(reason).expect("a document")
}

#[test]
fn every_kind_of_reason_has_a_sentence_and_a_stored_word() {
    let blocked = many(&blocked_by());
    check_kinds(blocked.iter().map(|it| (it.kind(), it.to_string(), stored(it))).collect());
    let closed = many(&close_reason());
    check_kinds(closed.iter().map(|it| (it.kind(), it.to_string(), stored(it))).collect());
    let asked = many(&gate_reason());
    check_kinds(asked.iter().map(|it| (it.kind(), it.to_string(), stored(it))).collect());
    assert_eq!(
        (BlockedByKind::NAME, CloseReasonKind::NAME, GateReasonKind::NAME),
        ("BlockedBy", "CloseReason", "GateReason")
    );
}

proptest! {
    #[test]
    fn a_blocker_is_read_back_as_it_was_stored(reasons in vec(blocked_by(), 0..4)) {
        let text = stored(&reasons).to_string();
        prop_assert_eq!(serde_json::from_str::<Vec<BlockedBy>>(&text).expect("a list"), reasons);
    }

    #[test]
    fn a_close_reason_is_read_back_as_it_was_stored(reason in close_reason()) {
        prop_assert_eq!(CloseReason::from_stored(&reason.to_stored()), reason);
    }

    #[test]
    fn a_reason_of_an_earlier_version_is_read_back_as_text(text in any::<String>()) {
        let list = json!([text]).to_string();
        let read: Vec<BlockedBy> = serde_json::from_str(&list).expect("a list");
        prop_assert_eq!(&read, &[BlockedBy::Text(text.clone())]);
        prop_assert_eq!(BlockedBy::sentences(&read), [text.clone()]);
        prop_assert_eq!(CloseReason::from_stored(&text).to_string(), text);
    }
}

#[test]
fn a_stored_kind_that_is_not_known_is_an_error_and_not_text() {
    assert!(serde_json::from_str::<Vec<BlockedBy>>(r#"[{"kind":"weather"}]"#).is_err());
    assert!(serde_json::from_str::<Vec<BlockedBy>>("[7]").is_err());
}

#[test]
fn sentences_are_what_people_read_before() {
    let node = ResourceKey::new(Kind::Node, "a");
    let told = |reason: BlockedBy| reason.to_string();
    assert_eq!(told(BlockedBy::StillReferenced { by: node.clone() }), "node a still refers to it");
    assert_eq!(told(BlockedBy::MissingResource { key: node.clone() }), "node a does not exist yet");
    assert_eq!(told(BlockedBy::More { count: 7 }), "and 7 more");
    let blocked_by = vec![BlockedBy::MissingResource { key: node }, BlockedBy::More { count: 2 }];
    let late = CloseReason::NotApplied { blocked_by, again: ProposedAgain::BySync };
    let expected = "it was approved but could not be applied in time: node a does not exist yet; and 2 more; \
                    the next sync proposes it again";
    assert_eq!(late.to_string(), expected);
    let late = CloseReason::NotDecided { again: ProposedAgain::ByAuthor };
    assert_eq!(late.to_string(), "nobody decided in time; request it again if it is still needed");
}
