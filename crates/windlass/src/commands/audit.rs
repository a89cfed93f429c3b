//! `windlass audit`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AuditKeys, AuditList, AuditVerdict, CheckpointEnvelope, CheckpointInfo, CheckpointList,
};

use super::audit_archive::{self, ArchiveSeries};
use super::find;
use super::remote::ServerConnection;
use crate::args::access::{AuditCommand, ChainOptions, VerifyOptions};
use crate::exit::{CommandError, Exit};
use crate::view;

/// `open` signs in to the server, for those commands that ask one.
pub(super) fn run(
    command: &AuditCommand,
    open: impl FnOnce() -> Result<ServerConnection, CommandError>,
) -> Result<Exit, CommandError> {
    match command {
        AuditCommand::Archive(options) => return audit_archive::archive(options),
        AuditCommand::List { target, paging } => {
            let remote = &open()?;
            let call = || remote.call(Operation::AuditList, &[]).query_if("target", target.as_ref());
            let answer = find::pages(remote, "audit", (*paging).into(), call)?;
            remote.show::<AuditList>(&answer, |list, terminal| view::access::audit(&list.audit, terminal))?;
            find::tell_more(&answer, remote)?;
        }
        AuditCommand::Verify(options) => return verify(options, &open()?),
        AuditCommand::Key => {
            let remote = &open()?;
            let answer = remote.ask(remote.call(Operation::AuditKeyShow, &[]))?;
            remote.show::<AuditKeys>(&answer, |keys, _| view::line(&keys.public_key))?;
        }
        AuditCommand::Checkpoints { chain, paging } => {
            let remote = &open()?;
            let answer =
                find::pages(remote, "checkpoints", (*paging).into(), || checkpoints(*chain, remote))?;
            remote.show::<CheckpointList>(&answer, |list, terminal| {
                view::access::checkpoints(&list.checkpoints, terminal)
            })?;
            find::tell_more(&answer, remote)?;
        }
        AuditCommand::Checkpoint { chain } => {
            let remote = &open()?;
            let call = remote.call(Operation::CheckpointCreate, &[]).query_if("chain", chain.word().as_ref());
            let answer = remote.ask(call)?;
            remote
                .show::<CheckpointEnvelope>(&answer, |made, _| view::access::checkpoint(&made.checkpoint))?;
        }
    }
    Ok(Exit::Fine)
}

fn checkpoints<'r>(chain: ChainOptions, remote: &'r ServerConnection) -> windlass_api::client::ApiCall<'r> {
    remote.call(Operation::CheckpointList, &[]).query_if("chain", chain.word().as_ref())
}

/// The server checks the chain. Archives are verified here, and with a public key the signatures, too.
fn verify(options: &VerifyOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let archives = ArchiveSeries::read(&options.archive, options.expect.as_deref())?;
    // The log continues the archives if it holds their last entry, or begins with it.
    let continued = archives.end().map(|end| end.hash.as_str());
    let expected = options.expect.as_deref().filter(|_| !archives.holds_expected());
    let call = |expect: Option<&str>| {
        let call = remote.call(Operation::AuditVerify, &[]).query_if("expect", expect.as_ref());
        remote.ask(call.query_if("chain", options.chain.word().as_ref()))
    };
    let mut answer = call(continued.or(expected))?;
    if let (Some(_), Some(expected)) = (continued, expected) {
        let first: AuditVerdict = remote.read(&answer)?;
        if first.intact {
            answer = call(Some(expected))?;
        }
    }
    let verdict = remote.show::<AuditVerdict>(&answer, |verdict, _| view::access::audit_verdict(verdict))?;
    if !verdict.intact {
        archives.tell_missing(verdict.archived_to)?;
        return Ok(Exit::Problems);
    }
    verify_signatures(options, &archives, remote)
}

/// Verifies with a public key that was kept, or archives with the server's.
fn verify_signatures(
    options: &VerifyOptions,
    archives: &ArchiveSeries,
    remote: &ServerConnection,
) -> Result<Exit, CommandError> {
    if options.public_key.is_none() && archives.is_empty() {
        return Ok(Exit::Fine);
    }
    let keys: AuditKeys = remote.get(remote.call(Operation::AuditKeyShow, &[]))?;
    let mut signed = archives.checkpoints();
    if options.public_key.is_some() {
        signed.extend(all_checkpoints(options.chain, remote)?);
    }
    if signed.is_empty() {
        let help = "create one with `windlass audit checkpoint`";
        return Err(CommandError::failed("the log has no signed checkpoint", help));
    }
    let public_key = options.public_key.as_deref().unwrap_or(&keys.public_key).trim();
    if let Some(fault) = windlass_server::first_fault(public_key, &archives.keys_and(keys.keys), &signed) {
        let message = format!("entry {}: {}", fault.seq, fault.reason);
        let help = "see the runbook: someone may have tampered with the database or an archive";
        return Err(CommandError::failed(message, help));
    }
    if let Some(end) = archives.end() {
        remote.print_message(&format!(
            "the archived entries 1 to {} are unchanged, and the log continues them",
            end.seq
        ))?;
    }
    if options.public_key.is_some() {
        let checkpoints = view::pluralize(signed.len(), "checkpoint");
        remote.print_message(&format!("{checkpoints} are signed by this key or a key it certifies"))?;
    }
    Ok(Exit::Fine)
}

fn all_checkpoints(
    chain: ChainOptions,
    remote: &ServerConnection,
) -> Result<Vec<CheckpointInfo>, CommandError> {
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
