//! Accepted differences, and whether an acceptance is still valid.

use crate::digest::Digest;
use crate::resource::{ResourceKey, ResourceMap};
use crate::time::Timestamp;

/// A difference that someone accepted. It is valid while both sides stay the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The resource.
    pub key: ResourceKey,
    /// The desired digest.
    pub desired: Option<Digest>,
    /// The accepted digest.
    pub accepted: Option<Digest>,
    /// The time of its expiry; `None` if it does not expire.
    pub until: Option<Timestamp>,
    /// The reason.
    pub reason: String,
    /// Who accepted it.
    pub by: String,
    /// The time.
    pub at: Timestamp,
}

impl Acceptance {
    /// Whether it covers exactly this difference and has not expired. This is the only place that decides it; the
    /// caller has selected the resource.
    pub fn holds(&self, desired: Option<Digest>, accepted: Option<Digest>, now: Timestamp) -> bool {
        self.desired == desired && self.accepted == accepted && is_current(self.until, now)
    }
}

/// Whether an acceptance with this expiry has not expired.
pub(super) fn is_current(until: Option<Timestamp>, now: Timestamp) -> bool {
    until.is_none_or(|until| until > now)
}

/// The acceptances of one repository.
#[derive(Clone, Debug, Default)]
pub struct Acceptances(ResourceMap<Acceptance>);

impl Acceptances {
    /// The acceptance of this difference, if it is valid.
    pub fn of(
        &self,
        key: &ResourceKey,
        desired: Option<Digest>,
        accepted: Option<Digest>,
        now: Timestamp,
    ) -> Option<&Acceptance> {
        self.0.get(key.kind, &key.name).filter(|acceptance| acceptance.holds(desired, accepted, now))
    }
}

impl FromIterator<Acceptance> for Acceptances {
    fn from_iter<I: IntoIterator<Item = Acceptance>>(acceptances: I) -> Acceptances {
        Acceptances(acceptances.into_iter().map(|acceptance| (acceptance.key.clone(), acceptance)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Kind;

    #[test]
    fn an_acceptance_is_valid_for_one_difference_until_it_expires() {
        let (git, other) = (Some(Digest::of(b"git")), Some(Digest::of(b"other")));
        let key = ResourceKey::new(Kind::Node, "edge-01");
        let at = |seconds: i64| Timestamp::from_millis(seconds * 1000);
        let acceptance = |until| Acceptance {
            key: key.clone(),
            desired: git,
            accepted: other,
            until,
            reason: "a trial".to_owned(),
            by: "ann@acme.test".to_owned(),
            at: at(0),
        };
        let timed: Acceptances = [acceptance(Some(at(10)))].into_iter().collect();
        assert!(timed.of(&key, git, other, at(9)).is_some());
        for (desired, accepted, now) in
            [(git, other, 10), (other, other, 9), (git, git, 9), (None, other, 9), (git, None, 9)]
        {
            assert!(timed.of(&key, desired, accepted, at(now)).is_none(), "{desired:?} {accepted:?} {now}");
        }
        assert!(timed.of(&ResourceKey::new(Kind::Node, "edge-02"), git, other, at(9)).is_none());
        let endless: Acceptances = [acceptance(None)].into_iter().collect();
        assert!(endless.of(&key, git, other, at(1_000_000)).is_some());
    }
}
