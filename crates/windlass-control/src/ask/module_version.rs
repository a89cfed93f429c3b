//! The versions of a module: listing them, and changing their states.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::noun::Noun;
use windlass_api::types::{ModuleVersionInfo, ModuleVersionList, VersionOrigin, VersionUse};
use windlass_core::catalogue::{KnownModule, KnownModules};
use windlass_core::resource::{Kind, ModuleSpec, ResourceKey, Spec, version_name};
use windlass_core::shape::TextValue as _;
use windlass_core::value::{Lifecycle, Version};
use windlass_store::{Reading, Resource};

use crate::account_state::modules::load_known_modules;
use crate::ask::resource::change::{
    DirectAnswer, DirectChangeOptions, UpdateExtent, change_resource, check_reason, create_resource,
};
use crate::ask::resource::list::find;
use crate::caller::Identity;
use crate::control::Control;
use crate::refusal::Refusal;

/// A module and everything that is known of its versions.
struct FoundModule {
    name: String,
    known: KnownModule,
    /// The accepted module; none for one of the catalogue.
    accepted: Option<Resource>,
}

/// Finds a module by id or name, or by name in the catalogue.
async fn find_module(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<FoundModule, Refusal> {
    let accepted = match find(reading, who, Kind::Module, id_or_name).await {
        Ok(accepted) => Some(accepted),
        Err(refusal) if KnownModules::catalogue().module(id_or_name).is_none() => return Err(refusal),
        Err(_) => None,
    };
    let name = accepted.as_ref().map_or_else(|| id_or_name.to_owned(), |accepted| accepted.key.name.clone());
    let known = load_known_modules(reading, &who.account_id).await?;
    let known = known.module(&name).cloned().unwrap_or_default();
    Ok(FoundModule { name, known, accepted })
}

/// The versions of a module, newest first.
pub async fn list_versions(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<ModuleVersionList, Refusal> {
    let module = find_module(reading, who, id_or_name).await?;
    let made: BTreeMap<String, Resource> = reading
        .module_versions_of(&who.account_id, &module.name)
        .await?
        .into_iter()
        .map(|resource| (resource.key.name.clone(), resource))
        .collect();
    let mut versions = Vec::new();
    for (version, known) in module.known.versions.iter().rev() {
        let name = version_name(&module.name, version);
        versions.push(ModuleVersionInfo {
            version: Some(version.to_string()),
            state: known.state,
            ..module.info(name, &known.content, &made)
        });
    }
    if let Some(content) = &module.known.unnumbered {
        versions.push(module.info(module.name.clone(), content, &made));
    }
    count_uses(reading, who, &mut versions).await?;
    Ok(ModuleVersionList { module: module.name, versions })
}

impl FoundModule {
    fn info(
        &self,
        name: String,
        content: &ModuleSpec,
        made: &BTreeMap<String, Resource>,
    ) -> ModuleVersionInfo {
        let resource = made.get(&name);
        let current = self.accepted.as_ref().and_then(|accepted| match accepted.spec.as_ref() {
            Spec::Module(module) => Some(module.version.as_ref() == content.version.as_ref()),
            _ => None,
        });
        let is_current = current.unwrap_or(self.accepted.is_none());
        ModuleVersionInfo {
            version: None,
            state: Lifecycle::Live,
            content_digest: content.content_digest().to_string(),
            is_current,
            origin: match (resource, &self.accepted) {
                (Some(_), _) => VersionOrigin::Made,
                (None, Some(_)) if is_current => VersionOrigin::Module,
                (None, _) => VersionOrigin::Catalogue,
            },
            used_by: VersionUse::default(),
            updated_at: resource.map(|resource| resource.updated_at.to_string()),
            updated_by: resource.map(|resource| resource.updated_by.clone()),
            name,
        }
    }
}

async fn count_uses(
    reading: &mut Reading,
    who: &Identity,
    versions: &mut [ModuleVersionInfo],
) -> Result<(), Refusal> {
    let keys: Vec<ResourceKey> =
        versions.iter().map(|version| ResourceKey::new(Kind::ModuleVersion, version.name.as_str())).collect();
    for (target, kind, count) in reading.referrers_count(&who.account_id, &keys).await? {
        let Some(version) = versions.iter_mut().find(|version| version.name == target.name) else { continue };
        match kind {
            Kind::Template => version.used_by.templates = count,
            Kind::Module => version.used_by.modules = count,
            Kind::Assignment => version.used_by.assignments = count,
            Kind::ModuleVersion => version.used_by.versions = count,
            _ => {}
        }
    }
    Ok(())
}

/// Changes the state of a version if the gate allows it; otherwise opens a proposal. A version of the catalogue, or of a
/// module that was applied before versions existed, is stored with its new state.
pub async fn set_state(
    server: &Control,
    who: &Identity,
    (module, version): (&str, &str),
    state: Lifecycle,
    options: &DirectChangeOptions,
) -> Result<DirectAnswer, Refusal> {
    let mut reading = server.store().read().await?;
    let module = find_module(&mut reading, who, module).await?;
    let version = Version::read(version).map_err(|_| Refusal::not_found())?;
    let known = module.known.versions.get(&version).ok_or_else(Refusal::not_found)?;
    let name = version_name(&module.name, &version);
    let key = ResourceKey::new(Kind::ModuleVersion, name.as_str());
    let is_made = reading.resource(&who.account_id, &key).await?.is_some();
    drop(reading);
    let noun = Noun::NodeModuleVersion;
    if is_made {
        let body = json!({"state": state});
        return change_resource(server, who, (noun, &name, UpdateExtent::Fields), &body, options).await;
    }
    check_reason(known.state, state, options.reason.as_deref())?;
    let body = json!({"name": name, "state": state});
    create_resource(server, who, noun, &body, options.reason.as_deref()).await
}
