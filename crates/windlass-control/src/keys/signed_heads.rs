//! The heads that this server signed or verified last, stored in a file beside its key: outside the database, so that someone
//! who rewrites the database cannot change them.

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

/// The heads that this server signed or verified last, and the faults of chains that do not continue them.
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
    /// Reads the heads from a data directory; empty if the file does not exist yet.
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

    /// The last known signed head of a chain.
    pub(crate) fn last(&self, account_id: &AccountId) -> Option<AuditHead> {
        self.known().heads.get(account_id).cloned()
    }

    /// Stores a head that this server or another replica signed, unless a newer one is stored. Clears the fault of the chain.
    pub(crate) fn store_head(&self, account_id: &AccountId, head: AuditHead) -> std::io::Result<()> {
        let mut known = self.known();
        known.faults.remove(account_id);
        if known.heads.get(account_id).is_some_and(|newest| newest.seq >= head.seq) {
            return Ok(());
        }
        known.heads.insert(account_id.clone(), head);
        let heads = known.heads.iter().map(|(id, head)| (id.to_string(), json!([head.seq, head.hash])));
        let text = Value::Object(heads.collect()).to_string();
        // Written under the lock, so that an older text never replaces a newer one.
        write(&self.path, &text)
    }

    /// Why this server stopped signing a chain, if it did.
    pub(crate) fn fault(&self, account_id: &AccountId) -> Option<String> {
        self.known().faults.get(account_id).cloned()
    }

    /// Stores the fault of a chain. True if it was not stored before.
    pub(crate) fn store_fault(&self, account_id: &AccountId, fault: &str) -> bool {
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
