//! Accepted state as fleet.yaml. Values that look like secrets are masked unless someone with the permission requests them.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_core::export::{ExportedFiles, HiddenValues, OmittedResource, SectionForm, fleet_files};
use windlass_core::resource::Kind;
use windlass_core::secret::HIDDEN;

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// In which form resources are listed.
pub fn read_form(text: Option<&str>) -> Result<SectionForm, Refusal> {
    match text {
        None | Some("list") => Ok(SectionForm::List),
        Some("map") => Ok(SectionForm::Map),
        Some(_) => Err(Refusal::bad_request("form must be list or map", "")),
    }
}

/// Whether hidden values are masked or shown. Showing them needs a permission.
pub fn read_values(who: &Identity, text: Option<&str>) -> Result<HiddenValues, Refusal> {
    let permission = Permission::FleetExportSecrets;
    match text {
        None | Some("mask") => Ok(HiddenValues::Masked),
        Some("show") if who.permissions.contains(&permission) => Ok(HiddenValues::Shown),
        Some("show") => Err(Refusal::forbidden(
            format!("exporting secret values needs the permission {permission}"),
            "omit `secrets` to export masked values, or ask an admin",
        )),
        Some(_) => Err(Refusal::bad_request("secrets must be mask or show", "")),
    }
}

/// The files that declare the accepted resources of the account or of one repository.
pub async fn export_fleet(
    server: &Control,
    who: &Identity,
    repository: Option<&str>,
    (form, values): (SectionForm, HiddenValues),
) -> Result<ExportedFiles, Refusal> {
    let mut reading = server.store().read().await?;
    let owner = match repository {
        Some(repository) => {
            Some(reading.repository(&who.account_id, repository).await?.ok_or_else(Refusal::not_found)?.id)
        }
        None => None,
    };
    let mut resources = reading.resources_all(&who.account_id, owner.as_ref()).await?;
    drop(reading);
    // Applying a module makes its version: only a version that a repository declares belongs in a file.
    resources.retain(|resource| resource.key.kind != Kind::ModuleVersion || resource.owner_id.is_some());
    if values == HiddenValues::Shown {
        record(server, who, repository).await?;
    }
    let exported = fleet_files(
        &who.account_name,
        resources.iter().map(|resource| (resource.key.name.as_str(), resource.spec.as_ref())),
        form,
        values,
    );
    if !exported.left_out.is_empty() {
        let left: Vec<String> = exported.left_out.iter().map(ToString::to_string).collect();
        tracing::warn!(left = left.join("; "), "an export left something out");
    }
    Ok(exported)
}

/// Writes the audit entry before any secret leaves the server.
async fn record(server: &Control, who: &Identity, repository: Option<&str>) -> Result<(), Refusal> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let target = ("account", who.account_name.as_str());
    let detail = json!({"repository": repository});
    writing.audit(record::audit_entry(&who.actor(), "fleet.export_secrets", target, detail, now()));
    Ok(server.commit(writing).await?)
}

/// A comment for the file: how many values are masked, and how to export them.
pub fn masked_comment(masked: usize) -> String {
    if masked == 0 {
        return String::new();
    }
    let values = if masked == 1 { "1 value is".to_owned() } else { format!("{masked} values are") };
    format!(
        "# {values} masked as {HIDDEN}; Windlass does not read this file as it is.\n\
         # Someone with {} gets the values with `windlass export --show-secrets`.\n",
        Permission::FleetExportSecrets
    )
}

/// What could not be exported, as comments for the file.
pub fn left_out_comment(left_out: &[OmittedResource]) -> String {
    left_out.iter().map(|left| format!("# left out: {left}\n")).collect()
}
