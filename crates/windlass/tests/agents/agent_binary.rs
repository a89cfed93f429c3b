//! The `windlass-agent` binary.
//!
//! Cargo tells a test only where the binaries of its own package are, and builds no others. So this asks Cargo itself, once:
//! for the binary as `cargo test --workspace` builds it, which has compiled everything already when it runs this test.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

static BINARY: LazyLock<PathBuf> = LazyLock::new(build);

/// The path of the binary, which is up to date.
pub(crate) fn agent_binary() -> &'static Path {
    &BINARY
}

fn build() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    // A test of the agent needs its binary; the binary alone would be built without what tests need of other crates.
    cargo.args(["test", "--workspace", "--locked", "--no-run", "--test", "command_line"]);
    cargo.arg("--message-format=json-render-diagnostics");
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // What Cargo set for this package is not for the other one.
    for (key, _) in std::env::vars_os() {
        let text = key.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(key);
        }
    }
    let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let built = messages.filter(|message| {
        message["target"]["name"] == "windlass-agent" && message["target"]["kind"][0] == "bin"
    });
    let paths: Vec<PathBuf> =
        built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).collect();
    paths.into_iter().next().expect("Cargo built the binary of the agent")
}
