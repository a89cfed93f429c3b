//! Nobody who may not approve can make something be applied: random sequences of every request that changes something, by
//! callers without that permission, between pushes and what approvers do, over random policies. After every step, no
//! accepted resource may have changed unless the [`oracle`] knows who allowed exactly that content.
//!
//! `WINDLASS_GATE_SEQUENCES` says how many sequences run, `WINDLASS_GATE_SEED` which is the first; a failure names its
//! seed and tells the whole sequence.

pub(crate) mod approvals;
pub(crate) mod chance;
pub(crate) mod installation;
pub(crate) mod oracle;
pub(crate) mod requests;
pub(crate) mod sequence;

use crate::gate_machine::installation::Installation;
use crate::gate_machine::sequence::Sequence;

/// Sequences in the normal test command: a few seconds.
const SHORT: u64 = 200;

/// Accounts of one database: one of many more is slow for reasons that are not tested here.
const ACCOUNTS: usize = 100;

/// Proposals open at a time: all, or fewer than a plan may have, so that others wait for their turn.
const MANY: usize = 100;

const FEW: usize = 1;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test]
async fn no_accepted_resource_changes_unless_someone_who_may_approve_allowed_exactly_that() {
    let first = setting("WINDLASS_GATE_SEED", 1);
    let count = setting("WINDLASS_GATE_SEQUENCES", SHORT);
    let mut seen = sequence::SequenceTally::default();
    let mut installation = Installation::new(MANY).await;
    for (done, seed) in (first..first.saturating_add(count)).enumerate() {
        if done > 0 && done % ACCOUNTS == 0 {
            let cap = if (done / ACCOUNTS).is_multiple_of(2) { MANY } else { FEW };
            installation = Installation::new(cap).await;
        }
        let tally = Sequence::begin(&installation, seed).await.run().await;
        seen.add(&tally);
    }
    // A machine in which nothing ever happens would prove nothing.
    assert!(
        seen.by_rule > 0 && seen.by_people > 0 && seen.sets > 0 && seen.direct > 0 && seen.refused > 0,
        "{seen:?}"
    );
    println!("{count} sequences from seed {first}: {seen:?}");
}
