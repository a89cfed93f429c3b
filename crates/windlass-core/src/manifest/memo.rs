//! Remembering what was read, so that unchanged bytes are never read twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assemble::{Context, assemble};
use super::file::{FileManifest, Role, SourceFile, read_file};
use super::fleet::Fleet;
use super::include::IncludePattern;
use crate::digest::Digest;

/// The files and the fleet of the last reading. Keeps nothing else, so it is as large as one fleet.
#[derive(Debug, Default)]
pub struct Memo {
    files: BTreeMap<Digest, Arc<FileManifest>>,
    fleet: Option<(Digest, Arc<Fleet>)>,
}

impl Memo {
    /// What a root file includes, remembered for the reading of the whole fleet that follows.
    pub fn includes_of(&mut self, root: &SourceFile) -> Vec<IncludePattern> {
        let read = || Arc::new(read_file(&root.path, &root.bytes, Role::Root));
        self.files.entry(digest_of(root, 0)).or_insert_with(read).include.clone()
    }

    /// Reads a fleet; the first file is its root. Files with known bytes are not read again, and if all are known,
    /// in the same context, neither is the fleet.
    pub fn read(&mut self, files: &[SourceFile], context: &Context) -> Arc<Fleet> {
        let digests: Vec<Digest> =
            files.iter().enumerate().map(|(index, file)| digest_of(file, index)).collect();
        let whole = whole_digest(&digests, context);
        if let Some((known, fleet)) = &self.fleet
            && *known == whole
        {
            return Arc::clone(fleet);
        }
        let read = self.read_files(files, &digests);
        self.files = digests.into_iter().zip(read.iter().cloned()).collect();
        let fleet = Arc::new(assemble(read, context));
        self.fleet = Some((whole, Arc::clone(&fleet)));
        fleet
    }

    /// Reads a fleet that will not be read again.
    pub fn read_once(self, files: &[SourceFile], context: &Context) -> Fleet {
        let digests: Vec<Digest> =
            files.iter().enumerate().map(|(index, file)| digest_of(file, index)).collect();
        assemble(self.read_files(files, &digests), context)
    }

    fn read_files(&self, files: &[SourceFile], digests: &[Digest]) -> Vec<Arc<FileManifest>> {
        let read = |(index, (file, digest)): (usize, (&SourceFile, &Digest))| match self.files.get(digest) {
            Some(known) => Arc::clone(known),
            None => Arc::new(read_file(&file.path, &file.bytes, role_of(index))),
        };
        files.iter().zip(digests).enumerate().map(read).collect()
    }
}

fn role_of(index: usize) -> Role {
    if index == 0 { Role::Root } else { Role::Included }
}

/// The path and the role matter too: both show in problems.
fn digest_of(file: &SourceFile, index: usize) -> Digest {
    let role: &[u8] = if index == 0 { b"root" } else { b"included" };
    Digest::of_parts([role, file.path.as_bytes(), &file.bytes])
}

fn whole_digest(digests: &[Digest], context: &Context) -> Digest {
    let context = context.digest();
    Digest::of_parts(digests.iter().map(Digest::as_bytes).chain([context.as_bytes()]))
}
