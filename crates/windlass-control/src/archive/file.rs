//! The archive file: a first line of JSON that describes it, then one line per entry with everything that the entry's hash
//! covers.
//!
//! Anyone with the file and a public key can verify it without a server: each entry's hash, that each entry follows the
//! previous one, and that the signed checkpoint in the first line is of the last entry.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_api::types::{AuditKeyInfo, CheckpointInfo};
use windlass_core::digest::Digest;
use windlass_core::id::{AccountId, TokenId, UserId};
use windlass_core::time::Timestamp;
use windlass_store::{Actor, AuditHead, AuditRecord, ChainCheck, Reading};

use crate::archive::error::ArchiveError;

/// The format that the first line names.
pub(crate) const FORMAT: &str = "windlass audit archive 1";

/// A place in a log: an entry's number and hash. Number 0 without a hash is the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivePlace {
    /// The entry's number.
    pub seq: i64,
    /// Its hash.
    pub hash: String,
}

impl From<&AuditHead> for ArchivePlace {
    fn from(head: &AuditHead) -> ArchivePlace {
        ArchivePlace { seq: head.seq, hash: head.hash.clone() }
    }
}

impl From<&ArchivePlace> for AuditHead {
    fn from(place: &ArchivePlace) -> AuditHead {
        AuditHead { seq: place.seq, hash: place.hash.clone() }
    }
}

/// The first line of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveHeader {
    /// The name and version of the file format.
    pub format: String,
    /// The account of the log; empty for the installation's log.
    pub account_id: AccountId,
    /// The account's name at the time.
    pub account: String,
    /// The entry before the first.
    pub after: ArchivePlace,
    /// The last entry.
    pub up_to: ArchivePlace,
    /// The signed checkpoint of the last entry.
    pub checkpoint: CheckpointInfo,
    /// The public keys that signed checkpoints until then, and their signatures for one another.
    pub keys: Vec<AuditKeyInfo>,
    /// When the archive was created.
    pub made_at: String,
}

/// An entry as its line stores it: everything that its hash covers except the account, which is in the first line.
#[derive(Serialize, Deserialize)]
struct ArchivedEntry {
    seq: i64,
    at: i64,
    actor: String,
    actor_id: Option<UserId>,
    token_id: Option<TokenId>,
    address: Option<String>,
    request_id: Option<String>,
    action: String,
    target_kind: String,
    target: String,
    outcome: String,
    before: Option<String>,
    after: Option<String>,
    detail: String,
    previous_hash: String,
    hash: String,
}

impl From<AuditRecord> for ArchivedEntry {
    fn from(entry: AuditRecord) -> ArchivedEntry {
        ArchivedEntry {
            seq: entry.seq,
            at: entry.at.as_millis(),
            actor: entry.actor.name,
            actor_id: entry.actor.id,
            token_id: entry.actor.token_id,
            address: entry.actor.address,
            request_id: entry.actor.request_id,
            action: entry.action,
            target_kind: entry.target_kind,
            target: entry.target,
            outcome: entry.outcome,
            before: entry.before,
            after: entry.after,
            detail: entry.detail,
            previous_hash: entry.previous_hash,
            hash: entry.hash,
        }
    }
}

impl From<ArchivedEntry> for AuditRecord {
    fn from(entry: ArchivedEntry) -> AuditRecord {
        AuditRecord {
            seq: entry.seq,
            at: Timestamp::from_millis(entry.at),
            actor: Actor {
                name: entry.actor,
                id: entry.actor_id,
                token_id: entry.token_id,
                address: entry.address,
                request_id: entry.request_id,
            },
            action: entry.action,
            target_kind: entry.target_kind,
            target: entry.target,
            outcome: entry.outcome,
            before: entry.before,
            after: entry.after,
            detail: entry.detail,
            previous_hash: entry.previous_hash,
            hash: entry.hash,
        }
    }
}

/// An archive whose entries follow one another and end with its checkpoint. The caller must check that a trusted key signed
/// the checkpoint.
#[derive(Clone, Debug)]
pub struct VerifiedArchive {
    /// Its first line.
    pub header: ArchiveHeader,
    /// The SHA-256 of the file.
    pub digest: Digest,
}

