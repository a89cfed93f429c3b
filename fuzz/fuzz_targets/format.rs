//! Formatting never panics, and formatting twice changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_core::yaml;

fuzz_target!(|text: &str| {
    if let Ok(once) = yaml::format(text) {
        assert_eq!(yaml::format(&once).as_deref(), Ok(once.as_str()));
    }
});
