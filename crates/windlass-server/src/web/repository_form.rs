//! Registering a repository, and changing one.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::types::{ForgeFields, ForgeInfo, RepositoryFields, RepositoryInfo, RepositoryTest};
use windlass_control::ask::repository::{find, register, test};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_control::refusal::Refusal;
use windlass_core::secret::is_private_key;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::repository_form::{ForgeFormFields, RepositoryForm, RepositoryFormFields};

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::form_outcome::{self, FormOutcome};
use crate::web::repository::address;
use crate::web::{frame, response};

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    render_form(&server, &who, &visit, None, RepositoryFormFields::default(), FormOutcome::Nothing).await
}

pub(super) async fn register(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let filled = read(&form);
    let registered = match fields_of(&filled, FormUse::New) {
        Ok(fields) => register::register(&server, &who, fields).await,
        Err(error) => Err(error),
    };
    match registered {
        Ok(repository) => {
            let word = if repository.enabled { "; first sync started" } else { "" };
            let notice = Notice::new(Tone::Good, format!("Registered {}{word}", repository.name));
            response::redirect_with_notice(&server, &visit, &address(&repository.id), &notice)
        }
        Err(error) => render_form(&server, &who, &visit, None, filled, FormOutcome::Error(error)).await,
    }
}

pub(super) async fn probe(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let filled = read(&form);
    let tested = match fields_of(&filled, FormUse::New) {
        Ok(fields) => test::test_unregistered(&server, &who, fields).await,
        Err(error) => Err(error),
    };
    let outcome = tested.map_or_else(FormOutcome::Error, FormOutcome::Shown);
    render_form(&server, &who, &visit, None, filled, outcome).await
}

pub(super) async fn edit(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
) -> HandlerResult {
    let existing = existing(&server, &who, &id).await?;
    let filled = RepositoryFormFields {
        name: existing.name.clone(),
        repo_url: existing.repo_url.clone(),
        branch: existing.branch.clone(),
        path_prefix: existing.path_prefix.clone(),
        credential_path: existing.vault_credential_path.clone().unwrap_or_default(),
        interval: existing.reconcile_interval_seconds.to_string(),
        enabled: existing.enabled,
        auto_apply: existing.auto_apply,
        forge: existing.forge.as_ref().map(shown_forge).unwrap_or_default(),
        ..RepositoryFormFields::default()
    };
    render_form(&server, &who, &visit, Some(existing), filled, FormOutcome::Nothing).await
}

pub(super) async fn configure(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let mut existing = existing(&server, &who, &id).await?;
    let filled = read(&form);
    // The version that the person saw, not the current one.
    let version = form.text("version").parse().ok();
    existing.version = version.unwrap_or(existing.version);
    let changed = match fields_of(&filled, FormUse::Existing) {
        Ok(fields) => register::configure(&server, &who, &existing.id, &IfMatch(version), fields).await,
        Err(error) => Err(error),
    };
    match changed {
        Ok(repository) => {
            let notice = Notice::new(Tone::Good, format!("Saved {}", repository.name));
            response::redirect_with_notice(&server, &visit, &address(&repository.id), &notice)
        }
        Err(error) => {
            render_form(&server, &who, &visit, Some(existing), filled, FormOutcome::Error(error)).await
        }
    }
}

async fn existing(server: &Server, who: &Identity, id_or_name: &str) -> Result<RepositoryInfo, Refusal> {
    let mut reading = server.store().read().await?;
    find::load(&mut reading, who, id_or_name).await
}

fn shown_forge(forge: &ForgeInfo) -> ForgeFormFields {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    ForgeFormFields {
        kind: forge.kind.slug().to_owned(),
        api_url: text(&forge.api_url),
        project: text(&forge.project),
        credential_path: text(&forge.credential_path),
        commit_status: forge.commit_status,
        comment: forge.comment,
        previews_of_forks: forge.previews_of_forks,
    }
}

