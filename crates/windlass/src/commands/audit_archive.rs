//! `windlass audit archive`, and the archives that `windlass audit verify` is given.

use std::path::PathBuf;

use windlass_api::types::{AuditKeyInfo, CheckpointInfo};
use windlass_core::time::Timestamp;
use windlass_server::{
    ArchiveChain, ArchiveError, ArchiveHeader, ArchivePlace, ArchiveReport, ArchiveRequest, ServerPlace,
    archive_audit, read_archive,
};
use windlass_store::ArchiveLimit;

use super::data::{address_of, lock_embedded, open_existing, source_of};
use super::serve::runtime;
use crate::args::access::ArchiveOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

fn archive_error(error: &ArchiveError) -> CommandError {
    CommandError::failed(error.to_string(), error.help())
}

/// Moves the first entries of a log to a file.
pub(super) fn archive(options: &ArchiveOptions) -> Result<Exit, CommandError> {
    let limit = match (options.before, options.up_to) {
        (Some(moment), _) => ArchiveLimit::Before(moment),
        (None, Some(seq)) => ArchiveLimit::UpTo(seq),
        (None, None) => return Err(CommandError::usage("no limit was given", "give --before or --up-to")),
    };
    let chain = match (&options.in_account, options.chain.installation) {
        (Some(name), _) => ArchiveChain::Account(name.clone()),
        (None, true) => ArchiveChain::Installation,
        (None, false) => ArchiveChain::OnlyAccount,
    };
    let (address, source) = (address_of(&options.at.data)?, source_of(&options.at.key)?);
    let request = ArchiveRequest { chain, limit, file: options.out.clone() };
    let _lock = lock_embedded(&options.at.data, &address)?;
    let report = runtime()?.block_on(async {
        let store = open_existing(&address).await?;
        let place = ServerPlace { key: &source, data_dir: &options.at.data.data_dir };
        let archived = archive_audit(&store, place, &request, now()).await;
        store.close().await;
        archived.map_err(|error| archive_error(&error))
    })?;
    let file = options.out.display();
    view::line(&match report {
        ArchiveReport::Archived { first, last } => format!("moved entries {first} to {last} to {file}"),
        ArchiveReport::AlreadyArchived { last } => {
            format!("entries up to {last} are already archived in {file}; nothing changed")
        }
    })?;
    Ok(Exit::Fine)
}

/// The archives of one log, one after the other from its beginning.
pub(super) struct ArchiveSeries {
    headers: Vec<ArchiveHeader>,
    holds_expected: bool,
}

impl ArchiveSeries {
    /// Reads and verifies archives, whatever their order, and looks for an entry that is expected.
    pub(super) fn read(files: &[PathBuf], expected: Option<&str>) -> Result<ArchiveSeries, CommandError> {
        let mut series = ArchiveSeries { headers: Vec::new(), holds_expected: false };
        for file in files {
            let read = read_archive(file, |entry| {
                series.holds_expected |= expected == Some(entry.hash.as_str());
            });
            series.headers.push(read.map_err(|error| archive_error(&error))?.header);
        }
        series.headers.sort_by_key(|header| header.after.seq);
        series.check_order()?;
        Ok(series)
    }

    /// Each continues the one before, the first the beginning.
    fn check_order(&self) -> Result<(), CommandError> {
        let mut end = ArchivePlace { seq: 0, hash: String::new() };
        for header in &self.headers {
            if header.after != end {
                let message = format!(
                    "no given archive contains the entries between {} and {}",
                    end.seq,
                    header.after.seq + 1
                );
                return Err(CommandError::failed(message, "give every archive of the log exactly once"));
            }
            end = header.up_to.clone();
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Whether the expected entry is in one of them.
    pub(super) fn holds_expected(&self) -> bool {
        self.holds_expected
    }

    /// The last entry of the last of them.
    pub(super) fn end(&self) -> Option<&ArchivePlace> {
        self.headers.last().map(|header| &header.up_to)
    }

    /// The checkpoint of each.
    pub(super) fn checkpoints(&self) -> Vec<CheckpointInfo> {
        self.headers.iter().map(|header| header.checkpoint.clone()).collect()
    }

    /// Their keys and these, each once. What a key is worth is found out from its signatures.
    pub(super) fn keys_and(&self, mut keys: Vec<AuditKeyInfo>) -> Vec<AuditKeyInfo> {
        for key in self.headers.iter().flat_map(|header| &header.keys) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Says which archives are missing, if the log is archived further than those that were given.
    pub(super) fn tell_missing(&self, archived_to: Option<i64>) -> std::io::Result<()> {
        let end = self.end().map_or(0, |end| end.seq);
        match archived_to.filter(|last| !self.is_empty() && *last > end) {
            Some(last) => {
                view::note(&format!("entries {} to {last} are in archives that you did not give", end + 1))
            }
            None => Ok(()),
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_millis(jiff::Timestamp::now().as_millisecond())
}
