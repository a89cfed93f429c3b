//! API tokens.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::permission::Permission;
use windlass_api::types::TokenBody;
use windlass_control::ask::token;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::redacted::Redacted;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::settings::{Once, Tokens};

use crate::http::error::status_of;
use crate::http::request::Answer;
use crate::state::Server;
use crate::web::came::{self, Came};
use crate::web::form::Form;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

/// What stands in the form.
struct Filled {
    name: String,
    days: String,
    ticked: Vec<Permission>,
}

impl Default for Filled {
    fn default() -> Filled {
        let ticked = vec![Permission::GitopsRead, Permission::FleetRead];
        Filled { name: String::new(), days: "90".to_owned(), ticked }
    }
}

pub(super) async fn show(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    page(&server, &who, &visit, Filled::default(), Came::Nothing).await
}

pub(super) async fn make(State(server): State<Server>, who: Identity, visit: Visit, form: Form) -> Answer {
    let filled = Filled {
        name: form.text("name").trim().to_owned(),
        days: form.text("days").trim().to_owned(),
        ticked: form.all("permission").filter_map(Permission::from_slug).collect(),
    };
    let made = match read(&filled) {
        Ok(body) => token::make(&server, &who, body).await,
        Err(error) => Err(error),
    };
    match made {
        // The secret is shown by the very answer that made it and kept nowhere.
        Ok(made) => {
            let once = Once { of: made.token.name, secret: Redacted::new(made.secret) };
            page(&server, &who, &visit, Filled::default(), Came::Shown(once)).await
        }
        Err(error) => page(&server, &who, &visit, filled, Came::Error(error)).await,
    }
}

fn read(filled: &Filled) -> Result<TokenBody, Refusal> {
    if filled.ticked.is_empty() {
        let help = "select at least one permission";
        return Err(Refusal::unprocessable("missing-key", "a token needs at least one permission", help));
    }
    let days = filled.days.parse().map_err(|_| {
        let message = "the days until it ends are a whole number";
        Refusal::unprocessable("bad-value", message, "1 to 365")
    })?;
    Ok(TokenBody {
        name: filled.name.clone(),
        permissions: filled.ticked.clone(),
        expires_in_days: Some(days),
    })
}

pub(super) async fn revoke(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    token::take_back(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "The token was revoked");
    answer::go_saying(&server, &visit, "/app/settings/tokens", &notice)
}

async fn page(server: &Server, who: &Identity, visit: &Visit, filled: Filled, came: Came<Once>) -> Answer {
    let (once, error) = came.parted()?;
    let mut reading = server.store().read().await?;
    let tokens = token::load_all(&mut reading, who).await?;
    let frame = frame::load(server, &mut reading, who, visit, Place::Settings).await?;
    drop(reading);
    let status = error.as_ref().map_or(StatusCode::OK, status_of);
    let Filled { name, days, ticked } = filled;
    let error = error.map(Refusal::into_body);
    let page = Tokens { frame, tokens, name, days, ticked, error, once };
    came::page(visit, status, &page)
}
