//! Creating repositories in Gitea, the first step of the runbook.

use serde_json::json;
use windlass_api::types::{GiteaRepositoryBody, GiteaRepositoryInfo};
use windlass_forge::api::{ForgeError, NewRepository, Project, Visibility};

use crate::caller::Identity;
use crate::clock::now;
use crate::config::gitea::Gitea;
use crate::control::Control;
use crate::outside::forge::gitea::connect_gitea;
use crate::outside::forge::problem::ForgeProblem;
use crate::record;
use crate::refusal::{Refusal, RefusalKind};

/// Creates an empty repository in the operator's Gitea.
pub async fn create_repository(
    server: &Control,
    who: &Identity,
    body: &GiteaRepositoryBody,
) -> Result<GiteaRepositoryInfo, Refusal> {
    let gitea = gitea_of(server)?;
    let new = NewRepository {
        project: project_of(body)?,
        visibility: if body.private { Visibility::Private } else { Visibility::Public },
    };
    let _turn = server.remote_permits().take(&who.account_id).await?;
    let forge =
        connect_gitea(gitea, &who.account_name, &server.config().credentials).await.map_err(failed)?;
    let made = forge.create_repository(&new).await.map_err(refused)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let (target, private) =
        (("gitea_repository", made.full_name.as_str()), made.visibility == Visibility::Private);
    let detail = json!({"private": private, "html_url": made.html_url});
    writing.audit(record::audit_entry(&who.actor(), "gitea_repository.create", target, detail, now()));
    server.commit(writing).await?;
    Ok(GiteaRepositoryInfo {
        full_name: made.full_name,
        clone_url: made.clone_url,
        ssh_url: made.ssh_url,
        html_url: made.html_url,
        private,
        default_branch: made.default_branch,
    })
}

fn gitea_of(server: &Control) -> Result<&Gitea, Refusal> {
    server.config().gitea.as_ref().ok_or_else(|| {
        let message = "this server has no Gitea configured";
        let help =
            "start it with --gitea-url and --gitea-credential, or create the repository in Gitea yourself";
        Refusal::unprocessable("gitea-not-configured", message, help)
    })
}

fn project_of(body: &GiteaRepositoryBody) -> Result<Project, Refusal> {
    let is_one_part = !body.owner.contains('/') && !body.repo.contains('/');
    let project = Project::parse(&format!("{}/{}", body.owner, body.repo)).filter(|_| is_one_part);
    project.ok_or_else(|| {
        let message = "owner and repo may contain only letters, digits, dots, dashes and underscores";
        Refusal::unprocessable("bad-value", message, "write for example \"acme\" and \"fleet-config\"")
    })
}

/// Gitea's errors are about the operator's token, not the caller's, so none becomes "unauthorized" or "forbidden".
fn refused(error: ForgeError) -> Refusal {
    let kind = match &error {
        ForgeError::Exists { .. } => RefusalKind::Conflict,
        ForgeError::Refused { .. } | ForgeError::NoOwner { .. } => RefusalKind::Invalid,
        ForgeError::Busy { .. } => RefusalKind::Unavailable,
        _ => RefusalKind::Upstream,
    };
    Refusal::new(kind, error.code(), error.to_string(), error.help())
}

fn failed(trouble: ForgeProblem) -> Refusal {
    Refusal::new(RefusalKind::Unavailable, trouble.code, trouble.message, trouble.help)
}
