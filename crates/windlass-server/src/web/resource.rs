//! The page of one accepted resource: its history, its blast radius, its drift and its proposals.

use axum::extract::{Path, State};
use windlass_api::types::DriftItem;
use windlass_control::ask::module_version::{list_versions, set_state};
use windlass_control::ask::resource::change::{DirectAnswer, DirectChangeOptions};
use windlass_control::ask::{audit, drift, event, proposal, resource};
use windlass_control::caller::Identity;
use windlass_control::flow::drift::differences::difference_at;
use windlass_control::page::IfMatch;
use windlass_control::refusal::Refusal;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::states;
use windlass_core::value::Lifecycle;
use windlass_store::{EventFilter, EventOrder, ProposalFilter, ProposalSource, Reading, Resource};
use windlass_web::frame::NavEntry;
use windlass_web::pages::resource::{DeclaredAt, ResourcePage as Page, resource_url};
use windlass_web::sentence;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::blast_radius::{blast_radius_of, open};
use crate::web::browser_request::BrowserRequest;
use crate::web::drift::redirect_with_result;
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// How many entries of the history are shown, from the audit log and from the events each.
const HISTORY: usize = 40;

/// How many open proposals are shown: a resource has one for each repository.
const PROPOSALS: usize = 10;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path((kind, name)): Path<(String, String)>,
) -> HandlerResult {
    let kind = Kind::from_word(&kind).ok_or_else(Refusal::not_found)?;
    let mut reading = server.store().read().await?;
    let (info, resource) = resource::list::load(&mut reading, &who, kind, &name).await?;
    let key = &resource.key;
    let about = ProposalFilter { kind: Some(kind), name: Some(key.name.clone()), ..open() };
    let found = reading.proposals(&who.account_id, &about, None, PROPOSALS).await?;
    let open = proposal::list::describe(&mut reading, &who, &found).await?;
    let blast_radius = blast_radius_of(&mut reading, &who, key, &resource.spec.targets(&key.name)).await?;
    let declared = declared(&mut reading, &who, &resource).await?;
    let drift = drift_of(&mut reading, &who, &resource).await?;
    let entries = reading.audit(&who.account_id, Some((kind.slug(), &key.name)), i64::MAX, HISTORY).await?;
    let filter = EventFilter { resource: Some(key.clone()), ..EventFilter::default() };
    let order = EventOrder::NewestBefore(i64::MAX);
    let happened = reading.events(&who.account_id, &filter, order, HISTORY).await?;
    let versions = match kind {
        Kind::Module => list_versions(&mut reading, &who, &key.name).await?.versions,
        _ => Vec::new(),
    };
    let version_keys: Vec<ResourceKey> =
        versions.iter().map(|version| ResourceKey::new(Kind::ModuleVersion, version.name.as_str())).collect();
    let version_proposals = reading.proposals_about(&who.account_id, &version_keys).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Resources).await?;
    drop(reading);
    let page = Page {
        frame,
        resource: info,
        declared,
        blast_radius,
        drift,
        proposals: open,
        audit: entries.into_iter().map(audit::info).collect(),
        events: happened.into_iter().map(event::info).collect(),
        versions,
        version_proposals: version_proposals
            .into_iter()
            .map(|(key, id)| (key.name, id.to_string()))
            .collect(),
    };
    response::page(&visit, &page)
}

/// Promotes or retires a module version, or opens a proposal for that.
pub(super) async fn change_version(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let version = form.text("version");
    let state: Lifecycle = states::read(form.text("state")).map_err(|_| Refusal::not_found())?;
    let options = DirectChangeOptions {
        if_match: IfMatch(None),
        reason: form.non_empty_text("reason").map(str::to_owned),
    };
    let done = set_state(&server, &who, (&id, version), state, &options).await.map(|answer| match answer {
        DirectAnswer::Made(..) => format!("{id}@{version} is {}", state.word()),
        DirectAnswer::Waits(waiting) => sentence(&waiting.message),
    });
    redirect_with_result(&server, &visit, &form, &resource_url(Kind::Module, &id), done)
}

/// Where git declares a resource. The line is stored only with a proposal, as of its commit.
async fn declared(
    reading: &mut Reading,
    who: &Identity,
    resource: &Resource,
) -> Result<Option<DeclaredAt>, Refusal> {
    let Some(owner) = &resource.owner_id else { return Ok(None) };
    let Some(file) = reading.desired_file(owner, &resource.key).await? else { return Ok(None) };
    let ResourceKey { kind, name } = &resource.key;
    let about = ProposalFilter {
        kind: Some(*kind),
        name: Some(name.clone()),
        source: Some(ProposalSource::Repository(owner.clone())),
        ..ProposalFilter::default()
    };
    let last = reading.proposals(&who.account_id, &about, None, 1).await?.pop();
    let line = last.and_then(|last| {
        let (declared_in, line) = last.declared_at?;
        (declared_in == file).then_some((line, last.commit_sha))
    });
    Ok(Some(DeclaredAt { file, line }))
}

/// The difference between a resource and what its repository declares.
async fn drift_of(
    reading: &mut Reading,
    who: &Identity,
    resource: &Resource,
) -> Result<Option<DriftItem>, Refusal> {
    let Some(owner) = &resource.owner_id else { return Ok(None) };
    let Some(repository) = reading.repository(&who.account_id, owner.as_str()).await? else {
        return Ok(None);
    };
    let found = difference_at(reading, &who.account_id, owner, &resource.key).await?;
    let Some(difference) = found.differences.first() else { return Ok(None) };
    Ok(drift::load_items(reading, who, &repository, &found, &[difference]).await?.pop())
}
