//! Drifted nodes and clusters; the differences between the accepted state and git, in all repositories or in one; and the
//! three ways to resolve one: revert, adopt, accept.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use windlass_api::types::{AcceptBody, AdoptBody, DriftTarget};
use windlass_control::ask::adopt::adopt_resources;
use windlass_control::ask::drift::{accept_one, load_items, revert_one, revoke_acceptance};
use windlass_control::ask::repository::find::find;
use windlass_control::caller::Identity;
use windlass_control::flow::drift::differences::{RepositoryDifferences, differences_of};
use windlass_control::page::{PageQuery, cut, read_id};
use windlass_control::refusal::Refusal;
use windlass_core::drift::DifferenceOrigin;
use windlass_core::id::RepositoryId;
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::Reading;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::adopt::{AdoptOutcome, AdoptPage};
use windlass_web::pages::drift::{DriftCard, DriftPage, DriftTab, DriftedTarget};
use windlass_web::sentence;

use crate::http::error::status_of;
use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::address;
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::drift_targets::{TargetDrift, load_node_items};
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// The page to which forms return.
const DRIFT: &str = "/app/drift";

/// How many differences a page shows, each with its fields and forms.
const PAGE_SIZE: usize = 30;

#[derive(Deserialize)]
pub(super) struct DriftQuery {
    show: Option<String>,
    repository: Option<String>,
    cursor: Option<String>,
}

/// The position of a difference: the index of its repository, and its index among that repository's differences.
type DifferencePosition = (usize, usize);

/// The differences of one repository.
struct RepositoryDrift {
    repository: Repository,
    found: RepositoryDifferences,
}

impl RepositoryDrift {
    fn sort_of(&self, index: usize) -> DriftTab {
        let difference = &self.found.differences[index];
        match (self.found.acceptance(difference).is_some(), difference.origin) {
            (true, _) => DriftTab::AcceptedDrift,
            (false, DifferenceOrigin::ManualChange) => DriftTab::ManualChange,
            (false, DifferenceOrigin::Pending) => DriftTab::Pending,
        }
    }

    fn key(&self, index: usize) -> &ResourceKey {
        &self.found.differences[index].key
    }
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<DriftQuery>,
) -> HandlerResult {
    let sort = DriftTab::of(query.show.as_deref().unwrap_or_default());
    let mut reading = server.store().read().await?;
    let repositories = reading.repositories(&who.account_id).await?;
    let names: Vec<(String, String)> =
        repositories.iter().map(|repository| (repository.id.to_string(), repository.name.clone())).collect();
    let (repository, chosen) = match query.repository.as_deref().filter(|word| !word.is_empty()) {
        Some(word) => {
            let one = find(&mut reading, &who, word).await?;
            (one.id.to_string(), vec![one])
        }
        None => (String::new(), repositories),
    };
    let mut compared = Vec::with_capacity(chosen.len());
    for repository in chosen {
        let found = differences_of(&mut reading, &who.account_id, &repository.id).await?;
        compared.push(RepositoryDrift { repository, found });
    }
    let page = PageQuery { limit: Some(PAGE_SIZE), cursor: query.cursor };
    let found = TargetDrift::load(&mut reading, &who).await?;
    let mut counts = [0; DriftTab::ALL.len()];
    counts[tab_index(DriftTab::Drifted)] = found.drifted.len();
    counts[tab_index(DriftTab::AcceptedDrift)] = found.accepted.len();
    count(&compared, &mut counts);
    let mut rows = rows_of(&compared, found, sort);
    let after = page.after_as(read_position)?;
    skip_to(&mut rows, &compared, after);
    let meta = cut(&mut rows, PAGE_SIZE, |row| write_position(&compared, row));
    let (mut targets, mut spots) = (Vec::new(), Vec::new());
    for row in rows {
        match row {
            DriftRow::Target(key, shown) => targets.push((key, shown)),
            DriftRow::Difference(spot) => spots.push(spot),
        }
    }
    load_node_items(&mut reading, &who, &mut targets, sort).await?;
    let differences = load(&mut reading, &who, &compared, &spots).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Drift).await?;
    drop(reading);
    let next = meta.next_cursor.map(|cursor| here(sort, &repository, &cursor));
    let here = visit.here.clone();
    let targets = targets.into_iter().map(|(_, shown)| shown).collect();
    let page =
        DriftPage { frame, sort, counts, repositories: names, repository, targets, differences, next, here };
    response::page(&visit, &page)
}

