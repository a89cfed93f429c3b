//! Reads the files of a fleet on all cores.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use windlass_core::manifest::{FileManifest, FileRole, FleetSize, ReadCache, SourceFile, read_file};

/// Reads the files that are not in the cache, several at a time. Files are independent of each other, so the result is
/// the same as reading them one by one.
pub fn read_uncached_files(files: &[SourceFile], cache: &mut ReadCache) {
    let unknown = cache.unread_files(files);
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = cores.min(unknown.len());
    if workers < 2 {
        return;
    }
    let (next, size) = (AtomicUsize::new(0), Mutex::new(FleetSize::default()));
    let read: Vec<Vec<(usize, FileManifest)>> = thread::scope(|scope| {
        let started: Vec<_> =
            (0..workers).map(|_| scope.spawn(|| read_some(&unknown, &next, &size))).collect();
        // A worker that panicked added nothing to the cache; the caller reads its files again.
        started.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    for (index, manifest) in read.into_iter().flatten() {
        let (role, file) = unknown[index];
        cache.insert(role, file, manifest);
    }
}

/// Reads files from the list until none is left, or until the total exceeds the limit for a fleet.
fn read_some(
    files: &[(FileRole, &SourceFile)],
    next: &AtomicUsize,
    size: &Mutex<FleetSize>,
) -> Vec<(usize, FileManifest)> {
    let mut read = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some((role, file)) = files.get(index) else { return read };
        let manifest = read_file(&file.path, &file.bytes, *role);
        // The numbers are consistent even if another thread panicked while it held the lock.
        let mut together = size.lock().unwrap_or_else(PoisonError::into_inner);
        *together = together.plus(&manifest);
        let is_enough = together.is_too_large();
        drop(together);
        read.push((index, manifest));
        if is_enough {
            next.store(files.len(), Ordering::Relaxed);
        }
    }
}
