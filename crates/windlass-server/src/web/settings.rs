//! The settings page, and the kill switch.

use axum::extract::State;
use windlass_control::ask::account;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::settings::SettingsPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::{frame, response};

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Settings).await?;
    drop(reading);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    response::page(&visit, &SettingsPage { frame, account: account::info(&account), version })
}

pub(super) async fn halt(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let Some(reason) = form.non_empty_text("reason") else {
        let notice = Notice::new(Tone::Warn, "Enter a reason to halt applying");
        return response::redirect_with_notice(&server, &visit, "/app/settings", &notice);
    };
    account::halt_account(&server, &who, reason).await?;
    response::redirect_with_notice(
        &server,
        &visit,
        "/app/settings",
        &Notice::new(Tone::Good, "Applying is halted"),
    )
}

pub(super) async fn resume(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    account::resume_account(&server, &who).await?;
    response::redirect_with_notice(
        &server,
        &visit,
        "/app/settings",
        &Notice::new(Tone::Good, "Applying resumed"),
    )
}
