//! Waiting until an approved change is applied.

use std::time::Duration;

use windlass_core::id::ProposalId;
use windlass_core::proposal::Status;

use crate::caller::Identity;
use crate::control::Control;
use crate::refusal::Refusal;

/// The longest wait for an apply, in seconds.
const LONGEST_WAIT: u64 = 60;

/// Starts a turn of applying, and waits until this change is applied or blocked, or `wait` seconds have passed.
pub async fn wait_until_applied(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
    wait: Option<u64>,
) -> Result<(), Refusal> {
    let seconds = wait.unwrap_or(10).min(LONGEST_WAIT);
    let deadline = tokio::time::Instant::now() + Duration::from_secs(seconds);
    let mut turns = server.apply_turns().subscribe();
    let mut writes = server.watch_writes();
    let before = turns.borrow().begun;
    server.nudges().apply.notify_one();
    loop {
        // Only a turn that began after the nudge shows what blocks the change now.
        let is_evaluated = turns.borrow_and_update().ended > before;
        writes.borrow_and_update();
        let proposal = server.store().read().await?.proposal(&who.account_id, id).await?;
        let proposal = proposal.ok_or_else(Refusal::not_found)?;
        if proposal.status == Status::PendingApproval {
            let message = "the proposal is not approved";
            let help = "approve it first";
            return Err(Refusal::conflict("not-approved", message, help));
        }
        let is_blocked = is_evaluated && !proposal.blocked_by.is_empty();
        let is_over = !proposal.status.is_open() || is_blocked;
        if is_over || tokio::time::Instant::now() >= deadline {
            return Ok(());
        }
        // This server is notified of another replica's writes, not of its turns. It checks every second in case it misses one.
        let next = deadline.min(tokio::time::Instant::now() + Duration::from_secs(1));
        tokio::select! {
            _ = turns.changed() => {}
            _ = writes.changed() => {}
            () = tokio::time::sleep_until(next) => {}
        }
    }
}
