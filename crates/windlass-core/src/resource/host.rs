//! What a module makes of a machine: packages, files, services and the rest of `host`.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::{Bounded, Decoder, choice, record};
use crate::value::{
    AbsolutePath, AccountName, CheckCommand, FileMode, PackageName, PackagePin, RepositoryPath, Schedule,
    SettingName, SshPublicKey, UnitName,
};
use crate::yaml::NodeRef;

/// The number of a user or a group.
pub(crate) type AccountId = Bounded<0, 4_294_967_294>;

record! {
    /// What the host agent makes true on a machine. Texts may use `{{ config.x }}` and `{{ node.x }}`.
    pub struct HostSpec {
        /// Packages to install, each pinned to a version (`nginx=1.26.*`) or not.
        packages: BTreeSet<PackagePin> = BTreeSet::new() => "[nginx]",
        /// Installed packages that upgrades of the machine leave as they are.
        hold: BTreeSet<PackageName> = BTreeSet::new() => "[nginx]",
        /// Groups to create.
        groups: BTreeMap<AccountName, HostGroup> = BTreeMap::new() => "{deploy: {}}",
        /// Users to create.
        users: BTreeMap<AccountName, HostUser> = BTreeMap::new() => "{deploy: {shell: /bin/bash}}",
        /// Directories to create, by absolute path.
        directories: BTreeMap<AbsolutePath, HostDirectory> = BTreeMap::new() => "{/srv/www: {owner: deploy}}",
        /// Files to write, by absolute path.
        files: BTreeMap<AbsolutePath, HostFile> = BTreeMap::new() => "{/etc/motd: {content: hello}}",
        /// Symbolic links to create, by absolute path.
        links: BTreeMap<AbsolutePath, HostLink> = BTreeMap::new() => "{/srv/current: {to: /srv/v2}}",
        /// Services to keep in a state.
        services: BTreeMap<UnitName, HostService> = BTreeMap::new() => "{nginx: {state: running}}",
        /// Kernel settings.
        sysctl: BTreeMap<SettingName, serde_json::Value> = BTreeMap::new() => "{net.ipv4.ip_forward: 1}",
        /// Commands to run on a schedule.
        timers: BTreeMap<UnitName, HostTimer> = BTreeMap::new() => "{backup: {schedule: \"30 3 * * *\", command: /usr/local/bin/backup}}",
    }
}

record! {
    /// A file on a machine, given by its content or by a file of the repository.
    pub struct HostFile {
        /// The content itself. Either this or `source`.
        content: Option<String> = None => "worker_processes {{ config.nginx_workers }};",
        /// A file of the repository, relative to fleet.yaml. Either this or `content`.
        source: Option<RepositoryPath> = None => "files/nginx.conf",
        /// Whether `{{ config.x }}` and `{{ node.x }}` are replaced in the file of `source` too. In `content` they always
        /// are.
        template: bool = false => "true",
        /// Permission bits, in octal.
        mode: FileMode = FileMode(0o644) => "\"0644\"",
        /// The user that owns the file.
        owner: AccountName = root() => "root",
        /// The group that owns the file.
        group: AccountName = root() => "root",
        /// A command that must succeed before the file is put in place; `{}` stands for the new file.
        validate: Option<CheckCommand> = None => "\"nginx -t -c {}\"",
    }
    check HostFile::check
}

impl HostFile {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        decoder.exactly_one(node, &[("content", self.content.is_some()), ("source", self.source.is_some())])
    }
}

record! {
    /// A directory on a machine. What is in it is left as it is.
    pub struct HostDirectory {
        /// Permission bits, in octal.
        mode: FileMode = FileMode(0o755) => "\"0755\"",
        /// The user that owns the directory.
        owner: AccountName = root() => "root",
        /// The group that owns the directory.
        group: AccountName = root() => "root",
    }
}

record! {
    /// A symbolic link on a machine.
    pub struct HostLink {
        /// What the link points to.
        to: AbsolutePath => "/srv/v2",
    }
}

record! {
    /// A group of a machine.
    pub struct HostGroup {
        /// Its number; otherwise the machine chooses one.
        gid: Option<AccountId> = None => "900",
        /// Whether it is a system group.
        system: bool = false => "true",
    }
}

record! {
    /// A user of a machine. Windlass sets no passwords.
    pub struct HostUser {
        /// Its number; otherwise the machine chooses one.
        uid: Option<AccountId> = None => "900",
        /// Its primary group; otherwise a group of the same name.
        group: Option<AccountName> = None => "users",
        /// Further groups.
        groups: BTreeSet<AccountName> = BTreeSet::new() => "[sudo]",
        /// Its name for people.
        comment: String = String::new() => "Deployment",
        /// Its home directory; otherwise what the machine chooses.
        home: Option<AbsolutePath> = None => "/srv/deploy",
        /// Its login shell; otherwise what the machine chooses.
        shell: Option<AbsolutePath> = None => "/bin/bash",
        /// Whether it is a system user.
        system: bool = false => "true",
        /// The keys that may log in as this user. If any is given, no other key in `authorized_keys` stays.
        authorized_keys: BTreeSet<SshPublicKey> = BTreeSet::new() => "[ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB1kTqJd8Xk2 me]",
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

record! {
    /// A command that runs on a schedule.
    pub struct HostTimer {
        /// When it runs: minute, hour, day of the month, month, day of the week.
        schedule: Schedule => "\"30 3 * * *\"",
        /// What runs, with a shell.
        command: String => "/usr/local/bin/backup",
        /// The user it runs as.
        user: AccountName = root() => "root",
    }
}

fn root() -> AccountName {
    crate::shape::TextValue::read("root").expect("root is a user")
}