fn read(form: &FormFields) -> RepositoryFormFields {
    let text = |name: &str| form.text(name).trim().to_owned();
    RepositoryFormFields {
        name: text("name"),
        repo_url: text("repo_url"),
        branch: text("branch"),
        path_prefix: text("path_prefix"),
        credential_path: text("vault_credential_path"),
        interval: text("reconcile_interval_seconds"),
        enabled: form.is_ticked("enabled"),
        auto_apply: form.is_ticked("auto_apply"),
        ca_pem: text("ca_pem"),
        allowed_signers: text("allowed_signers"),
        drops_ca: form.is_ticked("drops_ca"),
        drops_signers: form.is_ticked("drops_signers"),
        forge: ForgeFormFields {
            kind: text("forge_kind"),
            api_url: text("forge_api_url"),
            project: text("forge_project"),
            credential_path: text("forge_credential_path"),
            commit_status: form.is_ticked("forge_commit_status"),
            comment: form.is_ticked("forge_comment"),
            previews_of_forks: form.is_ticked("forge_previews_of_forks"),
        },
    }
}

/// What a form is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FormUse {
    New,
    Existing,
}

/// The form as the fields of an API request. Empty fields are omitted; on an existing repository, some are cleared instead.
fn fields_of(filled: &RepositoryFormFields, used: FormUse) -> Result<RepositoryFields, Refusal> {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    // On an existing repository, an empty field clears the value.
    let optional = |text: &str| if used == FormUse::Existing { Some(text.to_owned()) } else { some(text) };
    let interval = match filled.interval.as_str() {
        "" => None,
        text => Some(text.parse().map_err(|_| {
            let message = "reconcile_interval_seconds must be a whole number of seconds";
            Refusal::unprocessable("bad-value", message, "300 is usual")
        })?),
    };
    let kept = |text: &str, drops: bool| if drops { Some(String::new()) } else { some(text) };
    Ok(RepositoryFields {
        name: some(&filled.name),
        repo_url: some(&filled.repo_url),
        branch: some(&filled.branch),
        path_prefix: optional(&filled.path_prefix),
        vault_credential_path: optional(&filled.credential_path),
        ca_pem: kept(&filled.ca_pem, filled.drops_ca),
        allowed_signers: kept(&filled.allowed_signers, filled.drops_signers),
        enabled: Some(filled.enabled),
        auto_apply: Some(filled.auto_apply),
        reconcile_interval_seconds: interval,
        forge: forge_of(&filled.forge, used),
    })
}

/// The forge fields of the form; `None` if it specifies no forge.
fn forge_of(filled: &ForgeFormFields, used: FormUse) -> Option<ForgeFields> {
    let kind = Some(filled.kind.clone());
    match (filled.kind.as_str(), used) {
        ("", _) | ("none", FormUse::New) => None,
        ("none", FormUse::Existing) => Some(ForgeFields { kind, ..ForgeFields::default() }),
        _ => Some(ForgeFields {
            kind,
            api_url: Some(filled.api_url.clone()),
            project: Some(filled.project.clone()),
            credential_path: Some(filled.credential_path.clone()),
            commit_status: Some(filled.commit_status),
            comment: Some(filled.comment),
            previews_of_forks: Some(filled.previews_of_forks),
        }),
    }
}

/// The form is shown again with the typed values. This removes secrets that were typed in the wrong field.
fn remove_secrets(filled: &mut RepositoryFormFields) {
    remove_password(&mut filled.repo_url);
    remove_password(&mut filled.forge.api_url);
    let path = &mut filled.forge.credential_path;
    for text in [&mut filled.ca_pem, &mut filled.allowed_signers, &mut filled.credential_path, path] {
        if is_private_key(text) {
            text.clear();
        }
    }
}

fn remove_password(url: &mut String) {
    let Some((scheme, rest)) = url.split_once("://") else { return };
    let host = rest.split('/').next().unwrap_or_default();
    if let Some((user, _)) = host.rsplit_once('@').filter(|(user, _)| user.contains(':')) {
        *url = format!("{scheme}://{}", &rest[user.len() + 1..]);
    }
}

async fn render_form(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    existing: Option<RepositoryInfo>,
    mut filled: RepositoryFormFields,
    outcome: FormOutcome<RepositoryTest>,
) -> HandlerResult {
    remove_secrets(&mut filled);
    let (test, error) = outcome.split()?;
    let mut reading = server.store().read().await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Repositories).await?;
    drop(reading);
    let status = error.as_ref().map_or(StatusCode::OK, |_| StatusCode::UNPROCESSABLE_ENTITY);
    let page = RepositoryForm { frame, existing, fields: filled, error: error.map(Refusal::into_body), test };
    form_outcome::page(visit, status, &page)
}
