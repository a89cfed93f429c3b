//! Adopts a changed file of a host into git: the patch that makes git declare what is on the host.
//!
//! The file's content is known only from the difference that the agent reported, which leaves lines out and masks secrets.
//! Windlass restores it from the declared content and the difference. Where that is not possible, and for items that are
//! not files, the refusal says what to change where.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use windlass_api::types::{NodeAdopted, NodeItemBody};
use windlass_core::adopt::{EditedFile, adopt as adopt_accepted, observed_content, patch};
use windlass_core::display::error_chain;
use windlass_core::drift::DriftedItem;
use windlass_core::host::FieldDifference;
use windlass_core::manifest::ReadContext;
use windlass_core::repository::Repository;
use windlass_core::resource::{HostFile, Kind, ModuleSpec, ResourceKey, Spec};
use windlass_source::{CommitId, FileTree as _, Mirror};
use windlass_store::Reading;

use crate::account_state::accepted;
use crate::ask::adopt::{adopt_error, in_repository, work_on_mirror};
use crate::ask::node::detail::find_node;
use crate::ask::node::drift::NodeItems;
use crate::ask::node::resolve::find_item;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::fleet_at_commit::read_fleet_at;
use crate::record;
use crate::refusal::Refusal;
use crate::work::on_demand::run_to_completion;

/// The largest file that is adopted.
const MAX_FILE: usize = 1024 * 1024;

/// Creates the patch that makes git declare a file as it is on a host.
pub async fn adopt_item(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &NodeItemBody,
) -> Result<NodeAdopted, Refusal> {
    let mut reading = server.store().read().await?;
    let node = find_node(&mut reading, who, id_or_name).await?;
    let found = NodeItems::load(&mut reading, who, &node, now()).await?;
    let item = find_item(&found, &body.kind, &body.name)?.clone();
    let (module, repository) = module_of(&mut reading, who, &item).await?;
    let file = declared_file(&module, &item)?;
    let lines = changed_lines(&item)?;
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let context = accepted::reading_context(&mut reading, &account).await?;
    drop(reading);
    let Some(commit) = repository.good_commit.as_deref().and_then(CommitId::parse) else {
        return Err(Refusal::conflict("never-synced", "this repository was never synced", "sync it first"));
    };
    let plan = FetchPlan::of(&repository, &account.name, server).await?;
    let job = AdoptFileJob { commit, plan, context, module, item, file, lines };
    let turn = server.remote_permits().take(&who.account_id).await?;
    let work = move |_: &Control, directory: &Path| job.work(directory);
    let edited = run_to_completion(turn, work_on_mirror(server.clone(), repository.clone(), work)).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let detail = json!({"item": format!("{} {}", body.kind, body.name), "repository": repository.name,
        "files": edited.iter().map(|file| file.path.clone()).collect::<Vec<_>>()});
    let name = &node.resource.key.name;
    writing.audit(record::audit_entry(&who.actor(), "node.drift_adopt", ("node", name), detail, now()));
    writing.keep_state();
    server.commit(writing).await?;
    let path = edited.first().map(|file| file.path.clone()).unwrap_or_default();
    Ok(NodeAdopted { repository: repository.name, path, patch: patch(&edited) })
}

/// The module of an item, as it is accepted, and the repository that declares it.
async fn module_of(
    reading: &mut Reading,
    who: &Identity,
    item: &DriftedItem,
) -> Result<(ModuleSpec, Repository), Refusal> {
    let key = ResourceKey::new(Kind::Module, item.module.clone());
    let elsewhere = |help: &str| {
        Refusal::conflict("adopt", format!("no repository declares module {}", item.module), help)
    };
    let module = reading.resource(&who.account_id, &key).await?;
    let module = module.ok_or_else(|| elsewhere("change the node's `config` in fleet.yaml, or revert"))?;
    let owner =
        module.owner_id.as_ref().ok_or_else(|| elsewhere("change the module in Windlass, or revert"))?;
    let repository =
        reading.repository(&who.account_id, owner.as_str()).await?.ok_or_else(Refusal::not_found)?;
    match module.spec.as_ref() {
        Spec::Module(spec) => Ok((spec.clone(), repository)),
        _ => Err(Refusal::not_found()),
    }
}

fn manual(message: String, help: String) -> Refusal {
    Refusal::conflict("adopt", message, help)
}

