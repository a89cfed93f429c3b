//! Signed checkpoints of the audit log, and the keys that sign them.

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::{AuditKeys, CheckpointEnvelope, CheckpointList};

use super::audit::{PageQueryText, chain_of};
use super::page::cut;
use super::request::{Answer, Query, created, ok};
use crate::auth::Identity;
use crate::checkpoint::{SignOutcome, When, info, key_info, sign_chain};
use crate::clock::now;
use crate::refusal::Refusal;
use crate::server::Server;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    page: PageQueryText,
    chain: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ChainQuery {
    chain: Option<String>,
}

pub(super) async fn keys(State(server): State<Server>, _who: Identity) -> Answer {
    let signer = server.keys().current().signer().ok_or_else(Refusal::not_found)?;
    let keys = server.store().read().await?.audit_keys().await?;
    ok(&AuditKeys { public_key: signer.public_key(), keys: keys.iter().map(key_info).collect() })
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Answer {
    let account_id = chain_of(&who, query.chain.as_deref())?;
    let page = query.page.read()?;
    let limit = page.limit()?;
    let before = page.after_as(|text| text.parse().ok())?.unwrap_or(i64::MAX);
    let mut found = server.store().read().await?.checkpoints(account_id, before, limit + 1).await?;
    let meta = cut(&mut found, limit, |checkpoint| checkpoint.seq.to_string());
    ok(&CheckpointList { checkpoints: found.iter().map(info).collect(), meta })
}

pub(super) async fn create(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ChainQuery>,
) -> Answer {
    let account_id = chain_of(&who, query.chain.as_deref())?;
    let heads = server.store().read().await?.audit_heads().await?;
    let head = heads.into_iter().find(|(id, _)| id == account_id).map(|(_, head)| head);
    let head = head.ok_or_else(Refusal::not_found)?;
    let checkpoint = match sign_chain(&server, account_id, &head, When::Now, now()).await? {
        SignOutcome::Signed(checkpoint) | SignOutcome::Current(Some(checkpoint)) => checkpoint,
        SignOutcome::Current(None) => {
            return Err(
                Refusal::conflict("empty", "there is no entry to sign yet", "do something first").into()
            );
        }
        SignOutcome::Refused(reason) => {
            let message = format!("the audit log is not what was written: {reason}");
            return Err(Refusal::conflict(
                "audit-broken",
                message,
                "see the runbook: someone may have tampered with it",
            )
            .into());
        }
    };
    server.nudges().checkpoints.notify_one();
    created(&CheckpointEnvelope { checkpoint: info(&checkpoint) })
}
