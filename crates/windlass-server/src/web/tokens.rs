//! API tokens.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::permission::Permission;
use windlass_api::types::TokenBody;
use windlass_control::ask::token;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::redacted::Redacted;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::settings::{OneTimeSecret, TokensPage};

use crate::http::error::status_of;
use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::form_outcome::{self, FormOutcome};
use crate::web::{frame, response};

/// The values of the form.
struct TokenFormFields {
    name: String,
    days: String,
    ticked: Vec<Permission>,
}

impl Default for TokenFormFields {
    fn default() -> TokenFormFields {
        let ticked = vec![Permission::GitopsRead, Permission::FleetRead];
        TokenFormFields { name: String::new(), days: "90".to_owned(), ticked }
    }
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    page(&server, &who, &visit, TokenFormFields::default(), FormOutcome::Nothing).await
}

pub(super) async fn create(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let filled = TokenFormFields {
        name: form.text("name").trim().to_owned(),
        days: form.text("days").trim().to_owned(),
        ticked: form.texts("permission").filter_map(Permission::from_slug).collect(),
    };
    let made = match read(&filled) {
        Ok(body) => token::create_token(&server, &who, body).await,
        Err(error) => Err(error),
    };
    match made {
        // The secret is stored nowhere, so only the response that created it shows it.
        Ok(made) => {
            let once = OneTimeSecret { owner: made.token.name, secret: Redacted::new(made.secret) };
            page(&server, &who, &visit, TokenFormFields::default(), FormOutcome::Shown(once)).await
        }
        Err(error) => page(&server, &who, &visit, filled, FormOutcome::Error(error)).await,
    }
}

fn read(filled: &TokenFormFields) -> Result<TokenBody, Refusal> {
    if filled.ticked.is_empty() {
        let help = "select at least one permission";
        return Err(Refusal::unprocessable("missing-key", "a token needs at least one permission", help));
    }
    let days = filled.days.parse().map_err(|_| {
        let message = "the days until it expires must be a whole number";
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
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    token::revoke_token(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Token revoked");
    response::redirect_with_notice(&server, &visit, "/app/settings/tokens", &notice)
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    filled: TokenFormFields,
    outcome: FormOutcome<OneTimeSecret>,
) -> HandlerResult {
    let (once, error) = outcome.split()?;
    let mut reading = server.store().read().await?;
    let tokens = token::load_all(&mut reading, who).await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Settings).await?;
    drop(reading);
    let status = error.as_ref().map_or(StatusCode::OK, status_of);
    let TokenFormFields { name, days, ticked } = filled;
    let error = error.map(Refusal::into_body);
    let page = TokensPage { frame, tokens, name, days, checked: ticked, error, one_time_secret: once };
    form_outcome::page(visit, status, &page)
}
