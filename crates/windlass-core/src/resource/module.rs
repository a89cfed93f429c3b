//! Modules: units of configuration for machines, and what the host agent applies for them.

use std::collections::{BTreeMap, BTreeSet};

use super::kind::Kind;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::shape::{Bounded, Decoder, FreeSettings, choice, record};
use crate::value::{AbsolutePath, FileMode, ModulePin, Name, RepositoryPath, SettingName, UnitName, Version};
use crate::yaml::NodeRef;

/// The priority of a module. The range covers any scheme of tens and hundreds.
pub(crate) type Priority = Bounded<0, 1_000_000>;

choice! {
    /// What sort of module it is.
    pub enum Variety {
        /// Configuration laid over a machine.
        Config = "config",
        /// Something the machine subscribes to and follows.
        Subscription = "subscription",
        /// Bound to a single machine.
        Instance = "instance",
    }
}

choice! {
    /// Whether a service runs.
    pub enum ServiceState {
        /// Started, and started again when it stopped.
        Running = "running",
        /// Stopped.
        Stopped = "stopped",
    }
}

record! {
    /// A module is a unit of configuration: packages, files, services and kernel settings that belong together.
    /// Templates and assignments bring modules to nodes.
    pub struct ModuleSpec {
        /// What the module does, shown to reviewers.
        description: String = String::new() => "Public web server",
        /// Where two modules set the same thing, the higher priority wins.
        priority: Priority = Bounded(50) => "50",
        /// What sort of module it is.
        variety: Variety = Variety::Config => "config",
        /// The version these fields describe. Once applied it is the module's newest live version.
        version: Option<Version> = None => "1.26.0",
        /// Modules that must be on the machine too.
        depends_on: BTreeSet<ModulePin> = BTreeSet::new() => "[system-base@1.0.0]",
        /// Settings of the module, usable in `host` as `{{ config.name }}`. Assignments and nodes can override them.
        config: FreeSettings = FreeSettings::default() => "{nginx_workers: 4}",
        /// What the host agent makes true on the machine.
        host: Option<HostSpec> = None => "{packages: [nginx]}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

record! {
    /// What the host agent makes true on a machine. Values may use `{{ config.x }}` and `{{ node.x }}`.
    pub struct HostSpec {
        /// Packages to install.
        packages: BTreeSet<Name> = BTreeSet::new() => "[nginx]",
        /// Files to write, by absolute path.
        files: BTreeMap<AbsolutePath, HostFile> = BTreeMap::new() => "{/etc/motd: {content: hello}}",
        /// Services to keep in a state.
        services: BTreeMap<UnitName, HostService> = BTreeMap::new() => "{nginx: {state: running}}",
        /// Kernel settings.
        sysctl: BTreeMap<SettingName, serde_json::Value> = BTreeMap::new() => "{net.ipv4.ip_forward: 1}",
    }
}

record! {
    /// A file on a machine, given by its content or by a file of the repository.
    pub struct HostFile {
        /// The content itself. Either this or `source`.
        content: Option<String> = None => "worker_processes {{ config.nginx_workers }};",
        /// A file of the repository, relative to fleet.yaml. Either this or `content`.
        source: Option<RepositoryPath> = None => "files/nginx.conf",
        /// Permission bits, in octal.
        mode: FileMode = FileMode(0o644) => "\"0644\"",
        /// The user that owns the file.
        owner: Name = root() => "root",
        /// The group that owns the file.
        group: Name = root() => "root",
    }
    check HostFile::check
}

impl HostFile {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        decoder.exactly_one(node, &[("content", self.content.is_some()), ("source", self.source.is_some())])
    }
}

record! {
    /// The state of a service.
    pub struct HostService {
        /// Whether it runs.
        state: ServiceState = ServiceState::Running => "running",
        /// Whether it starts with the machine.
        enabled: bool = true => "true",
        /// Files whose change reloads it.
        reload_on: BTreeSet<AbsolutePath> = BTreeSet::new() => "[/etc/nginx/nginx.conf]",
        /// Files whose change restarts it.
        restart_on: BTreeSet<AbsolutePath> = BTreeSet::new() => "[/etc/default/nginx]",
    }
}

fn root() -> Name {
    crate::shape::TextValue::read("root").expect("root is a name")
}

impl ResourceSpec for ModuleSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        for (index, pin) in self.depends_on.iter().enumerate() {
            visit(Reference::new(Kind::Module, pin.name.as_str(), SpecPath::Item("depends_on", index)));
        }
    }

    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
        self.host
            .iter()
            .flat_map(|host| host.files.values())
            .filter_map(|file| file.source.as_ref())
            .for_each(|source| visit(source, SpecPath::Inside("host", "source")));
    }

    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        self.host
            .iter_mut()
            .flat_map(|host| host.files.values_mut())
            .filter_map(|file| file.source.as_mut())
            .for_each(visit);
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
