//! Users and groups of the host, as `/etc/passwd` and `/etc/group` below the root list them.

use std::collections::BTreeSet;

use super::error::HostError;
use super::tree::HostTree;

/// A line of `/etc/passwd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserAccount {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) comment: String,
    pub(crate) home: String,
    pub(crate) shell: String,
}

/// A line of `/etc/group`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupAccount {
    pub(crate) name: String,
    pub(crate) gid: u32,
    pub(crate) members: BTreeSet<String>,
}

/// All users.
pub(crate) fn users(tree: &HostTree) -> Result<Vec<UserAccount>, HostError> {
    let text = tree.read_text("/etc/passwd")?.unwrap_or_default();
    Ok(text.lines().filter_map(read_user).collect())
}

/// All groups.
pub(crate) fn groups(tree: &HostTree) -> Result<Vec<GroupAccount>, HostError> {
    let text = tree.read_text("/etc/group")?.unwrap_or_default();
    Ok(text.lines().filter_map(read_group).collect())
}

/// The user with this name.
pub(crate) fn user(tree: &HostTree, name: &str) -> Result<Option<UserAccount>, HostError> {
    Ok(users(tree)?.into_iter().find(|user| user.name == name))
}

/// The group with this name.
pub(crate) fn group(tree: &HostTree, name: &str) -> Result<Option<GroupAccount>, HostError> {
    Ok(groups(tree)?.into_iter().find(|group| group.name == name))
}

/// The number of a user. `root` is 0 also in a tree without `/etc/passwd`.
pub(crate) fn uid(tree: &HostTree, name: &str) -> Result<Option<u32>, HostError> {
    match name {
        "root" => Ok(Some(0)),
        _ => Ok(user(tree, name)?.map(|user| user.uid).or_else(|| name.parse().ok())),
    }
}

/// The number of a group. `root` is 0 also in a tree without `/etc/group`.
pub(crate) fn gid(tree: &HostTree, name: &str) -> Result<Option<u32>, HostError> {
    match name {
        "root" => Ok(Some(0)),
        _ => Ok(group(tree, name)?.map(|group| group.gid).or_else(|| name.parse().ok())),
    }
}

/// The name of a user, or its number if it has none.
pub(crate) fn user_name(tree: &HostTree, uid: u32) -> Result<String, HostError> {
    let found = if uid == 0 { None } else { users(tree)?.into_iter().find(|user| user.uid == uid) };
    Ok(found.map_or_else(|| name_of_number(uid), |user| user.name))
}

/// The name of a group, or its number if it has none.
pub(crate) fn group_name(tree: &HostTree, gid: u32) -> Result<String, HostError> {
    let found = if gid == 0 { None } else { groups(tree)?.into_iter().find(|group| group.gid == gid) };
    Ok(found.map_or_else(|| name_of_number(gid), |group| group.name))
}

fn name_of_number(number: u32) -> String {
    if number == 0 { "root".to_owned() } else { number.to_string() }
}

fn read_user(line: &str) -> Option<UserAccount> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, comment, home, shell] = fields[..] else { return None };
    Some(UserAccount {
        name: name.to_owned(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        comment: comment.to_owned(),
        home: home.to_owned(),
        shell: shell.to_owned(),
    })
}

fn read_group(line: &str) -> Option<GroupAccount> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, gid, members] = fields[..] else { return None };
    let members = members.split(',').filter(|member| !member.is_empty()).map(str::to_owned).collect();
    Some(GroupAccount { name: name.to_owned(), gid: gid.parse().ok()?, members })
}
