//! The forge settings of a repository, as requests describe them: checked before anything is stored.

use windlass_api::types::{ForgeFields, ForgeInfo};
use windlass_core::repository::{ForgeSettings, Repository};
use windlass_forge::api::{ForgeKind, repository_location};

use crate::config::ControlConfig;
use crate::outside::forge::target::{FORGE_KINDS_HELP, ForgeTarget};
use crate::refusal::Refusal;

/// The `kind` that turns reporting to the forge off.
const NONE: &str = "none";

fn invalid(message: &str, help: &str) -> Refusal {
    Refusal::unprocessable("bad-value", message, help)
}

/// Changes the given fields. Clears the last forge error, which was about the old settings.
pub(crate) fn change_forge(repository: &mut Repository, fields: ForgeFields) -> Result<(), Refusal> {
    repository.forge_error = None;
    if fields.kind.as_deref() == Some(NONE) {
        repository.forge = None;
        return Ok(());
    }
    let known = repository.forge.take();
    let kind = match (fields.kind, &known) {
        (Some(text), _) => ForgeKind::from_setting(&text)
            .ok_or_else(|| invalid("forge.kind: unknown kind of forge", FORGE_KINDS_HELP))?,
        (None, Some(known)) => known.kind,
        (None, None) => {
            let guessed = repository_location(&repository.repo_url)
                .and_then(|location| ForgeKind::of_host(&location.host));
            let message = "forge.kind: cannot detect the forge from repo_url";
            guessed.ok_or_else(|| invalid(message, FORGE_KINDS_HELP))?
        }
    };
    let known = known.unwrap_or(ForgeSettings {
        kind,
        api_url: None,
        project: None,
        credential_path: None,
        commit_status: true,
        comment: true,
        previews_of_forks: false,
    });
    let given = |given: Option<String>, known: Option<String>| match given {
        Some(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        None => known,
    };
    repository.forge = Some(ForgeSettings {
        kind,
        api_url: given(fields.api_url, known.api_url),
        project: given(fields.project, known.project),
        credential_path: given(fields.credential_path, known.credential_path),
        commit_status: fields.commit_status.unwrap_or(known.commit_status),
        comment: fields.comment.unwrap_or(known.comment),
        previews_of_forks: fields.previews_of_forks.unwrap_or(known.previews_of_forks),
    });
    Ok(())
}

/// Checks the forge settings without connecting to the forge.
pub(crate) fn check_forge(repository: &Repository, config: &ControlConfig) -> Result<(), Refusal> {
    let Some(settings) = &repository.forge else { return Ok(()) };
    let target = ForgeTarget::of(repository, settings, config);
    let target = target.map_err(|trouble| invalid(&trouble.message, &trouble.help))?;
    let is_plain = |c: char| !c.is_control();
    let path = &target.credential_path;
    if path.len() > 512 || !path.chars().all(is_plain) || path.contains("://") {
        let help = "write the path of the credential with the token, for example secret/data/gitops/forge";
        return Err(invalid("forge.credential_path: not a valid path", help));
    }
    Ok(())
}

/// The forge settings of a repository, as responses show them.
pub(crate) fn forge_info(repository: &Repository) -> Option<ForgeInfo> {
    let settings = repository.forge.as_ref()?;
    Some(ForgeInfo {
        kind: settings.kind,
        api_url: settings.api_url.clone(),
        project: settings.project.clone(),
        credential_path: settings.credential_path.clone(),
        commit_status: settings.commit_status,
        comment: settings.comment,
        previews_of_forks: settings.previews_of_forks,
        last_error: repository.forge_error.clone(),
    })
}
