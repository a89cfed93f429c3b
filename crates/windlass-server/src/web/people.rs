//! The people of the account.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::permission::Role;
use windlass_api::types::{UserAdded, UserBody, UserCreated, UserPatch};
use windlass_control::ask::{invitation, user};
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::redacted::Redacted;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::settings::{OneTimeSecret, PeoplePage};

use crate::http::error::status_of;
use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::form_outcome::{self, FormOutcome};
use crate::web::{frame, response};

const PAGE_URL: &str = "/app/settings/people";

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    page(&server, &who, &visit, &FormFields::default(), FormOutcome::Nothing).await
}

pub(super) async fn add(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let added = match role_of(&form) {
        Ok(role) => {
            let (email, name) = (form.text("email").to_owned(), form.text("name").to_owned());
            user::add(&server, &who, &UserBody { email, name, role }).await
        }
        Err(error) => Err(error),
    };
    match added {
        Ok(UserAdded { user: Some(user), one_time_password, .. }) => {
            let message = format!("Added {}", user.email);
            finish(&server, &who, &visit, UserCreated { user, one_time_password }, message).await
        }
        Ok(added) => {
            let email = added.invitation.map(|invitation| invitation.email).unwrap_or_default();
            let message = format!("Invited {email}; they accept under Settings, Invitations");
            response::redirect_with_notice(&server, &visit, PAGE_URL, &Notice::new(Tone::Good, message))
        }
        Err(error) => page(&server, &who, &visit, &form, FormOutcome::Error(error)).await,
    }
}

pub(super) async fn change(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let patch = match form.text("do") {
        "role" => role_of(&form).map(|role| UserPatch { role: Some(role), ..UserPatch::default() }),
        "disable" => Ok(UserPatch { disabled: Some(true), ..UserPatch::default() }),
        "enable" => Ok(UserPatch { disabled: Some(false), ..UserPatch::default() }),
        "reset" => {
            let keep_tokens = form.is_ticked("keep_tokens");
            Ok(UserPatch { reset_password: true, keep_tokens, ..UserPatch::default() })
        }
        _ => Err(Refusal::bad_request("no action selected", "use one of the buttons")),
    };
    let changed = match patch {
        Ok(patch) => user::change_user(&server, &who, &id, &patch).await,
        Err(error) => Err(error),
    };
    match changed {
        Ok(made) => {
            let message = format!("Saved {}", made.user.email);
            finish(&server, &who, &visit, made, message).await
        }
        Err(error) => page(&server, &who, &visit, &FormFields::default(), FormOutcome::Error(error)).await,
    }
}

pub(super) async fn remove(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    match user::remove_user(&server, &who, &id).await {
        Ok(()) => {
            let notice = Notice::new(Tone::Good, "User removed");
            response::redirect_with_notice(&server, &visit, PAGE_URL, &notice)
        }
        Err(error) => page(&server, &who, &visit, &FormFields::default(), FormOutcome::Error(error)).await,
    }
}

pub(super) async fn revoke_invitation(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    invitation::revoke_invitation(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Invitation revoked");
    response::redirect_with_notice(&server, &visit, PAGE_URL, &notice)
}

fn role_of(form: &FormFields) -> Result<Role, Refusal> {
    let unknown = || Refusal::bad_request("unknown role", "choose one of the list");
    Role::from_slug(form.text("role")).ok_or_else(unknown)
}

/// Shows a one-time password in the response that created it, because it is stored nowhere. Without one, redirects to the
/// list.
async fn finish(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    made: UserCreated,
    message: String,
) -> HandlerResult {
    match made.one_time_password {
        Some(password) => {
            let once = OneTimeSecret { owner: made.user.email, secret: Redacted::new(password) };
            page(server, who, visit, &FormFields::default(), FormOutcome::Shown(once)).await
        }
        None => response::redirect_with_notice(server, visit, PAGE_URL, &Notice::new(Tone::Good, message)),
    }
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    form: &FormFields,
    outcome: FormOutcome<OneTimeSecret>,
) -> HandlerResult {
    let (once, error) = outcome.split()?;
    let mut reading = server.store().read().await?;
    let people = user::load_all(&mut reading, who).await?;
    let invitations = invitation::load_all(&mut reading, who).await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Settings).await?;
    drop(reading);
    let status = error.as_ref().map_or(StatusCode::OK, status_of);
    let (email, name) = (form.text("email").to_owned(), form.text("name").to_owned());
    let page = PeoplePage {
        frame,
        people,
        invitations,
        email,
        name,
        error: error.map(Refusal::into_body),
        one_time_secret: once,
    };
    form_outcome::page(visit, status, &page)
}
