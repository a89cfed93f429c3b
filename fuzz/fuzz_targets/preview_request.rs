//! Any body of a preview is rejected, or read as files and then as a fleet.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_api::types::PreviewBody;
use windlass_core::manifest::{ReadCache, ReadContext};
use windlass_source::{FleetFiles, SentFiles, read_fleet};

fuzz_target!(|bytes: &[u8]| {
    // Most runs test the inner part: a body with one file and one path made of these bytes.
    let text = String::from_utf8_lossy(bytes);
    let made = serde_json::json!({"files": {"fleet.yaml": text, "fleet.d/a.yaml": text}, "paths": [text]})
        .to_string();
    for body in [bytes, made.as_bytes()] {
        let Ok(body) = serde_json::from_slice::<PreviewBody>(body) else { continue };
        let files = body.files.unwrap_or_default().into_iter().map(|(path, text)| (path, text.into_bytes()));
        let Ok(tree) = SentFiles::new(files, body.paths) else { continue };
        let mut read_cache = ReadCache::default();
        let read = read_fleet(&tree, "fleet.yaml", &mut read_cache);
        let mut fleet = read_cache.read_once(&read.files, &ReadContext::offline());
        FleetFiles::check_paths(&tree, &mut fleet);
    }
});
