//! Tests that a caller without the permission to approve cannot cause Windlass to apply anything. Random sequences of every
//! request that changes something, by such callers, alternate with pushes and with actions of approvers, under random
//! policies. After every step, no accepted resource may have changed unless the [`oracle`] finds that someone allowed
//! exactly that content.
//!
//! `WINDLASS_GATE_SEQUENCES` sets the number of sequences, `WINDLASS_GATE_SEED` the first seed. A failure prints its seed
//! and the whole sequence.

pub(crate) mod approvals;
pub(crate) mod chance;
pub(crate) mod installation;
pub(crate) mod oracle;
pub(crate) mod requests;
pub(crate) mod sequence;

use crate::gate_machine::installation::Installation;
use crate::gate_machine::sequence::Sequence;

/// The number of sequences in the normal test command: a few seconds.
const SHORT: u64 = 200;

/// The number of accounts in one database. A database with many more is slow, which is not the subject of this test.
const ACCOUNTS: usize = 100;

/// The cap of open proposals: all of a plan, or fewer, so that the others are proposed later.
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
    // If nothing of a sort ever happened, the test would prove nothing about it.
    assert!(
        seen.by_rule > 0 && seen.by_people > 0 && seen.sets > 0 && seen.direct > 0 && seen.refused > 0,
        "{seen:?}"
    );
    println!("{count} sequences from seed {first}: {seen:?}");
}
