//! The page of one repository, and its actions.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use windlass_api::types::RepositoryFields;
use windlass_control::ask::repository::{find, register, release, test};
use windlass_control::ask::run::show;
use windlass_control::ask::{preview, webhook};
use windlass_control::caller::Identity;
use windlass_control::page::{IfMatch, PageQuery};
use windlass_core::proposal::Status;
use windlass_core::redacted::Redacted;
use windlass_store::{ProposalFilter, ProposalSource};
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::repository::{HookSecret, OneTimePanel, RepositoryPage};

use crate::http::request::HandlerResult;
use crate::http::webhooks;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// How many runs the page shows.
const RUNS: usize = 10;

/// How many previews the page shows.
const PREVIEWS: usize = 10;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> HandlerResult {
    page(&server, &who, (&visit, &headers), &id, OneTimePanel::Nothing).await
}

pub(super) async fn test(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> HandlerResult {
    let test = test::test_registered(&server, &who, &id).await?;
    page(&server, &who, (&visit, &headers), &id, OneTimePanel::Test(test)).await
}

/// Only the response to the form shows the secret, not a page that a link could open.
pub(super) async fn show_webhook(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> HandlerResult {
    let base = webhooks::base_url_of(&server, &headers, visit.scheme);
    let shown = webhook::reveal(&server, &who, &base, &id).await?;
    let secret = HookSecret {
        secret: Redacted::new(shown.secret),
        signing_token: Redacted::new(shown.signing_token),
        setup: shown.setup,
    };
    page(&server, &who, (&visit, &headers), &id, OneTimePanel::Secret(secret)).await
}

pub(super) async fn rotate_webhook(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> HandlerResult {
    let base = webhooks::base_url_of(&server, &headers, visit.scheme);
    webhook::replace_secret(&server, &who, &base, &id).await?;
    let notice = Notice::new(Tone::Good, "Webhook secret replaced; copy the new secret to the forge");
    response::redirect_with_notice(&server, &visit, &address(&id), &notice)
}

async fn page(
    server: &Server,
    who: &Identity,
    (visit, headers): (&BrowserRequest, &HeaderMap),
    id_or_name: &str,
    panel: OneTimePanel,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find::load(&mut reading, who, id_or_name).await?;
    let found = find::find(&mut reading, who, &repository.id).await?;
    let last = PageQuery { limit: Some(RUNS), cursor: None };
    let runs = show::load_page(&mut reading, who, Some(&found.id), &last).await?.sync_runs;
    let previews = preview::load_list(&mut reading, &found, PREVIEWS).await?;
    let owned = reading.resources_owned(&who.account_id, &found.id).await?;
    let in_states = |statuses: &[Status]| ProposalFilter {
        statuses: statuses.to_vec(),
        source: Some(ProposalSource::Repository(found.id.clone())),
        ..ProposalFilter::default()
    };
    let pending = reading.proposals_matching(&who.account_id, &in_states(&[Status::PendingApproval])).await?;
    let approved = reading.proposals_matching(&who.account_id, &in_states(&[Status::Approved])).await?;
    let base = webhooks::base_url_of(server, headers, visit.scheme);
    let webhook = webhook::load(&mut reading, &base, &found.id).await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Repositories).await?;
    drop(reading);
    let open = pending + approved;
    let page = RepositoryPage { frame, repository, runs, previews, owned, open, pending, webhook, panel };
    response::page(visit, &page)
}

pub(super) async fn schedule(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let enabled = form.text("enabled") == "yes";
    let fields = RepositoryFields { enabled: Some(enabled), ..RepositoryFields::default() };
    let repository = register::configure(&server, &who, &id, &IfMatch(None), fields).await?;
    let word = if enabled { "scheduled sync enabled" } else { "scheduled sync disabled" };
    let notice = Notice::new(Tone::Good, format!("{}: {word}", repository.name));
    response::redirect_with_notice(&server, &visit, &address(&repository.id), &notice)
}

pub(super) async fn forget_host_keys(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    let repository = register::clear_host_keys(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Pinned host keys removed; the next sync pins new ones");
    response::redirect_with_notice(&server, &visit, &address(&repository.id), &notice)
}

pub(super) async fn release(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    let repository = release::release_all(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Released; Windlass retries it");
    response::redirect_with_notice(&server, &visit, &address(&repository.id), &notice)
}

pub(super) async fn remove(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find::load(&mut reading, &who, &id).await?;
    drop(reading);
    if form.text("name").trim() != repository.name {
        let message = format!("Nothing was removed: type {} to remove it", repository.name);
        return response::redirect_with_notice(
            &server,
            &visit,
            &address(&repository.id),
            &Notice::new(Tone::Bad, message),
        );
    }
    register::unregister(&server, &who, &repository.id).await?;
    let notice = Notice::new(Tone::Good, format!("Removed {}; its resources stay", repository.name));
    response::redirect_with_notice(&server, &visit, "/app/repositories", &notice)
}

/// The address of a repository's page, by its id or name.
pub(super) fn address(id_or_name: &str) -> String {
    format!("/app/repositories/{id_or_name}")
}
