//! Moves the first entries of an audit log to a file, on the server's machine: verify the log → choose a checkpoint →
//! write the file → verify the file → delete the entries.
//!
//! Nothing is deleted before the file is complete, on the disk and verified. After an interruption, running the same command
//! again completes the work.

pub mod error;
pub mod file;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use windlass_api::types::AuditKeyInfo;
use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{
    Actor, ArchiveLimit, ArchivedEntries, AuditHead, Checkpoint, LogVerification, Reading, Store,
};

use crate::archive::error::ArchiveError;
use crate::archive::file::{
    ArchiveHeader, ArchivePlace, VerifiedArchive, make_durable, read_archive, write_archive,
};
use crate::checkpoint::sign::check_checkpoints;
use crate::checkpoint::{info, key_info};
use crate::keys::KeySource;
use crate::keys::change::check_key;

/// Whose log is archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveChain {
    /// The log of an account, by name or id.
    Account(String),
    /// The log of the only account there is.
    OnlyAccount,
    /// The installation's log.
    Installation,
}

/// What to archive, and to which file.
#[derive(Clone, Debug)]
pub struct ArchiveRequest {
    /// Whose log.
    pub chain: ArchiveChain,
    /// Up to where.
    pub limit: ArchiveLimit,
    /// The file. If it exists, it must be an archive of this log that was interrupted or completed before.
    pub file: PathBuf,
}

/// What was archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveReport {
    /// The entries are in the file and no longer in the database.
    Archived {
        /// The first of them.
        first: i64,
        /// The last.
        last: i64,
    },
    /// The entries were archived before.
    AlreadyArchived {
        /// The last of them.
        last: i64,
    },
}

/// Where the server's secret key and the heads it signed are.
#[derive(Clone, Copy, Debug)]
pub struct ServerPlace<'p> {
    /// Where the secret key is.
    pub key: &'p KeySource,
    /// The data directory.
    pub data_dir: &'p Path,
}

/// Moves the first entries of an audit log to a file.
pub async fn archive_audit(
    store: &Store,
    place: ServerPlace<'_>,
    request: &ArchiveRequest,
    now: Timestamp,
) -> Result<ArchiveReport, ArchiveError> {
    let mut reading = store.read().await?;
    let (account_id, name) = find_chain(&mut reading, &request.chain).await?;
    let anchor = reading.audit_anchor(&account_id).await?.unwrap_or_default();
    verify_log(store, place, &account_id).await?;
    if request.file.exists() {
        let found = read_archive(&request.file, |_| {})?;
        if found.header.account_id == account_id && AuditHead::from(&found.header.up_to) == anchor {
            return Ok(ArchiveReport::AlreadyArchived { last: anchor.seq });
        }
        if found.header.account_id != account_id || AuditHead::from(&found.header.after) != anchor {
            return Err(ArchiveError::Exists { path: request.file.clone() });
        }
    } else {
        let checkpoint = choose_checkpoint(&mut reading, &account_id, request.limit, &anchor).await?;
        let keys = reading.audit_keys().await?.iter().map(key_info).collect();
        let header = header_of(&checkpoint, keys, &name, &anchor, now);
        write_archive(&mut reading, &header, &request.file).await?;
    }
    drop(reading);
    make_durable(&request.file)?;
    // Delete only entries that can be read back.
    let written = read_archive(&request.file, |_| {})?;
    delete_archived(store, &account_id, &written, &request.file, now).await?;
    Ok(ArchiveReport::Archived { first: anchor.seq + 1, last: written.header.up_to.seq })
}

/// Verifies the log, its checkpoints and, with the server's key, their signatures.
async fn verify_log(
    store: &Store,
    place: ServerPlace<'_>,
    account_id: &AccountId,
) -> Result<(), ArchiveError> {
    if let LogVerification::Broken { seq, reason } = store.read().await?.audit_verify(account_id).await? {
        return Err(ArchiveError::BrokenLog { reason: format!("entry {seq}: {reason}") });
    }
    // Without the key that belongs to the database, the signatures would not be verified.
    check_key(store, place.key, place.data_dir).await?;
    match check_checkpoints(store, place.key, place.data_dir).await? {
        Some(reason) => Err(ArchiveError::BrokenLog { reason }),
        None => Ok(()),
    }
}

/// The id and the name of the account of a chain.
async fn find_chain(
    reading: &mut Reading,
    chain: &ArchiveChain,
) -> Result<(AccountId, String), ArchiveError> {
    let found = match chain {
        ArchiveChain::Installation => return Ok((AccountId::installation(), "installation".to_owned())),
        ArchiveChain::Account(name) => {
            let missing = || ArchiveError::NoAccount { name: name.clone() };
            reading.account(name).await?.ok_or_else(missing)?
        }
        ArchiveChain::OnlyAccount => {
            let mut accounts = reading.accounts().await?;
            match (accounts.pop(), accounts.is_empty()) {
                (Some(only), true) => only,
                _ => return Err(ArchiveError::WhichAccount),
            }
        }
    };
    Ok((found.id, found.name))
}

async fn choose_checkpoint(
    reading: &mut Reading,
    account_id: &AccountId,
    limit: ArchiveLimit,
    anchor: &AuditHead,
) -> Result<Checkpoint, ArchiveError> {
    let found = reading.checkpoint_within(account_id, limit).await?;
    found
        .filter(|checkpoint| checkpoint.seq > anchor.seq)
        .ok_or(ArchiveError::NoCheckpoint { after: anchor.seq })
}

fn header_of(
    checkpoint: &Checkpoint,
    keys: Vec<AuditKeyInfo>,
    name: &str,
    anchor: &AuditHead,
    now: Timestamp,
) -> ArchiveHeader {
    ArchiveHeader {
        format: file::FORMAT.to_owned(),
        account_id: checkpoint.account_id.clone(),
        account: name.to_owned(),
        after: ArchivePlace::from(anchor),
        up_to: ArchivePlace { seq: checkpoint.seq, hash: checkpoint.hash.clone() },
        checkpoint: info(checkpoint),
        keys,
        made_at: now.to_string(),
    }
}

/// Deletes the entries that are in the file, in one transaction with the entry that records it, and verifies what is left.
async fn delete_archived(
    store: &Store,
    account_id: &AccountId,
    written: &VerifiedArchive,
    path: &Path,
    now: Timestamp,
) -> Result<(), ArchiveError> {
    let archived = ArchivedEntries {
        up_to: AuditHead::from(&written.header.up_to),
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        digest: written.digest,
    };
    let actor = Actor { name: "windlass audit archive".to_owned(), ..Actor::windlass() };
    let mut writing = store.write_account(account_id).await?;
    let last = archived.up_to.seq;
    if writing.audit_archive(&archived, actor, now).await?.is_none() {
        let reason = format!("the archive does not contain entry {last} of {}", path.display());
        return Err(ArchiveError::BrokenLog { reason });
    }
    writing.commit().await?;
    match store.read().await?.audit_verify(account_id).await? {
        LogVerification::Intact { .. } => Ok(()),
        LogVerification::Broken { seq, reason } => {
            Err(ArchiveError::BrokenLog { reason: format!("entry {seq}: {reason}") })
        }
    }
}
