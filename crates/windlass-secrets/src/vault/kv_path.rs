//! Paths in Vault: the mount of a secrets engine and the path below it.

use windlass_core::redacted::Redacted;

use super::client::VaultClient;
use crate::error::SecretError;
use crate::vault_error::VaultError;

/// Longer than any path in Vault.
const MAX_CHARS: usize = 512;

/// A validated path: no component can leave the path, such as `..` would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VaultPath(String);

impl VaultPath {
    pub(super) fn parse(text: &str) -> Result<VaultPath, SecretError> {
        let trimmed = text.strip_suffix('/').unwrap_or(text);
        let fits = |part: &str| !matches!(part, "" | "." | "..") && !part.chars().any(char::is_control);
        if trimmed.len() > MAX_CHARS || trimmed.contains('\\') || !trimmed.split('/').all(fits) {
            return Err(SecretError::BadPath { path: text.chars().take(MAX_CHARS).collect() });
        }
        Ok(VaultPath(trimmed.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The part of this path below a mount, without the `data/` of the HTTP API. `None` if the path is not below the
    /// mount.
    fn below(&self, mount: &str) -> Option<String> {
        let rest = self.0.strip_prefix(mount)?;
        let rest = match rest.strip_prefix('/') {
            Some(rest) => rest,
            None if rest.is_empty() => rest,
            None => return None,
        };
        let rest = match rest.strip_prefix("data") {
            Some(below) if below.is_empty() || below.starts_with('/') => below.trim_start_matches('/'),
            _ => rest,
        };
        Some(rest.to_owned())
    }
}

/// A path in a KV version 2 secrets engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KvPath {
    /// The path of the secrets engine, without a slash at its end.
    mount: String,
    /// The path below the mount; empty for the mount itself.
    rest: String,
}

impl KvPath {
    /// Finds the secrets engine of a path. Vault answers every token that has any access below the mount.
    pub(super) async fn find(
        client: &VaultClient,
        token: &Redacted<String>,
        path: &VaultPath,
    ) -> Result<KvPath, VaultError> {
        let asked = format!("sys/internal/ui/mounts/{}", path.as_str());
        let answer = client.get(&asked, &[], token).await?;
        let mount = match answer.status {
            200 => answer.json().ok_or(VaultError::UnexpectedStatus { status: 200, path: asked })?,
            404 if !answer.has_error_text("namespace") => {
                return Err(VaultError::NoMount { path: path.as_str().to_owned() });
            }
            _ => return Err(client.response_error(&answer, path.as_str()).await),
        };
        let text = |pointer: &str| mount.pointer(pointer).and_then(serde_json::Value::as_str);
        let name = text("/data/path").unwrap_or_default().trim_end_matches('/').to_owned();
        match (text("/data/type"), text("/data/options/version")) {
            (Some("kv"), Some("2")) => {}
            (Some("kv" | "generic"), _) => return Err(VaultError::KvV1 { mount: name }),
            _ => return Err(VaultError::NotKv { mount: name }),
        }
        match path.below(&name) {
            Some(rest) => Ok(KvPath { mount: name, rest }),
            None => Err(VaultError::NoMount { path: path.as_str().to_owned() }),
        }
    }

    /// Whether this path is below a prefix.
    pub(super) fn is_below(&self, prefix: &VaultPath) -> bool {
        prefix.below(&self.mount).is_some_and(|prefix| {
            prefix.is_empty() || self.rest.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with('/'))
        })
    }

    /// The API path of the secret; messages show the same path.
    pub(super) fn data(&self) -> String {
        self.api_path("data")
    }

    /// The API path of the secret's metadata.
    pub(super) fn metadata(&self) -> String {
        self.api_path("metadata")
    }

    fn api_path(&self, part: &str) -> String {
        match self.rest.as_str() {
            "" => format!("{}/{part}", self.mount),
            rest => format!("{}/{part}/{rest}", self.mount),
        }
    }

    /// The path of an entry in this directory.
    pub(super) fn child(&self, name: &str) -> KvPath {
        let rest = if self.rest.is_empty() { name.to_owned() } else { format!("{}/{name}", self.rest) };
        KvPath { mount: self.mount.clone(), rest }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    #[test]
    fn a_path_is_meant_with_and_without_the_data_of_the_api() {
        for (text, mount, rest) in [
            ("secret/data/git/key", "secret", Some("git/key")),
            ("secret/git/key", "secret", Some("git/key")),
            ("secret/data", "secret", Some("")),
            ("secret", "secret", Some("")),
            ("secret/database", "secret", Some("database")),
            ("team/kv/data/x", "team/kv", Some("x")),
            ("secrets/x", "secret", None),
            ("other/x", "secret", None),
        ] {
            assert_eq!(path(text).below(mount).as_deref(), rest, "{text}");
        }
    }

    #[test]
    fn no_path_leads_elsewhere() {
        for text in ["", "/", "/x", "a//b", "a/../b", "..", "a/.", "a\\b", "a/b\n", "a//", &"a".repeat(600)] {
            assert!(VaultPath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_place_is_below_a_prefix_by_whole_parts() {
        let kv_path = KvPath { mount: "secret".into(), rest: "acme/git/key".into() };
        for (prefix, is_below) in [
            ("secret", true),
            ("secret/data", true),
            ("secret/acme", true),
            ("secret/data/acme/git/", true),
            ("secret/ac", false),
            ("secret/acme/git/key", false),
            ("secret/other", false),
            ("other/acme", false),
        ] {
            assert_eq!(kv_path.is_below(&path(prefix)), is_below, "{prefix}");
        }
    }
}