/// The index of a tab.
fn tab_index(sort: DriftTab) -> usize {
    DriftTab::ALL.iter().position(|one| *one == sort).unwrap_or_default()
}

/// Counts the differences from git per tab.
fn count(compared: &[RepositoryDrift], counts: &mut [usize]) {
    for one in compared {
        for index in 0..one.found.differences.len() {
            counts[tab_index(one.sort_of(index))] += 1;
        }
    }
}

/// What the page lists: targets first, then differences from git.
enum DriftRow {
    Target(ResourceKey, DriftedTarget),
    Difference(DifferencePosition),
}

/// Where a page ends.
enum PageEnd {
    Target(ResourceKey),
    Difference(RepositoryId, ResourceKey),
}

/// Everything that a tab lists.
fn rows_of(compared: &[RepositoryDrift], found: TargetDrift, sort: DriftTab) -> Vec<DriftRow> {
    let targets = match sort {
        DriftTab::Drifted => found.drifted,
        DriftTab::AcceptedDrift => found.accepted,
        DriftTab::ManualChange | DriftTab::Pending => Vec::new(),
    };
    let mut rows: Vec<DriftRow> =
        targets.into_iter().map(|(key, shown)| DriftRow::Target(key, shown)).collect();
    for (which, one) in compared.iter().enumerate() {
        let indexes = (0..one.found.differences.len()).filter(|index| one.sort_of(*index) == sort);
        rows.extend(indexes.map(|index| DriftRow::Difference((which, index))));
    }
    rows
}

/// Leaves out what earlier pages listed.
fn skip_to(rows: &mut Vec<DriftRow>, compared: &[RepositoryDrift], after: Option<PageEnd>) {
    match after {
        None => {}
        Some(PageEnd::Target(end)) => {
            rows.retain(|row| !matches!(row, DriftRow::Target(key, _) if *key <= end));
        }
        Some(PageEnd::Difference(id, end)) => {
            // A repository that was removed meanwhile: the list begins again.
            let Some(at) = compared.iter().position(|one| one.repository.id == id) else { return };
            rows.retain(|row| match row {
                DriftRow::Target(..) => false,
                DriftRow::Difference((which, index)) => (*which, compared[*which].key(*index)) > (at, &end),
            });
        }
    }
}

fn write_key(key: &ResourceKey) -> String {
    format!("{}/{}", key.kind, key.name)
}

fn read_key(text: &str) -> Option<ResourceKey> {
    let (kind, name) = text.split_once('/')?;
    Some(ResourceKey::new(Kind::from_word(kind)?, name))
}

fn write_position(compared: &[RepositoryDrift], row: &DriftRow) -> String {
    match row {
        DriftRow::Target(key, _) => write_key(key),
        DriftRow::Difference((which, index)) => {
            format!("{} {}", compared[*which].repository.id, write_key(compared[*which].key(*index)))
        }
    }
}

fn read_position(text: &str) -> Option<PageEnd> {
    match text.split_once(' ') {
        Some((id, key)) => Some(PageEnd::Difference(read_id(id)?, read_key(key)?)),
        None => Some(PageEnd::Target(read_key(text)?)),
    }
}

fn here(sort: DriftTab, repository: &str, cursor: &str) -> String {
    address("/app/drift", &[("show", sort.slug()), ("repository", repository), ("cursor", cursor)])
}

/// Loads the differences of one page.
async fn load(
    reading: &mut Reading,
    who: &Identity,
    compared: &[RepositoryDrift],
    spots: &[DifferencePosition],
) -> Result<Vec<DriftCard>, Refusal> {
    let keys: Vec<ResourceKey> =
        spots.iter().map(|(which, index)| compared[*which].key(*index).clone()).collect();
    let open = reading.proposals_about(&who.account_id, &keys).await?;
    let mut differences = Vec::with_capacity(spots.len());
    for spots in spots.chunk_by(|(one, _), (next, _)| one == next) {
        let RepositoryDrift { repository, found } = &compared[spots[0].0];
        let shown: Vec<_> = spots.iter().map(|(_, index)| &found.differences[*index]).collect();
        let items = load_items(reading, who, repository, found, &shown).await?;
        for (difference, mut item) in shown.into_iter().zip(items) {
            item.proposal_id =
                open.iter().find(|(key, _)| *key == difference.key).map(|(_, id)| id.to_string());
            differences.push(DriftCard {
                repository_id: repository.id.to_string(),
                repository_name: repository.name.clone(),
                item,
            });
        }
    }
    Ok(differences)
}

