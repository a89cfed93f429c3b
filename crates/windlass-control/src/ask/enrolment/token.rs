//! Tokens with which agents enrol.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use windlass_api::agent::{ENROLMENT_KEY_PREFIX, EnrolmentKey, SecretText};
use windlass_api::types::{
    BatchEnrollmentBody, EnrollmentBody, EnrollmentCreated, EnrollmentTokenInfo, EnrollmentTokenList,
};
use windlass_core::enrolment::{EnrolmentScope, EnrolmentToken, JoinPolicy, NodeSelector};
use windlass_core::id::EnrolmentTokenId;
use windlass_core::redacted::Redacted;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{AccountWriting, Reading, new_id};

use crate::ask::resource::list::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;
use crate::secret::{hash_of_secret, new_enrolment_secret};

const DEFAULT_LIFETIME: Duration = Duration::from_secs(3600);

const MIN_LIFETIME: Duration = Duration::from_secs(60);

/// A token for one target is pasted soon after it was created.
const MAX_TARGET_LIFETIME: Duration = Duration::from_secs(24 * 3600);

/// A token for several nodes is part of the image or the start script of an autoscaling group.
const MAX_BATCH_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

const MAX_USES: u64 = 10_000;

/// How many tokens a list shows.
const MAX_LISTED: usize = 500;

fn info(token: EnrolmentToken) -> EnrollmentTokenInfo {
    let (target, selector) = match token.scope {
        EnrolmentScope::Target(target) => (Some(format!("{}/{}", target.kind.slug(), target.name)), None),
        EnrolmentScope::Nodes(selector) => (None, Some(selector.to_string())),
    };
    EnrollmentTokenInfo {
        id: token.id.to_string(),
        target,
        selector,
        join: token.policy,
        uses: token.uses,
        max_uses: token.max_uses,
        created_by: token.created_by,
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.to_string(),
    }
}

fn lifetime(asked: Option<u64>, longest: Duration) -> Result<Duration, Refusal> {
    let lifetime = asked.map_or(DEFAULT_LIFETIME, Duration::from_secs);
    if !(MIN_LIFETIME..=longest).contains(&lifetime) {
        let (least, most) = (MIN_LIFETIME.as_secs(), longest.as_secs());
        let message = format!("an enrolment token must expire in {least} to {most} seconds");
        return Err(Refusal::unprocessable("bad-value", message, "create a new one when it expires"));
    }
    Ok(lifetime)
}

/// The address of the agent listener.
fn agent_url(server: &Control) -> Result<&str, Refusal> {
    server.config().agent_url.as_deref().ok_or_else(|| {
        let help = "start the server with --agent-listen, and --agent-url if agents use another address";
        Refusal::conflict("agents-off", "this server does not listen for agents", help)
    })
}

/// The text that an operator pastes on the host.
fn enrolment_key(server: &Control, url: &str, secret: &Redacted<String>) -> String {
    let key = EnrolmentKey {
        server: url.to_owned(),
        authority: server.authority().pin(),
        token: SecretText::new(secret.expose().clone()),
    };
    let json = serde_json::to_vec(&key).unwrap_or_default();
    format!("{ENROLMENT_KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(json))
}

/// A token to create.
struct NewToken {
    scope: EnrolmentScope,
    policy: Option<JoinPolicy>,
    max_uses: u64,
    lifetime: Duration,
}

/// Stores a token and returns it with its secret.
async fn create(
    server: &Control,
    who: &Identity,
    mut writing: AccountWriting,
    new: NewToken,
) -> Result<EnrollmentCreated, Refusal> {
    let url = agent_url(server)?;
    let now = now();
    let secret = new_enrolment_secret();
    let token = EnrolmentToken {
        id: new_id(),
        account_id: who.account_id.clone(),
        scope: new.scope,
        policy: JoinPolicy::of_new_token(new.policy, &who.permissions),
        max_uses: new.max_uses,
        uses: 0,
        created_by: who.email.clone(),
        created_at: now,
        expires_at: now.plus(new.lifetime),
        revoked_at: None,
    };
    writing.enrolment_token_add(&token, &hash_of_secret(secret.expose())).await?;
    writing.keep_state();
    let shown = info(token.clone());
    let detail = json!({"target": shown.target, "selector": shown.selector, "join": shown.join,
        "max_uses": token.max_uses, "expires_at": token.expires_at});
    let target = ("enrolment_token", token.id.as_str());
    writing.audit(record::audit_entry(&who.actor(), "enrolment_token.create", target, detail, now));
    server.commit(writing).await?;
    let key = enrolment_key(server, url, &secret);
    let command = format!("windlass-agent enroll {key}");
    Ok(EnrollmentCreated { enrollment_token: shown, key, command })
}

/// Creates a token for the agent of one accepted node or cluster.
pub async fn create_for_target(
    server: &Control,
    who: &Identity,
    kind: Kind,
    id_or_name: &str,
    body: &EnrollmentBody,
) -> Result<EnrollmentCreated, Refusal> {
    let lifetime = lifetime(body.expires_in_seconds, MAX_TARGET_LIFETIME)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let target: ResourceKey = find(&mut writing, who, kind, id_or_name).await?.key;
    let new = NewToken { scope: EnrolmentScope::Target(target), policy: body.join, max_uses: 1, lifetime };
    create(server, who, writing, new).await
}

/// Creates a token for the agents of several nodes.
pub async fn create_batch(
    server: &Control,
    who: &Identity,
    body: BatchEnrollmentBody,
) -> Result<EnrollmentCreated, Refusal> {
    let lifetime = lifetime(body.expires_in_seconds, MAX_BATCH_LIFETIME)?;
    if !(1..=MAX_USES).contains(&body.uses) {
        let message = format!("an enrolment token must have 1 to {MAX_USES} uses");
        return Err(Refusal::unprocessable("bad-value", message, "create several tokens"));
    }
    let selector = NodeSelector::new(body.selector.labels, body.selector.name).map_err(|invalid| {
        let help = invalid.help.unwrap_or_default();
        Refusal::unprocessable("bad-selector", invalid.message, help)
    })?;
    let writing = server.store().write_account(&who.account_id).await?;
    let scope = EnrolmentScope::Nodes(selector);
    create(server, who, writing, NewToken { scope, policy: body.join, max_uses: body.uses, lifetime }).await
}

/// The tokens with which agents can still enrol.
pub async fn load_tokens(reading: &mut Reading, who: &Identity) -> Result<EnrollmentTokenList, Refusal> {
    let tokens = reading.enrolment_tokens(&who.account_id, now(), MAX_LISTED).await?;
    Ok(EnrollmentTokenList { enrollment_tokens: tokens.into_iter().map(info).collect() })
}

/// Revokes a token.
pub async fn revoke_token(server: &Control, who: &Identity, id: &EnrolmentTokenId) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    if !writing.enrolment_token_revoke(&who.account_id, id, now).await? {
        return Err(Refusal::not_found());
    }
    writing.keep_state();
    let target = ("enrolment_token", id.as_str());
    writing.audit(record::audit_entry(&who.actor(), "enrolment_token.revoke", target, json!({}), now));
    Ok(server.commit(writing).await?)
}
