//! `windlass audit`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AuditKeys, AuditList, AuditVerdict, CheckpointEnvelope, CheckpointInfo, CheckpointList,
};

use super::find;
use super::remote::Remote;
use crate::args::access::{AuditCommand, ChainOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &AuditCommand, remote: &Remote) -> Result<Exit, CommandError> {
    match command {
        AuditCommand::List { target, paging } => {
            let call = || remote.call(Operation::AuditList, &[]).query_if("target", target.as_ref());
            let answer = find::pages(remote, "audit", (*paging).into(), call)?;
            remote.show::<AuditList>(&answer, |list, terminal| view::access::audit(&list.audit, terminal))?;
            find::tell_more(&answer, remote)?;
        }
        AuditCommand::Verify { expect, public_key, chain } => {
            return verify(expect.as_deref(), public_key.as_deref(), *chain, remote);
        }
        AuditCommand::Key => {
            let answer = remote.ask(remote.call(Operation::AuditKeyShow, &[]))?;
            remote.show::<AuditKeys>(&answer, |keys, _| view::line(&keys.public_key))?;
        }
        AuditCommand::Checkpoints { chain, paging } => {
            let answer =
                find::pages(remote, "checkpoints", (*paging).into(), || checkpoints(*chain, remote))?;
            remote.show::<CheckpointList>(&answer, |list, terminal| {
                view::access::checkpoints(&list.checkpoints, terminal)
            })?;
            find::tell_more(&answer, remote)?;
        }
        AuditCommand::Checkpoint { chain } => {
            let call = remote.call(Operation::CheckpointCreate, &[]).query_if("chain", chain.word().as_ref());
            let answer = remote.ask(call)?;
            remote
                .show::<CheckpointEnvelope>(&answer, |made, _| view::access::checkpoint(&made.checkpoint))?;
        }
    }
    Ok(Exit::Fine)
}

fn checkpoints<'r>(chain: ChainOptions, remote: &'r Remote) -> windlass_api::client::Call<'r> {
    remote.call(Operation::CheckpointList, &[]).query_if("chain", chain.word().as_ref())
}

/// The server checks the chain; with a public key, the signatures are verified here.
fn verify(
    expect: Option<&str>,
    public_key: Option<&str>,
    chain: ChainOptions,
    remote: &Remote,
) -> Result<Exit, CommandError> {
    let call = remote.call(Operation::AuditVerify, &[]).query_if("expect", expect.as_ref());
    let answer = remote.ask(call.query_if("chain", chain.word().as_ref()))?;
    let verdict = remote.show::<AuditVerdict>(&answer, |verdict, _| view::access::audit_verdict(verdict))?;
    if !verdict.intact {
        return Ok(Exit::Problems);
    }
    let Some(public_key) = public_key else { return Ok(Exit::Fine) };
    let signed = all_checkpoints(chain, remote)?;
    if signed.is_empty() {
        let help = "`windlass audit checkpoint` makes the first";
        return Err(CommandError::told("the log has no signed checkpoint", help));
    }
    let keys: AuditKeys = remote.get(remote.call(Operation::AuditKeyShow, &[]))?;
    match windlass_server::first_fault(public_key.trim(), &keys.keys, &signed) {
        None => {
            remote.say(&format!(
                "{} are signed by this key or one it vouches for",
                view::count(signed.len(), "checkpoint")
            ))?;
            Ok(Exit::Fine)
        }
        Some(fault) => {
            let message = format!("entry {}: {}", fault.seq, fault.reason);
            Err(CommandError::told(message, "see the runbook: someone may have tampered with the database"))
        }
    }
}

fn all_checkpoints(chain: ChainOptions, remote: &Remote) -> Result<Vec<CheckpointInfo>, CommandError> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let call = checkpoints(chain, remote).query_if("limit", Some(&"500"));
        let page: CheckpointList = remote.get(call.query_if("cursor", cursor.as_ref()))?;
        all.extend(page.checkpoints);
        match page.meta.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(all),
        }
    }
}
