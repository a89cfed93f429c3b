//! How the accepted state differs from git, over all repositories or in one, and the three things to do about it.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use windlass_api::types::{AcceptBody, AdoptBody, DriftTarget};
use windlass_control::ask::adopt::adopt_some;
use windlass_control::ask::drift::{accept_one, load_item, revert_one, unaccept_one};
use windlass_control::ask::repository::find::find;
use windlass_control::caller::Identity;
use windlass_control::flow::drift::differences::{Found, differences_of};
use windlass_control::page::{PageQuery, cut, read_id};
use windlass_control::refusal::Refusal;
use windlass_core::drift::Origin;
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::Reading;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::adopt::{Adopt, Made};
use windlass_web::pages::drift::{Difference, Drift, Sort};
use windlass_web::sentence;

use crate::http::error::status_of;
use crate::http::request::{Answer, Query};
use crate::state::Server;
use crate::web::address::address;
use crate::web::form::Form;
use crate::web::visit::{Visit, local};
use crate::web::{answer, frame};

/// Differences on a page: each with its fields and forms.
const ON_A_PAGE: usize = 30;

#[derive(Deserialize)]
pub(super) struct DriftQuery {
    show: Option<String>,
    repository: Option<String>,
    cursor: Option<String>,
}

/// Where a difference stands in the list: whose it is, and its place among that repository's.
type Spot = (usize, usize);

/// The differences of one repository.
struct Compared {
    repository: Repository,
    found: Found,
}

impl Compared {
    fn sort_of(&self, index: usize) -> Sort {
        let difference = &self.found.differences[index];
        match (self.found.acceptance(difference).is_some(), difference.origin) {
            (true, _) => Sort::Accepted,
            (false, Origin::ByHand) => Sort::ByHand,
            (false, Origin::Pending) => Sort::Pending,
        }
    }

    fn key(&self, index: usize) -> &ResourceKey {
        &self.found.differences[index].key
    }
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Query(query): Query<DriftQuery>,
) -> Answer {
    let sort = Sort::of(query.show.as_deref().unwrap_or_default());
    let mut reading = server.store().read().await?;
    let repositories = reading.repositories(&who.account_id).await?;
    let names: Vec<(String, String)> =
        repositories.iter().map(|repository| (repository.id.clone(), repository.name.clone())).collect();
    let (repository, chosen) = match query.repository.as_deref().filter(|word| !word.is_empty()) {
        Some(word) => {
            let one = find(&mut reading, &who, word).await?;
            (one.id.clone(), vec![one])
        }
        None => (String::new(), repositories),
    };
    let mut compared = Vec::with_capacity(chosen.len());
    for repository in chosen {
        let found = differences_of(&mut reading, &who.account_id, &repository.id).await?;
        compared.push(Compared { repository, found });
    }
    let page = PageQuery { limit: Some(ON_A_PAGE), cursor: query.cursor };
    let after = page.after_as(read_spot)?;
    let (counts, mut spots) = chosen_spots(&compared, sort, after.as_ref());
    spots.truncate(ON_A_PAGE + 1);
    let meta = cut(&mut spots, ON_A_PAGE, |spot| write_spot(&compared, *spot));
    let differences = load(&mut reading, &who, &compared, &spots).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Drift).await?;
    drop(reading);
    let next = meta.next_cursor.map(|cursor| here(sort, &repository, &cursor));
    let here = visit.here.clone();
    let page = Drift { frame, sort, counts, repositories: names, repository, differences, next, here };
    answer::page(&visit, &page)
}

/// How many differences of each sort there are, and where those of one sort are, after a spot.
fn chosen_spots(
    compared: &[Compared],
    sort: Sort,
    after: Option<&(String, ResourceKey)>,
) -> ([usize; 3], Vec<Spot>) {
    let mut counts = [0; 3];
    let mut spots = Vec::new();
    let begin = after.and_then(|(id, key)| {
        let at = compared.iter().position(|one| one.repository.id == *id)?;
        Some((at, key))
    });
    for (which, one) in compared.iter().enumerate() {
        for index in 0..one.found.differences.len() {
            let of = one.sort_of(index);
            counts[Sort::ALL.iter().position(|sort| *sort == of).unwrap_or_default()] += 1;
            let is_before = begin.is_some_and(|(at, key)| (which, one.key(index)) <= (at, key));
            if of == sort && !is_before {
                spots.push((which, index));
            }
        }
    }
    (counts, spots)
}

fn write_spot(compared: &[Compared], (which, index): Spot) -> String {
    let key = compared[which].key(index);
    format!("{} {}/{}", compared[which].repository.id, key.kind, key.name)
}

