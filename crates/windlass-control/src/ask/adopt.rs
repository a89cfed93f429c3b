//! Adopting drift into git: the change to the files that declares the accepted state.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use windlass_api::types::{AdoptBody, Adopted};
use windlass_core::adopt::{AdoptError, EditedFile, adopt as adopt_accepted, patch};
use windlass_core::display::error_chain;
use windlass_core::manifest::ReadContext;
use windlass_core::quarantine::WorkEnd;
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, Spec};
use windlass_source::{Branch, CommitAuthor, CommitId, Mirror, NewFile, Push};
use windlass_store::Reading;

use crate::account_state::accepted;
use crate::ask::drift::{find_difference, read_key};
use crate::ask::repository::find::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::failure::panic_error;
use crate::flow::drift::differences::differences_of;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::fleet_at_commit::read_fleet_at;
use crate::limits::isolation::WorkPermit;
use crate::record;
use crate::refusal::Refusal;
use crate::work::on_demand::{OnDemandWork, run_on_demand, run_to_completion};

/// Creates the change that writes the accepted state into git, and pushes it if the body names a branch.
pub async fn adopt_resources(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &AdoptBody,
) -> Result<Adopted, Refusal> {
    let branch = body.branch.as_deref().map(Branch::parse).transpose();
    let branch =
        branch.map_err(|error| Refusal::unprocessable("bad-value", error.to_string(), error.help()))?;
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, who, id_or_name).await?;
    let wanted = resources_to_adopt(&mut reading, who, &repository, body).await?;
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let context = accepted::reading_context(&mut reading, &account).await?;
    drop(reading);
    let Some(commit) = repository.good_commit.as_deref().and_then(CommitId::parse) else {
        return Err(Refusal::conflict("never-synced", "this repository was never synced", "sync it first"));
    };
    let plan = FetchPlan::of(&repository, &account.name, server).await?;
    let job = AdoptJob { commit, plan, wanted, context, branch: branch.clone(), author: who.email.clone() };
    let turn = server.remote_permits().take(&who.account_id).await?;
    let work = move |server: &Control, directory: &Path| job.work(server, directory);
    let (edited, pushed) =
        run_to_completion(turn, work_on_mirror(server.clone(), repository.clone(), work)).await?;
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let detail = json!({"branch": branch.as_ref().map(Branch::as_str), "commit_sha": pushed,
        "files": edited.iter().map(|file| file.path.clone()).collect::<Vec<_>>()});
    writing.audit(record::audit_entry(
        &who.actor(),
        "drift.adopt",
        ("repository", &repository.name),
        detail,
        now,
    ));
    server.commit(writing).await?;
    let branch = pushed.as_ref().and(body.branch.clone());
    Ok(Adopted { patch: patch(&edited), branch, commit_sha: pushed })
}

/// Does work with the mirror of a repository, on a thread that may block.
pub(crate) async fn work_on_mirror<T: Send + 'static>(
    server: Control,
    repository: Repository,
    work_in: impl FnOnce(&Control, &Path) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let directory = server.mirror_directory(&repository.id);
    let work = |permit: WorkPermit| {
        let server = server.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work_in(&server, &directory)
        });
        async move { task.await.map_err(|panic| panic_error(&panic))? }
    };
    let end_of = |done: &Result<_, Refusal>| match done {
        Ok(_) => WorkEnd::ReadThrough,
        Err(_) => WorkEnd::Failed,
    };
    run_on_demand(&server, &OnDemandWork::ReadsRepository(repository), work, end_of).await
}

/// The resources to adopt: each key with its accepted spec, none if the resource is not accepted.
type AdoptTargets = Vec<(ResourceKey, Option<Arc<Spec>>)>;

async fn resources_to_adopt(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    body: &AdoptBody,
) -> Result<AdoptTargets, Refusal> {
    let found = differences_of(reading, &who.account_id, &repository.id).await?;
    let keys: Vec<ResourceKey> = match body.resources.is_empty() {
        true => found.manual_changes().map(|difference| difference.key.clone()).collect(),
        false => {
            let named: Result<Vec<_>, _> =
                body.resources.iter().map(|target| read_key(&target.kind, &target.name)).collect();
            named?
        }
    };
    if keys.is_empty() {
        return Err(Refusal::conflict("no-difference", "no resource has drifted", "see the drift report"));
    }
    let mut wanted = Vec::with_capacity(keys.len());
    for key in keys {
        find_difference(&found, &key)?;
        let accepted = reading.resource(&who.account_id, &key).await?.map(|accepted| accepted.spec);
        wanted.push((key, accepted));
    }
    Ok(wanted)
}

/// Everything that is needed on the thread that may block.
struct AdoptJob {
    commit: CommitId,
    plan: FetchPlan,
    wanted: AdoptTargets,
    context: ReadContext,
    branch: Option<Branch>,
    author: String,
}

impl AdoptJob {
    fn work(&self, server: &Control, directory: &Path) -> Result<(Vec<EditedFile>, Option<String>), Refusal> {
        let local = |error: &dyn std::error::Error| {
            Refusal::conflict("local", error_chain(error), "sync the repository again, then retry")
        };
        let mirror = Mirror::open_or_create(directory).map_err(|error| local(&error))?;
        let tree = mirror.tree(&self.commit, &self.plan.prefix).map_err(|error| local(&error))?;
        let fleet = read_fleet_at(&tree, &self.context).fleet;
        let edited = adopt_accepted(&fleet, &self.wanted, &self.context).map_err(adopt_error)?;
        let edited = in_repository(edited, self.plan.prefix.as_str());
        let Some(branch) = &self.branch else { return Ok((edited, None)) };
        let files: Vec<NewFile> = edited
            .iter()
            .map(|file| NewFile { path: file.path.clone(), content: file.after.clone().into_bytes() })
            .collect();
        let author = CommitAuthor { name: self.author.clone(), email: self.author.clone(), at: now() };
        let names: Vec<String> = self.wanted.iter().map(|(key, _)| key.to_string()).collect();
        let message = format!("Adopt the accepted state\n\n{}\n", names.join("\n"));
        let push = Push { base: &self.commit, branch, files: &files, message: &message, author: &author };
        let pushed = mirror.push_branch(&self.plan.options(server), &push).map_err(|error| {
            let help =
                "check that the credential has write permission and the branch does not exist yet, or use the patch \
                    instead";
            Refusal::conflict("push", error_chain(&error), help)
        })?;
        Ok((edited, Some(pushed.as_str().to_owned())))
    }
}

/// The same files with paths relative to the repository's root.
pub(crate) fn in_repository(edited: Vec<EditedFile>, prefix: &str) -> Vec<EditedFile> {
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    edited.into_iter().map(|file| EditedFile { path: format!("{prefix}{}", file.path), ..file }).collect()
}

pub(crate) fn adopt_error(error: AdoptError) -> Refusal {
    let help = match &error {
        AdoptError::Secret { .. } => {
            let help =
                "store it in Vault and write a reference such as `vault:path#field`, or revert the change";
            return Refusal::unprocessable("secret-inline", error.to_string(), help);
        }
        AdoptError::NeedsManualEdit { suggestion, .. } => format!("edit the file yourself:\n{suggestion}"),
        _ => "see the repository's last run".to_owned(),
    };
    Refusal::conflict("adopt", error.to_string(), help)
}
