//! Users of the host, with the keys that may log in as them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::resource::HostUser;
use windlass_core::value::{AbsolutePath, AccountName};

use super::text_file::push_text;
use crate::target::host::account_command;
use crate::target::host::accounts::{self, UserAccount};
use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::previous::{self, PreviousPath};
use crate::target::host::tree::{Attributes, Ownership, PathType, parent_of};
use windlass_core::host::{FieldDifference, push_value};

/// Users.
pub(crate) struct UserType;

/// A user before the agent's first change. Removal keeps the home directory, because it may contain data.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousUser {
    /// `None` if there was no such user.
    account: Option<PreviousAccount>,
    /// The file with its keys, if it had a home directory.
    keys: Option<(String, PreviousPath)>,
}

#[derive(Serialize, Deserialize)]
struct PreviousAccount {
    uid: u32,
    gid: u32,
    comment: String,
    home: String,
    shell: String,
    groups: BTreeSet<String>,
}

impl ItemType for UserType {
    const NAME: &'static str = "user";
    const ID_KIND: &'static str = "user";
    type Desired<'i> = (&'i AccountName, &'i HostUser);
    type Previous = PreviousUser;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::User(name, user) => Some((name, user)),
            _ => None,
        }
    }

    fn paths(machine: &Machine<'_>, (name, user): Self::Desired<'_>) -> Vec<String> {
        let found = accounts::user(&machine.tree, name.as_str()).ok().flatten();
        let home = found.map_or_else(|| expected_home(name.as_str(), user), |found| found.home);
        keys_text(user).map(|_| keys_path(&home)).into_iter().collect()
    }

    /// `useradd` creates the home directory, and it stays when the user is removed.
    fn directories(_machine: &Machine<'_>, _: Self::Desired<'_>) -> Vec<String> {
        Vec::new()
    }

    fn differences(
        machine: &Machine<'_>,
        (name, user): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = accounts::user(&machine.tree, name.as_str())?;
        let mut differences = account_differences(machine, name.as_str(), user, found.as_ref())?;
        if let Some(keys) = keys_text(user) {
            let home =
                found.as_ref().map_or_else(|| expected_home(name.as_str(), user), |found| found.home.clone());
            push_text(machine, &mut differences, &keys_path(&home), &keys)?;
            if let Some(found) = &found {
                push_keys_attributes(machine, &mut differences, found)?;
            }
        }
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (name, _): Self::Desired<'_>) -> Result<PreviousUser, HostError> {
        let Some(found) = accounts::user(&machine.tree, name.as_str())? else {
            return Ok(PreviousUser { account: None, keys: None });
        };
        let path = keys_path(&found.home);
        let keys = previous::remember(machine, &path)?;
        let groups = memberships(machine, name.as_str())?;
        let UserAccount { uid, gid, comment, home, shell, .. } = found;
        let account = PreviousAccount { uid, gid, comment, home, shell, groups };
        Ok(PreviousUser { account: Some(account), keys: Some((path, keys)) })
    }

    fn apply(machine: &Machine<'_>, (name, user): Self::Desired<'_>) -> Result<(), HostError> {
        let found = accounts::user(&machine.tree, name.as_str())?;
        if found.is_none() || !account_differences(machine, name.as_str(), user, found.as_ref())?.is_empty() {
            set_account(machine, name.as_str(), user, found.as_ref())?;
        }
        let Some(keys) = keys_text(user) else { return Ok(()) };
        let unknown = || HostError::UnknownAccount { what: "user", name: name.to_string() };
        let account = accounts::user(&machine.tree, name.as_str())?.ok_or_else(unknown)?;
        write_keys(machine, &account, &keys)
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &PreviousUser,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = accounts::user(&machine.tree, name)?;
        let mut differences = Vec::new();
        let uid = found.as_ref().map(|found| found.uid.to_string());
        let before = previous.account.as_ref().map(|account| account.uid.to_string());
        push_value(&mut differences, "uid", uid.as_deref(), before.as_deref());
        if let (Some(found), Some(before)) = (&found, &previous.account) {
            push_value(&mut differences, "comment", Some(&found.comment), Some(&before.comment));
            push_value(&mut differences, "home", Some(&found.home), Some(&before.home));
            push_value(&mut differences, "shell", Some(&found.shell), Some(&before.shell));
            let groups = joined(&memberships(machine, name)?);
            push_value(&mut differences, "groups", Some(&groups), Some(&joined(&before.groups)));
        }
        if let Some((path, keys)) = &previous.keys {
            differences.extend(previous::restore_differences(machine, path, keys)?);
        }
        Ok(differences)
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousUser) -> Result<(), HostError> {
        let Some(found) = accounts::user(&machine.tree, name)? else { return Ok(()) };
        let Some(before) = &previous.account else {
            return account_command::run(machine, &["userdel", name]);
        };
        if let Some((path, keys)) = &previous.keys {
            previous::restore(machine, path, keys)?;
        }
        restore_account(machine, &found, before)
    }
}

