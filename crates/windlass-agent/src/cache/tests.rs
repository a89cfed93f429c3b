//! Downloads that break, lie or are too large, and the bound of the cache.

use std::time::Duration;

use super::*;

fn cache(bound: u64) -> (tempfile::TempDir, BlobCache) {
    let directory = tempfile::tempdir().unwrap();
    let cache = BlobCache::open(&directory.path().join("blobs"), bound, DiskHooks::default()).unwrap();
    (directory, cache)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn store(cache: &BlobCache, bytes: &[u8]) -> BlobDigest {
    let digest = BlobDigest::of(bytes);
    let partial = cache.partial(digest, bytes.len() as u64);
    partial.write(0, &compressed(bytes)).unwrap();
    assert_eq!(partial.finish().unwrap(), FinishedDownload::Stored);
    digest
}

#[test]
fn a_download_goes_on_where_it_broke() {
    let (_directory, cache) = cache(0);
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    let (digest, sent) = (BlobDigest::of(&bytes), compressed(&bytes));
    let partial = cache.partial(digest, bytes.len() as u64);
    assert_eq!(partial.finish().unwrap(), FinishedDownload::Incomplete);
    for part in sent.chunks(sent.len() / 5) {
        assert!(!cache.has(&digest).unwrap());
        assert_eq!(partial.finish().unwrap(), FinishedDownload::Incomplete);
        partial.write(partial.length(), part).unwrap();
    }
    assert_eq!(partial.finish().unwrap(), FinishedDownload::Stored);
    assert!(cache.has(&digest).unwrap());
    assert_eq!(partial.length(), 0);
}

#[test]
fn what_does_not_match_its_digest_or_size_is_never_put_in_place() {
    let (_directory, cache) = cache(0);
    let (wanted, bomb) = (b"what was approved".to_vec(), vec![0; 10_000_000]);
    let digest = BlobDigest::of(&wanted);
    let mut trailing = compressed(&wanted);
    trailing.extend_from_slice(b"more");
    let bad = [compressed(b"something else"), compressed(&bomb), b"not zstd at all".to_vec(), trailing];
    for bytes in bad {
        let partial = cache.partial(digest, wanted.len() as u64);
        partial.write(0, &bytes).unwrap();
        assert_eq!(partial.finish().unwrap(), FinishedDownload::Tampered);
        assert!(!cache.has(&digest).unwrap());
        assert_eq!(partial.length(), 0, "the next attempt begins anew");
    }
    assert_eq!(cache.directory.join("partial").read_dir().unwrap().count(), 0);
}

#[test]
fn a_damaged_blob_is_noticed_and_deleted() {
    let (_directory, cache) = cache(0);
    let digest = store(&cache, b"content");
    fs::write(cache.path(&digest), b"c0ntent").unwrap();
    assert_eq!(cache.package(&digest).unwrap(), None);
    assert!(!cache.has(&digest).unwrap());
    assert!(!cache.path(&digest).exists());
}

#[test]
fn the_longest_unused_blobs_are_evicted_and_needed_ones_never() {
    let (_directory, cache) = cache(250);
    let blobs: Vec<BlobDigest> = (0..6_u8).map(|byte| store(&cache, &[byte; 100])).collect();
    let now = SystemTime::now();
    for (age, digest) in blobs.iter().enumerate() {
        let used = now - Duration::from_secs(age as u64 * 60);
        File::open(cache.path(digest)).unwrap().set_modified(used).unwrap();
    }
    cache.partial(BlobDigest::of(b"x"), 10).write(0, b"a broken download").unwrap();
    cache.touch(&BTreeSet::from([blobs[4]]));
    cache.evict(&BTreeSet::from([blobs[3], blobs[5]]));
    let left: Vec<bool> = blobs.iter().map(|digest| cache.has(digest).unwrap()).collect();
    assert_eq!(left, [true, false, false, true, true, true]);
}
