//! Signed checkpoints of the audit log, and the keys that sign them.

use windlass_api::types::{AuditKeys, CheckpointInfo, CheckpointList};

use crate::ask::audit::chain_of;
use crate::caller::Identity;
use crate::checkpoint::sign::{SignOutcome, SignTiming, sign_chain};
use crate::checkpoint::{info, key_info};
use crate::clock::now;
use crate::control::Control;
use crate::page::{PageQuery, cut};
use crate::refusal::Refusal;

/// The keys that signed checkpoints, and the one that signs now.
pub async fn signing_keys(server: &Control) -> Result<AuditKeys, Refusal> {
    let signer = server.keys().current_key().signer().ok_or_else(Refusal::not_found)?;
    let keys = server.store().read().await?.audit_keys().await?;
    Ok(AuditKeys { public_key: signer.public_key(), keys: keys.iter().map(key_info).collect() })
}

/// A page of the checkpoints of a chain, newest first.
pub async fn load_page(
    server: &Control,
    who: &Identity,
    chain: Option<&str>,
    page: &PageQuery,
) -> Result<CheckpointList, Refusal> {
    let account_id = chain_of(who, chain)?;
    let limit = page.limit()?;
    let before = page.after_as(|text| text.parse().ok())?.unwrap_or(i64::MAX);
    let mut found = server.store().read().await?.checkpoints(&account_id, before, limit + 1).await?;
    let meta = cut(&mut found, limit, |checkpoint| checkpoint.seq.to_string());
    Ok(CheckpointList { checkpoints: found.iter().map(info).collect(), meta })
}

/// Signs the current head of a chain.
pub async fn sign_now(
    server: &Control,
    who: &Identity,
    chain: Option<&str>,
) -> Result<CheckpointInfo, Refusal> {
    let account_id = chain_of(who, chain)?;
    let heads = server.store().read().await?.audit_heads().await?;
    let head = heads.into_iter().find(|(id, _)| *id == account_id).map(|(_, head)| head);
    let head = head.ok_or_else(Refusal::not_found)?;
    let checkpoint = match sign_chain(server, &account_id, &head, SignTiming::Now, now()).await? {
        SignOutcome::Signed(checkpoint) | SignOutcome::Current(Some(checkpoint)) => checkpoint,
        SignOutcome::Current(None) => {
            return Err(Refusal::conflict(
                "empty",
                "the log has no entries to sign",
                "try again after the first audit \
                entry",
            ));
        }
        SignOutcome::Refused(reason) => {
            let message = format!("the audit log was modified: {reason}");
            let help = "see the runbook: someone may have tampered with it";
            return Err(Refusal::conflict("audit-broken", message, help));
        }
    };
    server.nudges().checkpoints.notify_one();
    Ok(info(&checkpoint))
}
