//! `windlass node render`: what a node shall be, from a server or from files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use windlass_api::endpoint::Operation;
use windlass_api::types::NodeRender;
use windlass_core::accepted::{Accepted, Owner};
use windlass_core::catalogue::modules_beside;
use windlass_core::content::FileSide;
use windlass_core::host::{BlobDigest, BlobRef, ModulePackage, ModuleVersion, ModuleVersions, NodeResolver};
use windlass_core::manifest::ReadContext;
use windlass_core::resource::{Kind, ModuleSpec, Spec};
use windlass_core::value::Lifecycle;
use windlass_source::Objects;

use crate::args::node_render::RenderOptions;
use crate::args::server::{Output, ServerOptions};
use crate::commands::load::{self, LoadedFleet};
use crate::commands::remote::ServerConnection;
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// The largest file of a module, as on a server.
const MAX_FILE_BYTES: u64 = 16 << 20;

pub(super) fn run(
    options: &RenderOptions,
    server: ServerOptions,
    terminal: Terminal,
) -> Result<Exit, CommandError> {
    match &options.dir {
        None => from_server(&options.name, server, terminal),
        Some(dir) => from_directory(&options.name, dir, server.output.unwrap_or_default(), &terminal),
    }
}

fn from_server(name: &str, server: ServerOptions, terminal: Terminal) -> Result<Exit, CommandError> {
    let remote = ServerConnection::open(server, terminal)?;
    let answer = remote.ask(remote.call(Operation::NodeRender, &[name]))?;
    let rendered = remote.show::<NodeRender>(&answer, view::node_render::render)?;
    Ok(exit_of(&rendered))
}

/// Without a server, everything that the files declare counts as accepted.
fn from_directory(name: &str, dir: &Path, output: Output, terminal: &Terminal) -> Result<Exit, CommandError> {
    let loaded = load::from_path(dir, &ReadContext::offline());
    if loaded.has_errors() {
        let help = format!("`windlass validate {}` shows them", dir.display());
        return Err(CommandError::failed("the fleet has problems", help));
    }
    let rendered = rendered(name, &loaded)?;
    let json = serde_json::to_value(&rendered).unwrap_or_default();
    match output {
        Output::Human => view::node_render::render(&rendered, terminal)?,
        Output::Json => view::json::document(&json)?,
        Output::Yaml => view::yaml::document(&json)?,
    }
    Ok(exit_of(&rendered))
}

/// A node with problems keeps what it has.
fn exit_of(rendered: &NodeRender) -> Exit {
    if rendered.problems.is_empty() { Exit::Fine } else { Exit::Problems }
}

fn rendered(name: &str, loaded: &LoadedFleet) -> Result<NodeRender, CommandError> {
    let accepted = Accepted::from_desired(&loaded.fleet.desired, &Owner::Nobody);
    if !accepted.resources.contains(Kind::Node, name) {
        let help = "the fleet must declare it under `nodes`";
        return Err(CommandError::failed(format!("there is no node {name}"), help));
    }
    let mut modules = OfflineModules::default();
    let own: BTreeSet<&str> = accepted.resources.of_kind(Kind::Module).map(|(name, _)| name).collect();
    for (module, accepted) in accepted.resources.of_kind(Kind::Module) {
        if let Spec::Module(spec) = accepted.spec.as_ref() {
            modules.add(module, spec, Lifecycle::Live, loaded.objects.as_ref())?;
        }
    }
    for (module, spec, state) in modules_beside(&own) {
        if let Spec::Module(spec) = spec {
            modules.add(module, spec, state, loaded.objects.as_ref())?;
        }
    }
    Ok(match NodeResolver::new(&accepted, &modules.versions).resolve(name) {
        Ok(resolved) => NodeRender::of(name, &resolved, &modules.packages),
        Err(problem) => NodeRender::unresolved(name, problem.to_string()),
    })
}

/// The modules of a fleet in files, with their content.
#[derive(Default)]
struct OfflineModules {
    versions: ModuleVersions,
    packages: BTreeMap<BlobDigest, ModulePackage>,
}

impl OfflineModules {
    fn add(
        &mut self,
        name: &str,
        spec: &ModuleSpec,
        state: Lifecycle,
        objects: &dyn Objects,
    ) -> Result<(), CommandError> {
        let mut files = BTreeMap::new();
        let named = spec.host.iter().flat_map(|host| host.files.values());
        for path in named.filter_map(|file| file.source.as_ref()) {
            let content = path.content().map(|content| objects.file(content.as_bytes(), MAX_FILE_BYTES));
            let Some(Ok(Some(FileSide::Bytes(bytes)))) = content else {
                let help = "the path must be a file of at most 16 MiB";
                return Err(CommandError::failed(format!("cannot read {path} of module {name}"), help));
            };
            let blob = BlobRef { digest: BlobDigest::of(&bytes), size: bytes.len() as u64 };
            files.insert(path.as_str().to_owned(), blob);
        }
        let package = ModulePackage { name: name.to_owned(), spec: spec.clone(), files };
        let (version, spec) = (spec.version.clone(), Arc::new(spec.clone()));
        let digest = package.digest();
        self.versions.add(name, ModuleVersion { version, state, spec, package: digest });
        self.packages.insert(digest, package);
        Ok(())
    }
}