/// Writes the entries between two places of a log to a new file that only its owner can read. The file gets its name when
/// it is complete.
pub(crate) async fn write_archive(
    reading: &mut Reading,
    header: &ArchiveHeader,
    path: &Path,
) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::File { path: path.to_path_buf(), source };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", windlass_store::unique_text()));
    let partial = PathBuf::from(name);
    let written = write_entries(reading, header, &partial, path).await;
    let placed = written.and_then(|()| put_in_place(&partial, path).map_err(failed));
    if placed.is_err() {
        let _ = fs::remove_file(&partial);
    }
    placed
}

async fn write_entries(
    reading: &mut Reading,
    header: &ArchiveHeader,
    partial: &Path,
    path: &Path,
) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::File { path: path.to_path_buf(), source };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial).map_err(failed)?;
    let mut out = BufWriter::new(file);
    write_line(&mut out, header).map_err(failed)?;
    let mut after = header.after.seq;
    while after < header.up_to.seq {
        let entries = reading.audit_between(&header.account_id, after, header.up_to.seq).await?;
        let Some(last) = entries.last() else { break };
        after = last.seq;
        for entry in entries {
            write_line(&mut out, &ArchivedEntry::from(entry)).map_err(failed)?;
        }
    }
    out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Gives a complete file its name. Fails if a file of that name was created meanwhile.
fn put_in_place(partial: &Path, path: &Path) -> std::io::Result<()> {
    if path.exists() {
        return Err(std::io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(partial, path)
}

/// Waits until a file and its name are on the disk, so that they survive a power cut.
pub(crate) fn make_durable(path: &Path) -> Result<(), ArchiveError> {
    let failed = |source| ArchiveError::File { path: path.to_path_buf(), source };
    File::open(path).and_then(|file| file.sync_all()).map_err(failed)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some network file systems cannot sync directories.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        synced => synced.map_err(failed),
    }
}

/// Reads an archive and verifies that its entries are unchanged, follow one another and end with its checkpoint. Calls
/// `on_entry` with each entry.
pub fn read_archive(
    path: &Path,
    mut on_entry: impl FnMut(&AuditRecord),
) -> Result<VerifiedArchive, ArchiveError> {
    let failed = |source| ArchiveError::File { path: path.to_path_buf(), source };
    let damaged =
        |line: usize, reason: String| ArchiveError::Damaged { path: path.to_path_buf(), line, reason };
    let file = File::open(path).map_err(failed)?;
    let mut lines = BufReader::new(file).lines().zip(1..);
    let Some((first, _)) = lines.next() else {
        return Err(damaged(1, "the file is empty".to_owned()));
    };
    let header: ArchiveHeader = serde_json::from_str(&first.map_err(failed)?)
        .map_err(|error| damaged(1, format!("not the first line of an archive: {error}")))?;
    check_header(&header).map_err(|reason| damaged(1, reason))?;
    let mut chain = ChainCheck::after(&header.account_id, AuditHead::from(&header.after));
    for (line, number) in lines {
        let entry: ArchivedEntry = serde_json::from_str(&line.map_err(failed)?)
            .map_err(|error| damaged(number, format!("not an audit entry: {error}")))?;
        let entry = AuditRecord::from(entry);
        chain.check(&entry).map_err(|reason| damaged(number, format!("entry {}: {reason}", entry.seq)))?;
        on_entry(&entry);
    }
    if *chain.head() != AuditHead::from(&header.up_to) {
        let (last, up_to) = (chain.head().seq, header.up_to.seq);
        let line = usize::try_from(last - header.after.seq).unwrap_or_default() + 1;
        return Err(damaged(
            line,
            format!("the archive ends with entry {last}, not with the signed entry {up_to}"),
        ));
    }
    let digest = digest_of(path).map_err(failed)?;
    Ok(VerifiedArchive { header, digest })
}

fn check_header(header: &ArchiveHeader) -> Result<(), String> {
    let checkpoint = &header.checkpoint;
    if header.format != FORMAT {
        return Err(format!("the format is `{}`, but this version reads `{FORMAT}`", header.format));
    }
    let is_of_last = (checkpoint.account_id.as_str(), checkpoint.seq, &checkpoint.head)
        == (header.account_id.as_str(), header.up_to.seq, &header.up_to.hash);
    if is_of_last { Ok(()) } else { Err("the checkpoint does not match the last entry".to_owned()) }
}

fn digest_of(path: &Path) -> std::io::Result<Digest> {
    let (mut file, mut context) =
        (File::open(path)?, aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256));
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            0 => break,
            count => context.update(&part[..count]),
        }
    }
    let hex: String = context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Digest::parse(&format!("sha256:{hex}")).ok_or_else(|| std::io::Error::other("no SHA-256 was made"))
}
