//! Previews: what a reference, a commit or files would change.

use serde_json::Value;
use windlass_api::types::{PreviewBody, PreviewInfo};
use windlass_core::content::ContentId;
use windlass_core::id::PreviewId;
use windlass_core::plan::MassDestroyConfirmation;
use windlass_core::repository::Repository;
use windlass_source::{CommitId, Revision, SentFiles};
use windlass_store::{Preview, Reading};

use crate::ask::repository::find::find;
use crate::caller::Identity;
use crate::control::Control;
use crate::limits::fair_permits::FairPermit;
use crate::outside;
use crate::outside::preview::fetch::{self, REFERENCE_HELP};
use crate::outside::preview::{PreviewRequest, PreviewTarget};
use crate::refusal::{Refusal, RefusalKind};

/// The most previews in a list. The database keeps no more per repository.
pub const LISTED: usize = 200;

/// The default name for sent files.
const UNNAMED: &str = "files";

/// The longest name for sent files, in characters.
const LONGEST_NAME: usize = 200;

/// Creates the preview that a body requests.
pub async fn create_preview(
    server: &Control,
    who: &Identity,
    repository: Repository,
    body: PreviewBody,
    turn: FairPermit,
) -> Result<PreviewInfo, Refusal> {
    let confirmation = match body.confirm_mass_destroy {
        true => MassDestroyConfirmation::MassDestroy,
        false => MassDestroyConfirmation::Missing,
    };
    let by = Some(who.actor());
    let request =
        PreviewRequest { repository: repository.clone(), wanted: preview_source(body)?, confirmation, by };
    let made = outside::preview::create_preview(server, request, turn).await?;
    info(made, &repository)
}

/// The preview target that a body names.
fn preview_source(body: PreviewBody) -> Result<PreviewTarget, Refusal> {
    let commit = body.commit.as_deref().map(commit).transpose()?;
    match (body.reference, commit, body.files) {
        (Some(reference), expected, None) => PreviewTarget::reference(&reference, expected)
            .map_err(|error| Refusal::unprocessable("bad-ref", error.to_string(), REFERENCE_HELP)),
        (None, Some(commit), None) => Ok(PreviewTarget::Revision(Revision::Commit(commit), None)),
        (None, None, Some(files)) => {
            let files = files.into_iter().map(|(path, text)| (path, text.into_bytes()));
            let contents = body.contents.into_iter().map(content).collect::<Result<Vec<_>, _>>()?;
            let files = SentFiles::new(files, body.paths).and_then(|files| files.with_contents(contents));
            let files = files.map_err(|error| {
                let help =
                    "write paths relative to the directory of fleet.yaml, for example `fleet.d/nodes.yaml`";
                Refusal::unprocessable("bad-path", error.to_string(), help)
            })?;
            Ok(PreviewTarget::Files(files, name(body.name)?))
        }
        _ => Err(Refusal::unprocessable(
            "bad-value",
            "a preview needs exactly one of `ref`, `commit` and `files`",
            "send one of them; `commit` may accompany `ref`",
        )),
    }
}

/// The content at a path, as the sender of the files reports it.
fn content((path, text): (String, String)) -> Result<(String, ContentId), Refusal> {
    match ContentId::parse(&text) {
        Some(id) => Ok((path, id)),
        None => {
            let help = "send `blob:` (file) or `tree:` (directory) and the 40 hexadecimal digits of the git object id";
            Err(Refusal::unprocessable("bad-value", "not a git object id", help))
        }
    }
}

fn commit(text: &str) -> Result<CommitId, Refusal> {
    Ok(fetch::commit_id(text)?)
}

fn name(given: Option<String>) -> Result<String, Refusal> {
    let name = given.unwrap_or_else(|| UNNAMED.to_owned());
    let is_valid = (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    match is_valid {
        true => Ok(name),
        false => Err(Refusal::unprocessable(
            "bad-value",
            format!("a name must have 1 to {LONGEST_NAME} characters and no control characters"),
            "use the branch or the number of the pull request",
        )),
    }
}

/// The last previews of a repository.
pub async fn load_list(
    reading: &mut Reading,
    repository: &Repository,
    limit: usize,
) -> Result<Vec<PreviewInfo>, Refusal> {
    let kept = reading.previews(&repository.account_id, &repository.id, limit).await?;
    kept.into_iter().map(|preview| info(preview, repository)).collect()
}

/// A preview with its plan.
pub async fn load(
    reading: &mut Reading,
    who: &Identity,
    preview_id: &PreviewId,
) -> Result<PreviewInfo, Refusal> {
    let preview = reading.preview(&who.account_id, preview_id).await?.ok_or_else(Refusal::not_found)?;
    let repository = find(reading, who, preview.repository_id.as_str()).await?;
    info(preview, &repository)
}

fn info(preview: Preview, repository: &Repository) -> Result<PreviewInfo, Refusal> {
    let plan = match preview.document.as_str() {
        "" => Value::Null,
        document => serde_json::from_str(document).map_err(|error| {
            tracing::error!(%error, preview = preview.id.as_str(), "a stored preview cannot be read");
            let help = "create the preview again";
            Refusal::new(RefusalKind::Internal, "internal", "the preview cannot be read", help)
        })?,
    };
    Ok(PreviewInfo {
        id: preview.id.to_string(),
        repository_id: preview.repository_id.to_string(),
        repository_name: repository.name.clone(),
        path_prefix: repository.path_prefix.clone(),
        source: preview.source,
        reference: preview.reference,
        commit_sha: preview.commit_sha,
        base_commit: preview.base_commit,
        outcome: preview.outcome,
        changes: preview.changes,
        requested_by: preview.requested_by,
        created_at: preview.created_at.to_string(),
        plan,
    })
}
