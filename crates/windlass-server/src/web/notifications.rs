//! The notification providers, and the log of deliveries.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::notification::{load_page, read_state, send_again, send_test};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;
use windlass_core::id::DeliveryId;
use windlass_core::resource::{Kind, Spec};
use windlass_store::{DeliveryFilter, Reading, ResourceFilter};
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::notifications::{NotificationsPage, ProviderRow};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

const PAGE_URL: &str = "/app/settings/notifications";

/// The most providers on the page; the list of resources shows the rest.
const SHOWN: usize = 50;

#[derive(Deserialize)]
pub(super) struct NotificationsPageQuery {
    provider: Option<String>,
    state: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<NotificationsPageQuery>,
) -> HandlerResult {
    let (provider, state) = (word(&query.provider), word(&query.state));
    let filter = DeliveryFilter {
        provider: (!provider.is_empty()).then(|| provider.clone()),
        state: if state.is_empty() { None } else { Some(read_state(&state)?) },
    };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let mut reading = server.store().read().await?;
    let found = load_page(&mut reading, &who, &filter, &page).await?;
    let providers = load_providers(&mut reading, &who).await?;
    let counts = reading.resources_count(&who.account_id).await?;
    let alerts = counts.iter().find(|(kind, _)| *kind == Kind::Alert).map_or(0, |(_, count)| *count);
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Settings).await?;
    drop(reading);
    let next = found
        .meta
        .next_cursor
        .map(|cursor| address(PAGE_URL, &[("provider", &provider), ("state", &state), ("cursor", &cursor)]));
    let deliveries = found.notification_deliveries;
    let page = NotificationsPage { frame, providers, alerts, deliveries, provider, state, next };
    response::page(&visit, &page)
}

async fn load_providers(reading: &mut Reading, who: &Identity) -> Result<Vec<ProviderRow>, Refusal> {
    let filter = ResourceFilter { kind: Some(Kind::NotificationProvider), ..ResourceFilter::default() };
    let mut providers = Vec::new();
    for resource in reading.resources_page(&who.account_id, &filter, None, SHOWN).await? {
        let Spec::NotificationProvider(spec) = resource.spec.as_ref() else { continue };
        let filter = DeliveryFilter { provider: Some(resource.key.name.clone()), state: None };
        let one = PageQuery { limit: Some(1), cursor: None };
        let last = load_page(reading, who, &filter, &one).await?.notification_deliveries.pop();
        providers.push(ProviderRow {
            name: resource.key.name.clone(),
            provider_type: spec.provider_type.word().to_owned(),
            address: spec.address.as_ref().map(ToString::to_string).unwrap_or_default(),
            last,
        });
    }
    Ok(providers)
}

pub(super) async fn test(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    let tested = send_test(&server, &who, &id).await?;
    let notice = match tested.ok {
        true => Notice::new(Tone::Good, "Test message delivered"),
        false => {
            Notice { tone: Tone::Bad, message: "Test message failed".to_owned(), lines: vec![tested.message] }
        }
    };
    response::redirect_with_notice(&server, &visit, PAGE_URL, &notice)
}

pub(super) async fn retry(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<DeliveryId>,
) -> HandlerResult {
    send_again(&server, &who, &id).await?;
    response::redirect_with_notice(&server, &visit, PAGE_URL, &Notice::new(Tone::Good, "Retrying"))
}
