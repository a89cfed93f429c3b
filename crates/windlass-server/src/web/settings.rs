//! The account, one's own, and the kill switch.

use axum::extract::State;
use windlass_control::ask::account;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::settings::Settings;

use crate::http::request::Answer;
use crate::state::Server;
use crate::web::form::Form;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

pub(super) async fn show(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    let mut reading = server.store().read().await?;
    let account = reading.account(&who.account_id).await?.ok_or_else(Refusal::not_found)?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Settings).await?;
    drop(reading);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    answer::page(&visit, &Settings { frame, account: account::info(&account), version })
}

pub(super) async fn halt(State(server): State<Server>, who: Identity, visit: Visit, form: Form) -> Answer {
    let Some(reason) = form.filled("reason") else {
        let notice = Notice::new(Tone::Warn, "Enter a reason to halt applying");
        return answer::go_saying(&server, &visit, "/app/settings", &notice);
    };
    account::pull_switch(&server, &who, reason).await?;
    answer::go_saying(&server, &visit, "/app/settings", &Notice::new(Tone::Good, "Applying is halted"))
}

pub(super) async fn resume(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    account::release_switch(&server, &who).await?;
    answer::go_saying(&server, &visit, "/app/settings", &Notice::new(Tone::Good, "Applying resumed"))
}
