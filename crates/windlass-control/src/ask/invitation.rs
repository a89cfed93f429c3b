//! Invitations: an account asks someone to join, and they accept or decline after signing in.
//!
//! The account learns nothing about the person before they accept: an invitation looks the same whether or not anyone has
//! the e-mail address, and a declined one looks the same as one without an answer.

use std::time::Duration;

use serde_json::json;
use windlass_api::permission::Role;
use windlass_api::types::{InvitationInfo, JoinedAccount, ReceivedInvitation, UserAdded};
use windlass_core::id::{AccountId, InvitationId};
use windlass_store::{AccountWriting, Invitation, Reading, StoreError, new_id};

use crate::caller::{Identity, is_role_valid};
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// How long an invitation can be accepted.
const LIFETIME: Duration = Duration::from_secs(14 * 24 * 3600);

fn info(invitation: &Invitation, invited_by: String) -> InvitationInfo {
    InvitationInfo {
        id: invitation.id.to_string(),
        email: invitation.email.clone(),
        role: invitation.role,
        invited_by,
        created_at: invitation.created_at.to_string(),
        expires_at: invitation.expires_at.to_string(),
    }
}

/// Invites the person with an e-mail address to join the caller's account.
pub(crate) async fn invite(
    server: &Control,
    who: &Identity,
    mut writing: AccountWriting,
    email: &str,
    role: Role,
) -> Result<UserAdded, Refusal> {
    let now = now();
    let invitation = Invitation {
        id: new_id(),
        account_id: who.account_id.clone(),
        email: email.to_owned(),
        role,
        invited_by: who.user_id.clone(),
        created_at: now,
        expires_at: now.plus(LIFETIME),
        declined_at: None,
    };
    let invitation = writing.invitation_put(&invitation).await?;
    let detail = json!({"role": role, "expires_at": invitation.expires_at});
    writing.audit(record::audit_entry(&who.actor(), "invitation.create", ("user", email), detail, now));
    server.commit(writing).await?;
    let invitation = Some(info(&invitation, who.email.clone()));
    Ok(UserAdded { user: None, one_time_password: None, invitation })
}

/// The invitations of the caller's account.
pub async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<InvitationInfo>, StoreError> {
    let mut all = Vec::new();
    for invitation in reading.invitations(&who.account_id, now()).await? {
        let by = reading.user(invitation.invited_by.as_str()).await?.map(|user| user.email);
        all.push(info(&invitation, by.unwrap_or_default()));
    }
    Ok(all)
}

/// Withdraws an invitation of the caller's account.
pub async fn revoke_invitation(server: &Control, who: &Identity, id_or_email: &str) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let found = writing.invitations(&who.account_id, now).await?;
    let found = found
        .into_iter()
        .find(|invitation| invitation.id.as_str() == id_or_email || invitation.email == id_or_email);
    let invitation = found.ok_or_else(Refusal::not_found)?;
    writing.invitation_remove(&who.account_id, &invitation.id).await?;
    let target = ("user", invitation.email.as_str());
    writing.audit(record::audit_entry(&who.actor(), "invitation.revoke", target, json!({}), now));
    Ok(server.commit(writing).await?)
}

/// The invitations that the caller can accept; none if their e-mail address is not verified.
async fn to_caller(reading: &mut Reading, who: &Identity) -> Result<Vec<Invitation>, StoreError> {
    if reading.identity_unverified(&who.user_id).await? {
        return Ok(Vec::new());
    }
    reading.invitations_to(&who.email, now()).await
}

/// The invitations that the caller can accept, as responses show them.
pub async fn load_received(
    reading: &mut Reading,
    who: &Identity,
) -> Result<Vec<ReceivedInvitation>, StoreError> {
    let mut all = Vec::new();
    for invitation in to_caller(reading, who).await? {
        let by = reading.user(invitation.invited_by.as_str()).await?.map(|user| user.email);
        let Some(account) = reading.account(invitation.account_id.as_str()).await? else { continue };
        all.push(ReceivedInvitation {
            id: invitation.id.to_string(),
            account: account.name,
            role: invitation.role,
            invited_by: by.unwrap_or_default(),
            created_at: invitation.created_at.to_string(),
            expires_at: invitation.expires_at.to_string(),
        });
    }
    Ok(all)
}

async fn find(reading: &mut Reading, who: &Identity, id: &InvitationId) -> Result<Invitation, Refusal> {
    let found = to_caller(reading, who).await?.into_iter().find(|invitation| invitation.id == *id);
    found.ok_or_else(Refusal::not_found)
}

/// Accepts an invitation: the caller joins the account.
pub async fn join(server: &Control, who: &Identity, id: &InvitationId) -> Result<JoinedAccount, Refusal> {
    let now = now();
    let account_id = find(&mut server.store().read().await?, who, id).await?.account_id;
    let mut writing = server.store().write_account(&account_id).await?;
    // The invitation may have been withdrawn since it was read.
    let invitation = find(&mut writing, who, id).await?;
    if !is_inviter_admin(&mut writing, &invitation).await? {
        let message = "the person who invited you may no longer add people to that account";
        return Err(Refusal::conflict("invitation-void", message, "ask its admins for another invitation"));
    }
    if writing.member(&account_id, who.user_id.as_str()).await?.is_some() {
        let message = "you are already in that account";
        return Err(Refusal::conflict("taken", message, "decline the invitation"));
    }
    let account = writing.account(account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let role = invitation.role;
    writing.member_set(&account_id, &who.user_id, role, now).await?;
    writing.invitation_remove(&account_id, id).await?;
    let detail = json!({"role": role, "invited_by": invitation.invited_by});
    writing.audit(record::audit_entry(&who.actor(), "invitation.accept", ("user", &who.email), detail, now));
    server.commit(writing).await?;
    Ok(JoinedAccount { account: account.name, role })
}

/// Whether the person who invited is still an admin of the account.
async fn is_inviter_admin(writing: &mut AccountWriting, invitation: &Invitation) -> Result<bool, StoreError> {
    let inviter = writing.member(&invitation.account_id, invitation.invited_by.as_str()).await?;
    Ok(inviter.is_some_and(|inviter| {
        let is_in = inviter.user.disabled_at.is_none() && is_role_valid(&inviter, now());
        is_in && inviter.role == Role::Admin
    }))
}

/// Declines an invitation. The entry goes to the installation's audit log, because the account must not see it.
pub async fn decline_invitation(server: &Control, who: &Identity, id: &InvitationId) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&AccountId::installation()).await?;
    let invitation = find(&mut writing, who, id).await?;
    writing.invitation_decline(&invitation.id, now).await?;
    let detail = json!({"account": invitation.account_id});
    writing.audit(record::audit_entry(&who.actor(), "invitation.decline", ("user", &who.email), detail, now));
    Ok(server.commit(writing).await?)
}