/// Redirects to the page of the form, or to another if the form names none, with the result as a notice. Some errors get their own page instead.
pub(super) fn redirect_with_result(
    server: &Server,
    visit: &BrowserRequest,
    form: &FormFields,
    otherwise: &str,
    done: Result<String, Refusal>,
) -> HandlerResult {
    let notice = match done {
        Ok(message) => Notice::new(Tone::Good, message),
        Err(error) if has_own_page(&error) => return Err(error.into()),
        Err(error) => {
            let body = error.into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            Notice { tone: Tone::Bad, message: body.message, lines }
        }
    };
    response::redirect_with_notice(server, visit, local_path(form.text("back")).unwrap_or(otherwise), &notice)
}

/// Whether an error gets its own page, as on every other page: not found, or a server error.
pub(super) fn has_own_page(error: &Refusal) -> bool {
    status_of(error) == StatusCode::NOT_FOUND || status_of(error).is_server_error()
}

fn target(form: &FormFields) -> DriftTarget {
    DriftTarget { kind: form.text("kind").to_owned(), name: form.text("name").to_owned() }
}

pub(super) async fn revert(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = revert_one(&server, &who, &id, &target(&form)).await;
    let done = done.map(|reverted| sentence(&reverted.message));
    redirect_with_result(&server, &visit, &form, DRIFT, done)
}

/// The end of a day that a form names: a date without a time includes the whole day.
pub(super) fn day_end(day: &str) -> String {
    match day.len() {
        10 => format!("{day}T23:59:59Z"),
        _ => day.to_owned(),
    }
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let DriftTarget { kind, name } = target(&form);
    let until = form.non_empty_text("until").map(day_end);
    let body = AcceptBody { kind, name, until, reason: form.text("reason").to_owned() };
    let done = accept_one(&server, &who, &id, &body).await;
    let done = done.map(|_| format!("Accepted the drift of {} {}", body.kind, body.name));
    redirect_with_result(&server, &visit, &form, DRIFT, done)
}

pub(super) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = revoke_acceptance(&server, &who, &id, &target(&form)).await;
    redirect_with_result(&server, &visit, &form, DRIFT, done.map(|_| "Drift no longer accepted".to_owned()))
}

pub(super) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let target = target(&form);
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Drift).await?;
    drop(reading);
    let branch = form.non_empty_text("branch").map(str::to_owned);
    let resources = if target.kind.is_empty() { Vec::new() } else { vec![target.clone()] };
    let made = adopt_resources(&server, &who, &id, &AdoptBody { resources, branch: branch.clone() }).await;
    if let (Ok(adopted), Some(branch)) = (&made, &branch) {
        let commit: String = adopted.commit_sha.iter().flat_map(|sha| sha.chars().take(10)).collect();
        let notice =
            Notice::new(Tone::Good, format!("Pushed {branch} at {commit}; open a pull request from it"));
        let back = format!("/app/drift?repository={}", repository.id);
        return response::redirect_with_notice(&server, &visit, &back, &notice);
    }
    let made = match made {
        Ok(adopted) => AdoptOutcome::Patch(adopted.patch),
        Err(error) if has_own_page(&error) => return Err(error.into()),
        Err(error) => AdoptOutcome::Failed(error.into_body()),
    };
    let page = AdoptPage {
        frame,
        repository_id: repository.id.to_string(),
        repository_name: repository.name,
        branch: branch.unwrap_or_else(|| suggested_branch(&target)),
        kind: target.kind,
        name: target.name,
        outcome: made,
    };
    response::page(&visit, &page)
}

/// A suggested branch for a resource: its name, with characters that branch names allow.
fn suggested_branch(target: &DriftTarget) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("{} {}", target.kind, target.name).trim().chars().map(plain).collect();
    format!("windlass/adopt-{}", if name.is_empty() { "all" } else { name.trim_matches('-') })
}