/// Sets the fields that differ. `usermod` refuses to set the number of a user with processes, even to the one that it has.
fn restore_account(
    machine: &Machine<'_>,
    found: &UserAccount,
    before: &PreviousAccount,
) -> Result<(), HostError> {
    let groups = memberships(machine, &found.name)?;
    let fields = [
        ("-u", found.uid.to_string(), before.uid.to_string()),
        ("-g", found.gid.to_string(), before.gid.to_string()),
        ("-c", found.comment.clone(), before.comment.clone()),
        ("-d", found.home.clone(), before.home.clone()),
        ("-s", found.shell.clone(), before.shell.clone()),
        ("-G", joined(&groups), joined(&before.groups)),
    ];
    let mut arguments = vec!["usermod"];
    let differing = fields.iter().filter(|(_, now, before)| now != before);
    arguments.extend(differing.flat_map(|(option, _, before)| [*option, before.as_str()]));
    if arguments.len() == 1 {
        return Ok(());
    }
    arguments.push(&found.name);
    account_command::run(machine, &arguments)
}

fn account_differences(
    machine: &Machine<'_>,
    name: &str,
    user: &HostUser,
    found: Option<&UserAccount>,
) -> Result<Vec<FieldDifference>, HostError> {
    let mut differences = Vec::new();
    let uid = found.map(|found| found.uid.to_string());
    match &user.uid {
        Some(wanted) => push_value(&mut differences, "uid", uid.as_deref(), Some(&wanted.0.to_string())),
        None if found.is_none() => push_value(&mut differences, "uid", None, Some("any")),
        None => {}
    }
    if let Some(group) = &user.group {
        let observed = found.map(|found| accounts::group_name(&machine.tree, found.gid)).transpose()?;
        push_value(&mut differences, "group", observed.as_deref(), Some(group.as_str()));
    }
    if !user.comment.is_empty() {
        push_value(
            &mut differences,
            "comment",
            found.map(|found| found.comment.as_str()),
            Some(&user.comment),
        );
    }
    if let Some(home) = &user.home {
        push_value(&mut differences, "home", found.map(|found| found.home.as_str()), Some(home.as_str()));
    }
    if let Some(shell) = &user.shell {
        push_value(&mut differences, "shell", found.map(|found| found.shell.as_str()), Some(shell.as_str()));
    }
    // The user may be in other groups too: packages and people add them.
    let memberships = memberships(machine, name)?;
    for group in user.groups.iter().filter(|group| !memberships.contains(group.as_str())) {
        differences.push(FieldDifference::value("groups", None, Some(group.as_str())));
    }
    Ok(differences)
}

fn set_account(
    machine: &Machine<'_>,
    name: &str,
    user: &HostUser,
    found: Option<&UserAccount>,
) -> Result<(), HostError> {
    let uid = user.uid.as_ref().map(|uid| uid.0.to_string());
    let found_uid = found.map(|found| found.uid.to_string());
    let found_group = found.map(|found| accounts::group_name(&machine.tree, found.gid)).transpose()?;
    let groups = joined(&user.groups.iter().map(ToString::to_string).collect());
    let comment = Some(user.comment.as_str()).filter(|comment| !comment.is_empty());
    let fields = [
        ("-u", uid.as_deref(), found_uid.as_deref()),
        ("-g", user.group.as_ref().map(AccountName::as_str), found_group.as_deref()),
        ("-c", comment, found.map(|found| found.comment.as_str())),
        ("-d", user.home.as_ref().map(AbsolutePath::as_str), found.map(|found| found.home.as_str())),
        ("-s", user.shell.as_ref().map(AbsolutePath::as_str), found.map(|found| found.shell.as_str())),
        ("-G", Some(groups.as_str()).filter(|groups| !groups.is_empty()), None),
    ];
    let mut arguments = vec![if found.is_some() { "usermod" } else { "useradd" }];
    if found.is_some() && !groups.is_empty() {
        arguments.push("-a");
    }
    if found.is_none() {
        arguments.extend(new_user_options(machine, name, user)?);
    }
    let differing = fields.into_iter().filter(|(_, wanted, found)| wanted != found);
    arguments.extend(differing.filter_map(|(option, wanted, _)| Some([option, wanted?])).flatten());
    arguments.push(name);
    account_command::run(machine, &arguments)
}

