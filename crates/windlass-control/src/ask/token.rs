//! API tokens.

use std::time::Duration;

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::{TokenBody, TokenCreated, TokenInfo};
use windlass_core::id::UserId;
use windlass_store::{Reading, Token, new_id};

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;
use crate::secret::{hash_of_secret, new_token_secret};

const DEFAULT_DAYS: u32 = 90;

const MAX_DAYS: u32 = 365;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn info(token: Token, created_by: String) -> TokenInfo {
    TokenInfo {
        id: token.id.to_string(),
        name: token.name,
        permissions: token.permissions.iter().filter_map(|slug| Permission::from_slug(slug)).collect(),
        created_by,
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.map(|at| at.to_string()),
        last_used_at: token.last_used_at.map(|at| at.to_string()),
        revoked_at: token.revoked_at.map(|at| at.to_string()),
    }
}

/// Whether someone may see and revoke other people's tokens.
fn is_admin(who: &Identity) -> bool {
    who.permissions.contains(&Permission::GitopsAdmin)
}

/// The tokens the caller may see: their own, or everyone's for an admin.
pub async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<TokenInfo>, Refusal> {
    let members = reading.members(&who.account_id).await?;
    let email = |id: &UserId| {
        members.iter().find(|member| member.user.id == *id).map(|member| member.user.email.clone())
    };
    let tokens = reading
        .tokens(&who.account_id)
        .await?
        .into_iter()
        .filter(|token| is_admin(who) || token.created_by == who.user_id)
        .map(|token| {
            let by = email(&token.created_by).unwrap_or_default();
            info(token, by)
        })
        .collect();
    Ok(tokens)
}

/// Creates an API token of the caller.
pub async fn create_token(
    server: &Control,
    who: &Identity,
    body: TokenBody,
) -> Result<TokenCreated, Refusal> {
    let name = body.name.trim();
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return Err(Refusal::unprocessable(
            "bad-name",
            "a token's name must have 1 to 64 characters",
            "name it after its purpose",
        ));
    }
    let mut permissions = body.permissions;
    if permissions.is_empty() {
        permissions = vec![Permission::GitopsRead, Permission::FleetRead];
    }
    permissions.sort();
    permissions.dedup();
    if let Some(more) = permissions.iter().find(|permission| !who.permissions.contains(permission)) {
        let message = format!("a token cannot have more permissions than you: you do not have {more}");
        return Err(Refusal::forbidden(message, "omit it"));
    }
    let days = body.expires_in_days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        let message = format!("a token must expire in 1 to {MAX_DAYS} days");
        return Err(Refusal::unprocessable("bad-value", message, "create a new one when it expires"));
    }
    let now = now();
    let secret = new_token_secret();
    let token = Token {
        id: new_id(),
        account_id: who.account_id.clone(),
        name: name.to_owned(),
        permissions: permissions.iter().map(|permission| permission.slug().to_owned()).collect(),
        created_by: who.user_id.clone(),
        created_at: now,
        expires_at: Some(now.plus(DAY * days)),
        last_used_at: None,
        revoked_at: None,
    };
    let mut writing = server.store().write_account(&who.account_id).await?;
    writing.token_add(&token, &hash_of_secret(secret.expose())).await?;
    let detail =
        json!({"name": token.name, "permissions": token.permissions, "expires_at": token.expires_at});
    writing.audit(record::audit_entry(
        &who.actor(),
        "token.create",
        ("token", token.id.as_str()),
        detail,
        now,
    ));
    server.commit(writing).await?;
    Ok(TokenCreated { token: info(token, who.email.clone()), secret: secret.expose().clone() })
}

/// Revokes a token that the caller may see.
pub async fn revoke_token(server: &Control, who: &Identity, id_or_name: &str) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let tokens = writing.tokens(&who.account_id).await?;
    let token = tokens.into_iter().find(|token| {
        token.id.as_str() == id_or_name || token.name == id_or_name && token.revoked_at.is_none()
    });
    let token = token.filter(|token| is_admin(who) || token.created_by == who.user_id);
    let token = token.ok_or_else(Refusal::not_found)?;
    if writing.token_revoke(&who.account_id, &token.id, now).await? {
        writing.audit(record::audit_entry(
            &who.actor(),
            "token.revoke",
            ("token", token.id.as_str()),
            json!({"name": token.name}),
            now,
        ));
        server.commit(writing).await?;
    }
    Ok(())
}