fn read_spot(text: &str) -> Option<(String, ResourceKey)> {
    let (id, key) = text.split_once(' ')?;
    let (kind, name) = key.split_once('/')?;
    Some((read_id(id)?, ResourceKey::new(Kind::from_word(kind)?, name)))
}

fn here(sort: Sort, repository: &str, cursor: &str) -> String {
    address("/app/drift", &[("show", sort.slug()), ("repository", repository), ("cursor", cursor)])
}

/// Everything about the differences of one page.
async fn load(
    reading: &mut Reading,
    who: &Identity,
    compared: &[Compared],
    spots: &[Spot],
) -> Result<Vec<Difference>, Refusal> {
    let keys: Vec<ResourceKey> =
        spots.iter().map(|(which, index)| compared[*which].key(*index).clone()).collect();
    let open = reading.proposals_about(&who.account_id, &keys).await?;
    let mut differences = Vec::with_capacity(spots.len());
    for (which, index) in spots {
        let Compared { repository, found } = &compared[*which];
        let difference = &found.differences[*index];
        let mut item = load_item(reading, who, repository, found, difference).await?;
        item.proposal_id = open.iter().find(|(key, _)| *key == difference.key).map(|(_, id)| id.clone());
        differences.push(Difference {
            repository_id: repository.id.clone(),
            repository_name: repository.name.clone(),
            item,
        });
    }
    Ok(differences)
}

/// Back to where the form was, with what came of it. What is not there at all is an error of its own.
fn told(server: &Server, visit: &Visit, form: &Form, done: Result<String, Refusal>) -> Answer {
    let notice = match done {
        Ok(message) => Notice::new(Tone::Good, message),
        Err(error) if is_of_its_own(&error) => return Err(error.into()),
        Err(error) => {
            let body = error.into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            Notice { tone: Tone::Bad, message: body.message, lines }
        }
    };
    answer::go_saying(server, visit, local(form.text("back")).unwrap_or("/app/drift"), &notice)
}

/// What is not there, or a fault of ours, is told as it is everywhere.
fn is_of_its_own(error: &Refusal) -> bool {
    status_of(error) == StatusCode::NOT_FOUND || status_of(error).is_server_error()
}

fn target(form: &Form) -> DriftTarget {
    DriftTarget { kind: form.text("kind").to_owned(), name: form.text("name").to_owned() }
}

pub(super) async fn revert(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let done = revert_one(&server, &who, &id, &target(&form)).await;
    told(&server, &visit, &form, done.map(|reverted| sentence(&reverted.message)))
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let DriftTarget { kind, name } = target(&form);
    // A day is meant as a whole.
    let until = form.filled("until").map(|day| match day.len() {
        10 => format!("{day}T23:59:59Z"),
        _ => day.to_owned(),
    });
    let body = AcceptBody { kind, name, until, reason: form.text("reason").to_owned() };
    let done = accept_one(&server, &who, &id, &body).await;
    told(&server, &visit, &form, done.map(|_| format!("Accepted the drift of {} {}", body.kind, body.name)))
}

pub(super) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let done = unaccept_one(&server, &who, &id, &target(&form)).await;
    told(&server, &visit, &form, done.map(|_| "Drift no longer accepted".to_owned()))
}

pub(super) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let target = target(&form);
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Drift).await?;
    drop(reading);
    let branch = form.filled("branch").map(str::to_owned);
    let resources = if target.kind.is_empty() { Vec::new() } else { vec![target.clone()] };
    let made = adopt_some(&server, &who, &id, &AdoptBody { resources, branch: branch.clone() }).await;
    if let (Ok(adopted), Some(branch)) = (&made, &branch) {
        let commit: String = adopted.commit_sha.iter().flat_map(|sha| sha.chars().take(10)).collect();
        let notice =
            Notice::new(Tone::Good, format!("Pushed {branch} at {commit}; open a pull request from it"));
        let back = format!("/app/drift?repository={}", repository.id);
        return answer::go_saying(&server, &visit, &back, &notice);
    }
    let made = match made {
        Ok(adopted) => Made::Patch(adopted.patch),
        Err(error) if is_of_its_own(&error) => return Err(error.into()),
        Err(error) => Made::Failed(error.into_body()),
    };
    let page = Adopt {
        frame,
        repository_id: repository.id,
        repository_name: repository.name,
        branch: branch.unwrap_or_else(|| suggested(&target)),
        kind: target.kind,
        name: target.name,
        made,
    };
    answer::page(&visit, &page)
}

/// A branch for a resource: its name in letters that branches may have.
fn suggested(target: &DriftTarget) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("{} {}", target.kind, target.name).trim().chars().map(plain).collect();
    format!("windlass/adopt-{}", if name.is_empty() { "all" } else { name.trim_matches('-') })
}
