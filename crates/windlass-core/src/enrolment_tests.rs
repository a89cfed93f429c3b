use super::*;
use crate::resource::{Kind, Spec};

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(0).plus(Duration::from_secs(seconds))
}

fn node(labels: &str) -> NodeSpec {
    let text = format!(r#"{{"template": "edge", "labels": {labels}}}"#);
    match Spec::read(Kind::Node, &text).spec {
        Some(Spec::Node(node)) => node,
        other => panic!("{other:?}"),
    }
}

fn selector(labels: &[(&str, &str)], name: Option<&str>) -> NodeSelector {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    NodeSelector::new(labels, name.map(str::to_owned)).expect("a valid selector")
}

fn token() -> EnrolmentToken {
    EnrolmentToken {
        id: EnrolmentTokenId::new("t"),
        account_id: AccountId::new("acme"),
        scope: EnrolmentScope::Target(ResourceKey::new(Kind::Node, "edge-01")),
        policy: JoinPolicy::Auto,
        max_uses: 1,
        uses: 0,
        created_by: "ada".to_owned(),
        created_at: at(0),
        expires_at: at(3600),
        revoked_at: None,
    }
}

#[test]
fn a_selector_needs_every_label_and_the_name() {
    let prod = node(r#"{"env": "prod", "tier": "edge"}"#);
    assert!(selector(&[("env", "prod")], None).selects("edge-01", &prod));
    assert!(selector(&[("env", "prod"), ("tier", "edge")], Some("edge-*")).selects("edge-01", &prod));
    assert!(!selector(&[("env", "prod")], Some("db-*")).selects("edge-01", &prod));
    assert!(!selector(&[("env", "prod"), ("tier", "db")], None).selects("edge-01", &prod));
    assert!(!selector(&[("env", "prod")], None).selects("edge-01", &node("{}")));
    assert!(selector(&[], Some("*")).selects("anything", &node("{}")));
}

#[test]
fn a_selector_that_says_nothing_or_is_malformed_is_rejected() {
    let labels = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    assert!(NodeSelector::new(BTreeMap::new(), None).is_err());
    assert!(NodeSelector::new(labels("not a key", "x"), None).is_err());
    assert!(NodeSelector::new(labels("env", "not a value"), None).is_err());
    assert!(NodeSelector::new(BTreeMap::new(), Some(String::new())).is_err());
    let many = (0..17).map(|number| (format!("l{number}"), "x".to_owned())).collect();
    assert!(NodeSelector::new(many, None).is_err());
}

#[test]
fn a_selector_reads_back_as_it_was_stored_and_prints_as_it_is_typed() {
    let selector = selector(&[("env", "prod")], Some("edge-*"));
    let stored = serde_json::to_string(&selector).expect("JSON");
    assert_eq!(serde_json::from_str::<NodeSelector>(&stored).expect("what was written"), selector);
    assert_eq!(selector.to_string(), "env=prod,name=edge-*");
}

#[test]
fn only_someone_who_may_approve_lets_an_agent_enrol_at_once() {
    let approver = BTreeSet::from([Permission::FleetWrite, Permission::GitopsApprove]);
    let operator = BTreeSet::from([Permission::FleetWrite]);
    for asked in [None, Some(JoinPolicy::Auto), Some(JoinPolicy::Approve)] {
        assert_eq!(JoinPolicy::of_new_token(asked, &approver), asked.unwrap_or(JoinPolicy::Auto));
        assert_eq!(JoinPolicy::of_new_token(asked, &operator), JoinPolicy::Approve);
    }
}

#[test]
fn a_token_admits_until_it_is_used_expired_or_revoked() {
    let fresh = token();
    assert_eq!(fresh.admit(at(3599)), Ok(()));
    assert_eq!(fresh.admit(at(3600)), Err(EnrolmentRefusal::ExpiredToken));
    let used = EnrolmentToken { uses: 1, ..token() };
    assert_eq!(used.admit(at(1)), Err(EnrolmentRefusal::UsedToken));
    assert_eq!(used.admit(at(3600)), Err(EnrolmentRefusal::UsedToken), "used is what happened first");
    let revoked = EnrolmentToken { revoked_at: Some(at(5)), ..token() };
    assert_eq!(revoked.admit(at(6)), Err(EnrolmentRefusal::RevokedToken));
    let several = EnrolmentToken { max_uses: 3, uses: 2, ..token() };
    assert_eq!(several.admit(at(1)), Ok(()));
}

#[test]
fn an_expired_certificate_admits_a_renewal_for_thirty_days() {
    let (begin, end) = (at(600), at(1000));
    let month = RENEWABLE_AFTER_EXPIRY.as_secs();
    for (now, expected) in [
        (599, CertificateValidity::Invalid),
        (600, CertificateValidity::Valid),
        (999, CertificateValidity::Valid),
        (1000, CertificateValidity::RenewOnly),
        (999 + month, CertificateValidity::RenewOnly),
        (1000 + month, CertificateValidity::Invalid),
    ] {
        assert_eq!(certificate_validity(begin, end, at(now)), expected, "{now}");
    }
}

#[test]
fn a_certificate_is_renewed_after_two_thirds_of_its_life() {
    let day = CERTIFICATE_LIFETIME.as_secs();
    assert_eq!(renew_after_seconds(at(day), at(0)), 16 * 3600);
    assert_eq!(renew_after_seconds(at(day), at(15 * 3600)), 3600);
    assert_eq!(renew_after_seconds(at(day), at(20 * 3600)), 0);
    assert_eq!(renew_after_seconds(at(day), at(2 * day)), 0);
}
