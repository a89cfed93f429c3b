//! What would change on a server: `windlass plan --server`, which sends the files of a directory, and `windlass repo
//! preview`, which has the server look at a reference or a commit. Nothing is proposed by either.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::types::{PreviewBody, PreviewEnvelope, PreviewInfo};
use windlass_core::diagnostic::LineIndex;
use windlass_core::display::{PlanView, markdown};
use windlass_core::manifest::FLEET_FILE;
use windlass_core::plan::{ParsedPlan, Plan};

use super::load::{self, FilesToSend};
use super::remote::ServerConnection;
use crate::args::repository::PreviewOptions;
use crate::args::server::{Output, RootServerOptions, ServerOptions};
use crate::args::{PlanFormat, PlanOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// Plans the files of a directory against the accepted state on a server.
pub(super) fn plan(
    options: &PlanOptions,
    root: RootServerOptions,
    terminal: &Terminal,
) -> Result<Exit, CommandError> {
    let Some(repository) = &options.repository else {
        let help = "add --repository NAME: the plan compares the files with one repository's accepted state";
        return Err(CommandError::usage("no repository was given", help));
    };
    let collected = load::read_files_to_send(&options.path);
    if !collected.problems.is_empty() {
        return unreadable(&collected, options.format, terminal);
    }
    let server = ServerOptions {
        server: options.server.clone().filter(|address| !address.is_empty()),
        account: options.account.first().cloned(),
        ..ServerOptions::default()
    };
    let remote = ServerConnection::open(server.or(root), *terminal)?;
    let body = PreviewBody {
        files: Some(files(&collected)?),
        paths: collected.contents.keys().cloned().collect(),
        contents: collected.contents.iter().map(|(path, id)| (path.clone(), id.to_string())).collect(),
        name: options.name.clone(),
        confirm_mass_destroy: options.confirm_mass_destroy,
        ..PreviewBody::default()
    };
    let answer: PreviewEnvelope =
        remote.get(remote.call(Operation::PreviewCreate, &[repository]).body(&body))?;
    let mut plan = read(&answer.preview)?;
    place(&mut plan, &answer.preview, &collected);
    let address = format!("{}/app/previews/{}", remote.client.server(), answer.preview.id);
    let shown = PlanView::read(&plan);
    match options.format {
        PlanFormat::Human => {
            view::human::plan(&shown, &|file| collected.text(file), terminal)?;
            view::note(&format!("Nothing was proposed. View in the web app: {address}"))?;
        }
        PlanFormat::Json => {
            let mut document = answer.preview.plan.clone();
            document["problems"] = json!(plan.problems);
            view::json::document(&document)?;
        }
        PlanFormat::Markdown => {
            view::text(&markdown(&shown))?;
            view::text(&format!("\n[View in Windlass](<{address}>)\n"))?;
        }
    }
    Ok(exit(&shown))
}

/// Has the server look at a reference or a commit.
pub(super) fn of_revision(options: &PreviewOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let body = PreviewBody {
        reference: options.reference.clone(),
        commit: options.commit.clone(),
        confirm_mass_destroy: options.confirm_mass_destroy,
        ..PreviewBody::default()
    };
    let answer = remote.ask(remote.call(Operation::PreviewCreate, &[&options.repo]).body(&body))?;
    let envelope: PreviewEnvelope = remote.read(&answer)?;
    let plan = read(&envelope.preview)?;
    let shown = PlanView::read(&plan);
    match remote.output() {
        Output::Human => {
            view::human::plan(&shown, &|_| None, &remote.terminal)?;
            let PreviewInfo { reference, commit_sha, id, .. } = &envelope.preview;
            let commit = commit_sha.as_deref().unwrap_or_default();
            let address = format!("{}/app/previews/{id}", remote.client.server());
            view::note(&format!(
                "Nothing was proposed: preview of {reference} at {commit}. View in the web app: {address}"
            ))?;
        }
        Output::Json | Output::Yaml => remote.print(&answer)?,
    }
    Ok(exit(&shown))
}

fn exit(shown: &PlanView<'_>) -> Exit {
    match (shown.has_errors(), shown.is_empty()) {
        (true, _) => Exit::Problems,
        (false, true) => Exit::Fine,
        (false, false) => Exit::Changes,
    }
}

fn read(preview: &PreviewInfo) -> Result<ParsedPlan, CommandError> {
    serde_json::from_value(preview.plan.clone()).map_err(|error| {
        let help = "use the same version of windlass here and on the server";
        CommandError::failed("cannot parse the server's plan", help).because(error)
    })
}

/// What cannot be read here is not sent.
fn unreadable(
    collected: &FilesToSend,
    format: PlanFormat,
    terminal: &Terminal,
) -> Result<Exit, CommandError> {
    let plan = Plan::nothing("");
    let shown = PlanView { problems: &collected.problems, from: "accepted state", ..PlanView::of(&plan) };
    match format {
        PlanFormat::Human => view::human::plan(&shown, &|file| collected.text(file), terminal)?,
        PlanFormat::Json => view::json::document(&shown.document(&plan))?,
        PlanFormat::Markdown => view::text(&markdown(&shown))?,
    }
    Ok(Exit::Problems)
}

/// The files as they are sent. The root file has the name that the server looks for.
fn files(collected: &FilesToSend) -> Result<BTreeMap<String, String>, CommandError> {
    let text = |bytes: &[u8], path: &str| {
        String::from_utf8(bytes.to_vec()).map_err(|_| {
            let message = format!("{}{path} is not UTF-8 text", collected.prefix);
            CommandError::failed(message, "`windlass validate` shows where")
        })
    };
    let mut files = BTreeMap::new();
    for file in &collected.files {
        let name = if file.path == collected.root { FLEET_FILE } else { &file.path };
        files.insert(name.to_owned(), text(&file.bytes, &file.path)?);
    }
    Ok(files)
}

/// Names files as they are seen from here, and finds the places of problems in them.
fn place(plan: &mut ParsedPlan, preview: &PreviewInfo, collected: &FilesToSend) {
    let prefix = match preview.path_prefix.as_str() {
        "" => String::new(),
        prefix => format!("{prefix}/"),
    };
    for problem in plan.problems.iter_mut().filter(|problem| !problem.file.is_empty()) {
        let path = problem.file.strip_prefix(&prefix).unwrap_or(&problem.file);
        let path = if path == FLEET_FILE { &collected.root } else { path };
        problem.file = format!("{}{path}", collected.prefix);
        if let Some(text) = collected.text(&problem.file) {
            let at = LineIndex::new(text).byte_at(problem.line, problem.column);
            problem.span = at..at;
        }
    }
}
