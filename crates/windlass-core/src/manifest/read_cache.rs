//! Caches files and fleets, so that unchanged bytes are not read twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assemble::assemble;
use super::context::ReadContext;
use super::file::{FileManifest, FileRole, SourceFile, read_file};
use super::fleet::Fleet;
use super::include::IncludePattern;
use super::size::FleetSize;
use crate::digest::Digest;

/// The files and the fleet of the last read. Nothing else is kept, so its size is that of one fleet.
#[derive(Debug, Default)]
pub struct ReadCache {
    files: BTreeMap<Key, Arc<FileManifest>>,
    fleet: Option<(Digest, Arc<Fleet>)>,
}

/// Everything that reading a file depends on. Path and role appear in its problems.
type Key = (FileRole, String, Digest);

impl ReadCache {
    /// The include patterns of a root file; the file is cached for the following read of the fleet.
    pub fn includes_of(&mut self, root: &SourceFile) -> Vec<IncludePattern> {
        let read = || Arc::new(read_file(&root.path, &root.bytes, FileRole::Root));
        self.files.entry(key_of(0, root)).or_insert_with(read).include.clone()
    }

    /// The files of a fleet that are not cached. A caller with several threads may read them and [`ReadCache::insert`]
    /// the results; otherwise [`ReadCache::read`] reads them one by one.
    pub fn unread_files<'f>(&self, files: &'f [SourceFile]) -> Vec<(FileRole, &'f SourceFile)> {
        let unknown =
            files.iter().enumerate().filter(|(index, file)| !self.files.contains_key(&key_of(*index, file)));
        unknown.map(|(index, file)| (role_of(index), file)).collect()
    }

    /// Caches the declarations of a file.
    pub fn insert(&mut self, role: FileRole, file: &SourceFile, manifest: FileManifest) {
        self.files.insert((role, file.path.clone(), file.digest()), Arc::new(manifest));
    }

    /// Reads a fleet; the first file is its root. Cached files are not read again, and if all are cached, with the same
    /// context, neither is the fleet.
    pub fn read(&mut self, files: &[SourceFile], context: &ReadContext) -> Arc<Fleet> {
        let whole = whole_digest(files, context);
        if let Some((known, fleet)) = &self.fleet
            && *known == whole
        {
            return Arc::clone(fleet);
        }
        let read = self.read_files(files);
        let keys = files.iter().enumerate().map(|(index, file)| key_of(index, file));
        self.files = keys.zip(read.iter().cloned()).collect();
        let fleet = Arc::new(assemble(read, context));
        self.fleet = Some((whole, Arc::clone(&fleet)));
        fleet
    }

    /// Reads a fleet without keeping the cache.
    pub fn read_once(self, files: &[SourceFile], context: &ReadContext) -> Fleet {
        assemble(self.read_files(files), context)
    }

    /// Reads files until the fleet exceeds the limits; further files cannot change that.
    fn read_files(&self, files: &[SourceFile]) -> Vec<Arc<FileManifest>> {
        let mut read = Vec::with_capacity(files.len());
        let mut size = FleetSize::default();
        for (index, file) in files.iter().enumerate() {
            let manifest = match self.files.get(&key_of(index, file)) {
                Some(known) => Arc::clone(known),
                None => Arc::new(read_file(&file.path, &file.bytes, role_of(index))),
            };
            size = size.plus(&manifest);
            read.push(manifest);
            if size.is_too_large() {
                break;
            }
        }
        read
    }
}

fn role_of(index: usize) -> FileRole {
    if index == 0 { FileRole::Root } else { FileRole::Included }
}

fn key_of(index: usize, file: &SourceFile) -> Key {
    (role_of(index), file.path.clone(), file.digest())
}

fn whole_digest(files: &[SourceFile], context: &ReadContext) -> Digest {
    let context = context.digest();
    let digests: Vec<Digest> = files.iter().map(SourceFile::digest).collect();
    let parts =
        files.iter().zip(&digests).flat_map(|(file, digest)| [file.path.as_bytes(), digest.as_bytes()]);
    Digest::of_parts(parts.chain([context.as_bytes()]))
}
