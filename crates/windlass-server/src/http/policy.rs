//! The approval policy.

use axum::extract::State;
use serde_json::{Value, json};
use windlass_api::types::{PolicyBody, PolicyInfo};
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::gate::Policy;
use windlass_store::{AuditEntry, Reading};

use super::error::HttpError;
use super::request::{Answer, Body, IfMatch, ok, tagged};
use crate::auth::Identity;
use crate::clock::now;
use crate::regate::regate;
use crate::server::Server;
use crate::tell;

fn read_stored(text: &str) -> Policy {
    Policy::read("policy", text).0.unwrap_or_default()
}

pub(super) async fn show(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    let info = load(&mut reading, &who).await?;
    tagged(ok(&info), info.version)
}

/// The policy of the caller's account.
pub(crate) async fn load(reading: &mut Reading, who: &Identity) -> Result<PolicyInfo, HttpError> {
    let account = reading.account(&who.account_id).await?.ok_or_else(HttpError::not_found)?;
    Ok(PolicyInfo { policy: read_stored(&account.policy).to_json(), version: account.policy_version })
}

/// A policy from its text, or what is wrong with it and where.
pub(crate) fn read(text: &str) -> Result<Policy, Vec<Diagnostic>> {
    let (policy, problems) = Policy::read("policy", text);
    policy.filter(|_| !diagnostic::has_errors(&problems)).ok_or(problems)
}

pub(super) async fn replace(
    State(server): State<Server>,
    who: Identity,
    if_match: IfMatch,
    Body(body): Body<PolicyBody>,
) -> Answer {
    let text = match &body.policy {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let policy = read(&text).map_err(|problems| HttpError::unsound(&problems))?;
    let info = put(&server, &who, &if_match, &policy).await?;
    tagged(ok(&info), info.version)
}

/// Replaces the policy of the caller's account.
pub(crate) async fn put(
    server: &Server,
    who: &Identity,
    if_match: &IfMatch,
    policy: &Policy,
) -> Result<PolicyInfo, HttpError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let account = writing.account(&who.account_id).await?.ok_or_else(HttpError::not_found)?;
    if_match.check(account.policy_version)?;
    if !writing.account_set_policy(&policy.to_json().to_string(), account.policy_version).await? {
        return Err(HttpError::precondition());
    }
    writing.audit(AuditEntry {
        before: Some(read_stored(&account.policy).digest()),
        after: Some(policy.digest()),
        ..tell::entry(
            &who.actor(),
            "policy.replace",
            ("policy", &who.account_name),
            json!({"policy": policy.to_json()}),
            now,
        )
    });
    // What waited for approval may pass by itself now.
    regate(&mut writing, now).await?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(PolicyInfo { policy: policy.to_json(), version: account.policy_version + 1 })
}
