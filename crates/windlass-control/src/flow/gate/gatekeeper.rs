//! Loads the facts by which the gate decides.

use windlass_core::access::Permission;
use windlass_core::account::Account;
use windlass_core::apply::{Gatekeeper, KnownHost};
use windlass_core::gate::{Approvers, RepositoryChange};
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;
use windlass_store::{Member, Reading, StoreError};

use crate::account_state::names::repository_names;
use crate::caller::{Identity, current_role};
use crate::refusal::Refusal;

/// Whether someone may approve. Every use case that leads to an apply checks this.
pub fn may_approve(who: &Identity) -> bool {
    who.permissions.contains(&Permission::GitopsApprove)
}

/// The members of an account who may approve now: not disabled, with a role that has the permission, and, if groups
/// gave the role, while it is valid.
fn approvers_among(members: &[Member], now: Timestamp) -> Approvers {
    let may = |member: &&Member| {
        current_role(member, now).is_some_and(|role| role.permissions().contains(&Permission::GitopsApprove))
    };
    members.iter().filter(may).map(|member| member.user.email.as_str()).collect()
}

/// Loads the account's gate: its policy, who may approve now, and the resources that the changed ones are attached to.
pub(crate) async fn load_gatekeeper<'k>(
    reading: &mut Reading,
    account: &Account,
    changed: impl IntoIterator<Item = &'k ResourceKey>,
    now: Timestamp,
) -> Result<Gatekeeper, StoreError> {
    let approvers = approvers_among(&reading.members(&account.id).await?, now);
    let gatekeeper = Gatekeeper::before_approvals(account).with_approvers(approvers);
    with_hosts(gatekeeper, reading, account, changed).await
}

/// Adds the resources that the changed ones are attached to.
pub(crate) async fn with_hosts<'k>(
    gatekeeper: Gatekeeper,
    reading: &mut Reading,
    account: &Account,
    changed: impl IntoIterator<Item = &'k ResourceKey>,
) -> Result<Gatekeeper, StoreError> {
    let keys = gatekeeper.hosts_to_know(changed);
    if keys.is_empty() {
        return Ok(gatekeeper);
    }
    let names = repository_names(reading, &account.id).await?;
    let known = reading.resources_of(&account.id, &keys).await?.into_iter().filter_map(|resource| {
        let owner_id = resource.owner_id?;
        let owner_name = names.get(&owner_id)?.clone();
        let (key, spec, declared_in) = (resource.key, resource.spec, resource.declared_in);
        Some(KnownHost { key, spec, declared_in, owner_id, owner_name })
    });
    Ok(gatekeeper.with_hosts(known))
}

/// Rejects a change of a repository that needs an approver, if this person may not approve.
pub(crate) fn check_repository_change(
    gatekeeper: &Gatekeeper,
    who: &Identity,
    change: RepositoryChange<'_>,
) -> Result<(), Refusal> {
    match gatekeeper.why_approver_required(change) {
        Some(why) if !may_approve(who) => Err(Refusal::forbidden(
            format!("{why}: this needs the permission {}", Permission::GitopsApprove),
            "ask an approver to make this change",
        )),
        _ => Ok(()),
    }
}
