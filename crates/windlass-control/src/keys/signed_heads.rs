//! The heads this server signed or verified last, kept in a file beside its key: outside the database, so that whoever
//! rewrites that cannot make the server forget.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use windlass_core::id::AccountId;
use windlass_store::{AuditHead, unique_text};

/// The file in the data directory.
pub(crate) const FILE: &str = "audit-heads.json";

/// The heads this server signed last, and what is wrong with chains that do not continue them.
#[derive(Debug)]
pub struct SignedHeads {
    path: PathBuf,
    known: Mutex<KnownHeads>,
}

#[derive(Debug, Default)]
struct KnownHeads {
    heads: BTreeMap<AccountId, AuditHead>,
    faults: BTreeMap<AccountId, String>,
}

impl SignedHeads {
    /// Those of a data directory; none if it has none yet.
    pub fn read(data_dir: &Path) -> std::io::Result<SignedHeads> {
        let path = data_dir.join(FILE);
        let heads = match std::fs::read_to_string(&path) {
            Ok(text) => parse(&text).ok_or_else(|| {
                let message = format!("{} was modified", path.display());
                std::io::Error::new(std::io::ErrorKind::InvalidData, message)
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(SignedHeads { path, known: Mutex::new(KnownHeads { heads, faults: BTreeMap::new() }) })
    }

    fn known(&self) -> MutexGuard<'_, KnownHeads> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The head of a chain that was signed last.
    pub(crate) fn last(&self, account_id: &AccountId) -> Option<AuditHead> {
        self.known().heads.get(account_id).cloned()
    }

    /// Notes a head that was signed, here or by another replica. An older one than is known changes nothing.
    pub(crate) fn note(&self, account_id: &AccountId, head: AuditHead) -> std::io::Result<()> {
        let mut known = self.known();
        known.faults.remove(account_id);
        if known.heads.get(account_id).is_some_and(|newest| newest.seq >= head.seq) {
            return Ok(());
        }
        known.heads.insert(account_id.clone(), head);
        let heads = known.heads.iter().map(|(id, head)| (id.to_string(), json!([head.seq, head.hash])));
        let text = Value::Object(heads.collect()).to_string();
        // Under the lock: two writers must not overtake one another.
        write(&self.path, &text)
    }

    /// What is wrong with a chain, if it was not signed for that reason.
    pub(crate) fn fault(&self, account_id: &AccountId) -> Option<String> {
        self.known().faults.get(account_id).cloned()
    }

    /// Notes what is wrong with a chain. True if it is news.
    pub(crate) fn note_fault(&self, account_id: &AccountId, fault: &str) -> bool {
        let before = self.known().faults.insert(account_id.clone(), fault.to_owned());
        before.as_deref() != Some(fault)
    }
}

fn parse(text: &str) -> Option<BTreeMap<AccountId, AuditHead>> {
    let read: BTreeMap<AccountId, (i64, String)> = serde_json::from_str(text).ok()?;
    Some(read.into_iter().map(|(id, (seq, hash))| (id, AuditHead { seq, hash })).collect())
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.partial", unique_text()));
    let partial = PathBuf::from(name);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}