/// Options of `useradd` alone.
fn new_user_options(
    machine: &Machine<'_>,
    name: &str,
    user: &HostUser,
) -> Result<Vec<&'static str>, HostError> {
    let mut options = Vec::new();
    if user.system {
        options.push("-r");
    }
    options.push(if user.system && user.authorized_keys.is_empty() { "-M" } else { "-m" });
    // Without `group`, the primary group has the name of the user.
    match accounts::group(&machine.tree, name)? {
        None if user.group.is_none() => options.push("-U"),
        Some(group) if user.group.is_none() => {
            return Err(HostError::Unsupported(format!(
                "the group {} exists already: set `group: {}` to make it the primary group of the user",
                group.name, group.name
            )));
        }
        _ => {}
    }
    Ok(options)
}

/// The groups that list a user as a member.
fn memberships(machine: &Machine<'_>, name: &str) -> Result<BTreeSet<String>, HostError> {
    let groups = accounts::groups(&machine.tree)?.into_iter();
    Ok(groups.filter(|group| group.members.contains(name)).map(|group| group.name).collect())
}

/// Where the keys will be, before the user exists.
fn expected_home(name: &str, user: &HostUser) -> String {
    user.home.as_ref().map_or_else(|| format!("/home/{name}"), ToString::to_string)
}

fn keys_path(home: &str) -> String {
    format!("{}/.ssh/authorized_keys", home.trim_end_matches('/'))
}

/// The file with the keys; `None` if the agent leaves it as it is.
fn keys_text(user: &HostUser) -> Option<String> {
    let lines = user.authorized_keys.iter().map(|key| format!("{key}\n"));
    (!user.authorized_keys.is_empty()).then(|| lines.collect())
}

/// Only the user may write the keys, otherwise sshd ignores them.
const KEYS_MODE: u32 = 0o600;

/// Adds what differs of the mode and the owner of the keys, if there is a file.
fn push_keys_attributes(
    machine: &Machine<'_>,
    differences: &mut Vec<FieldDifference>,
    account: &UserAccount,
) -> Result<(), HostError> {
    let found = machine.tree.metadata(&keys_path(&account.home))?;
    let Some(found) = found.filter(|found| found.path_type == PathType::File) else { return Ok(()) };
    let octal = |mode: u32| format!("{mode:04o}");
    push_value(differences, "authorized_keys mode", Some(&octal(found.mode)), Some(&octal(KEYS_MODE)));
    if machine.tree.ownership == Ownership::Managed && found.uid != account.uid {
        let owner = accounts::user_name(&machine.tree, found.uid)?;
        push_value(differences, "authorized_keys owner", Some(&owner), Some(&account.name));
    }
    Ok(())
}

fn write_keys(machine: &Machine<'_>, account: &UserAccount, keys: &str) -> Result<(), HostError> {
    let path = keys_path(&account.home);
    let of_user = |mode: u32| Attributes { mode, uid: account.uid, gid: account.gid, label: None };
    if machine.tree.read_text(&path)?.as_deref() == Some(keys) {
        return machine.tree.set_attributes(&path, &of_user(KEYS_MODE));
    }
    let directory = parent_of(&path);
    machine.tree.create_directories(directory)?;
    // Root owns the directory if the agent has just created it, or crashed when it had.
    if machine.tree.metadata(directory)?.is_some_and(|found| found.uid == 0 && account.uid != 0) {
        machine.tree.set_attributes(directory, &of_user(0o700))?;
    }
    machine.tree.replace_text(&path, keys, &of_user(KEYS_MODE))
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(",")
}