/// The file that a module declares for an item.
fn declared_file(module: &ModuleSpec, item: &DriftedItem) -> Result<HostFile, Refusal> {
    let DriftedItem { key, module: name, .. } = item;
    let files = module.host.as_ref().map(|host| &host.files);
    let found = files.and_then(|files| files.iter().find(|(path, _)| path.as_str() == key.name));
    let Some((_, file)) = found.filter(|_| key.kind == "path") else {
        let help = format!(
            "declare what you want to keep in `host` of module {name} in fleet.yaml, and open a pull request"
        );
        return Err(manual(format!("{key} is not a file with a content, and cannot be adopted"), help));
    };
    let is_filled = match (&file.content, &file.source) {
        (Some(content), _) => content.contains("{{"),
        (None, _) => file.template,
    };
    if is_filled {
        let place = file.source.as_ref().map_or_else(
            || format!("`content` of {} in module {name}", key.name),
            |source| format!("{source} in the repository"),
        );
        let help = format!("copy the change from the host into {place}, and keep its {{{{ … }}}}");
        return Err(manual(format!("{} is made from a template", key.name), help));
    }
    Ok(file.clone())
}

/// The lines of an item that differ. Only the content may differ: permissions are declared elsewhere.
fn changed_lines(item: &DriftedItem) -> Result<String, Refusal> {
    let name = &item.key.name;
    let lines = item.fields.iter().find_map(|field| match field {
        FieldDifference::Content(file) => file.lines.clone(),
        FieldDifference::Value { .. } => None,
    });
    lines.ok_or_else(|| {
        let help = format!(
            "change mode, owner or content of {name} in module {} in fleet.yaml, and open a pull request",
            item.module
        );
        manual(format!("the content of {name} on the host is not known"), help)
    })
}

/// Everything that is needed on the thread that may block.
struct AdoptFileJob {
    commit: CommitId,
    plan: FetchPlan,
    context: ReadContext,
    module: ModuleSpec,
    item: DriftedItem,
    file: HostFile,
    lines: String,
}

impl AdoptFileJob {
    fn work(self, directory: &Path) -> Result<Vec<EditedFile>, Refusal> {
        let local = |error: &dyn std::error::Error| {
            Refusal::conflict("local", error_chain(error), "sync the repository again, then retry")
        };
        let mirror = Mirror::open_or_create(directory).map_err(|error| local(&error))?;
        let tree = mirror.tree(&self.commit, &self.plan.prefix).map_err(|error| local(&error))?;
        let edited = match &self.file.source {
            Some(source) => {
                let bytes = tree.read(source.as_str()).map_err(|error| local(&error))?;
                let text = String::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_FILE);
                let before =
                    text.ok_or_else(|| self.unknown("the file in the repository is not a short text"))?;
                let after = self.observed(&before)?;
                vec![EditedFile { path: source.to_string(), before: before.into(), after }]
            }
            None => {
                let fleet = read_fleet_at(&tree, &self.context).fleet;
                let key = ResourceKey::new(Kind::Module, self.item.module.clone());
                let wanted = [(key, Some(Arc::new(Spec::Module(self.changed_module()?))))];
                adopt_accepted(&fleet, &wanted, &self.context).map_err(adopt_error)?
            }
        };
        Ok(in_repository(edited, self.plan.prefix.as_str()))
    }

    fn unknown(&self, why: &str) -> Refusal {
        let name = &self.item.key.name;
        let place = self.file.source.as_ref().map_or_else(
            || format!("`content` of {name} in module {}", self.item.module),
            |source| format!("{source} in the repository"),
        );
        manual(
            format!("{name} cannot be adopted: {why}"),
            format!("copy the file from the host into {place}"),
        )
    }

    /// The content on the host.
    fn observed(&self, declared: &str) -> Result<String, Refusal> {
        observed_content(declared, &self.lines).map_err(|error| self.unknown(&error.to_string()))
    }

    /// The module with the content on the host.
    fn changed_module(&self) -> Result<ModuleSpec, Refusal> {
        let mut module = self.module.clone();
        let observed = self.observed(self.file.content.as_deref().unwrap_or_default())?;
        let files = module.host.as_mut().map(|host| &mut host.files);
        let declared = files.and_then(|files| {
            files.iter_mut().find(|(path, _)| path.as_str() == self.item.key.name).map(|(_, file)| file)
        });
        if let Some(file) = declared {
            file.content = Some(observed);
        }
        Ok(module)
    }
}
