//! Loads the frame of a page: navigation, account and notice.

use windlass_control::ask::account;
use windlass_control::caller::Identity;
use windlass_control::clock::now;
use windlass_control::refusal::Refusal;
use windlass_core::proposal::Status;
use windlass_store::Reading;
use windlass_web::frame::{Frame, NavEntry};

use crate::http::auth::load_me;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;

/// The frame of a page for this person.
pub(super) async fn load(
    server: &Server,
    reading: &mut Reading,
    who: &Identity,
    visit: &BrowserRequest,
    place: NavEntry,
) -> Result<Frame, Refusal> {
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let counts = reading.proposals_count(&who.account_id).await?;
    let pending =
        counts.iter().filter(|(status, _)| *status == Status::PendingApproval).map(|(_, n)| n).sum();
    Ok(Frame {
        me: load_me(server, who).await?,
        csrf: visit.csrf(server),
        place,
        theme: visit.theme,
        pending,
        halted: account::info(&account).halted,
        notice: visit.notice.clone(),
        seen: visit.seen,
        now: now(),
    })
}
