//! Previews: what a commit or files would change, without proposing it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use windlass_core::preview::{PreviewOutcome, PreviewSource};

use crate::word::Word;

/// What to preview: exactly one of `ref`, `commit` and `files`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewBody {
    /// A branch, or a whole reference such as `refs/pull/7/head`; the server fetches it.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A commit by its full id. With `ref`: the commit that the reference must point to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files themselves, by their path from the directory of fleet.yaml.
    #[serde(default, deserialize_with = "bounded_files", skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// With `files`: other existing paths that the fleet names.
    #[serde(default, deserialize_with = "bounded_paths", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// With `files`: the git object ids of those paths, as `blob:…` for a file and `tree:…` for a directory. The
    /// content of a path without an id is not compared; the plan has a note about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
    /// With `files`: the preview's name in lists, for example the branch. The server keeps the latest preview of each
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Plan even if it destroys most of what the repository owns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm_mass_destroy: bool,
}

/// Files that are read of a body: one more than a fleet may have, so that it is told as a fleet with too many.
const MAX_FILES: usize = windlass_core::manifest::MAX_FILES + 1;

/// Paths that are read of a body. A resource names few.
const MAX_PATHS: usize = 200_000;

/// Files, counted while they are read: a body of nothing but names would take many times its size.
fn bounded_files<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    struct Files;
    impl<'de> Visitor<'de> for Files {
        type Value = Option<BTreeMap<String, String>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("files by their path")
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut files = BTreeMap::new();
            let mut count = 0;
            while let Some((path, text)) = entries.next_entry()? {
                count += 1;
                if count > MAX_FILES {
                    return Err(A::Error::custom(format!("files: more than {MAX_FILES}")));
                }
                files.insert(path, text);
            }
            Ok(Some(files))
        }
    }
    deserializer.deserialize_any(Files)
}

/// Paths, counted while they are read.
fn bounded_paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Paths;
    impl<'de> Visitor<'de> for Paths {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of paths")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut paths = Vec::new();
            while let Some(path) = items.next_element()? {
                if paths.len() == MAX_PATHS {
                    return Err(A::Error::custom(format!("paths: more than {MAX_PATHS}")));
                }
                paths.push(path);
            }
            Ok(paths)
        }
    }
    deserializer.deserialize_seq(Paths)
}

/// What a commit or files would change. Nothing was proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewInfo {
    /// Its id, the same for every preview of the same reference.
    pub id: String,
    /// Its repository's id.
    pub repository_id: String,
    /// Its repository's name.
    pub repository_name: String,
    /// The directory of fleet.yaml in the repository.
    pub path_prefix: String,
    /// The source of the files.
    #[schemars(with = "Word<PreviewSource>")]
    pub source: PreviewSource,
    /// The branch, reference or commit; for files, the given name.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it was read at; none for files.
    pub commit_sha: Option<String>,
    /// The commit of the last good sync at that time.
    pub base_commit: Option<String>,
    /// The outcome.
    #[schemars(with = "Word<PreviewOutcome>")]
    pub outcome: PreviewOutcome,
    /// How many changes there would be.
    pub changes: usize,
    /// Who requested it; none for a pull request.
    pub requested_by: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// The plan, as `windlass plan --format json` prints it, with a forecast for each step. Not in lists.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
}

/// A preview under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviewEnvelope {
    /// The preview.
    pub preview: PreviewInfo,
}

/// Previews, newest first, without their plans.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviewList {
    /// The last one of each reference.
    pub previews: Vec<PreviewInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<PreviewBody, serde_json::Error> {
        serde_json::from_str(body)
    }

    #[test]
    fn files_and_paths_are_counted_while_they_are_read() {
        let body = read(r#"{"files": {"fleet.yaml": "version: 1"}, "paths": ["a"]}"#).expect("a body");
        assert_eq!((body.files.map(|files| files.len()), body.paths.len()), (Some(1), 1));
        assert!(read(r#"{"files": null}"#).is_ok_and(|body| body.files.is_none()));
        let many = |count: usize| vec!["\"a\""; count].join(",");
        assert!(read(&format!("{{\"paths\": [{}]}}", many(MAX_PATHS))).is_ok());
        let refused = read(&format!("{{\"paths\": [{}]}}", many(MAX_PATHS + 1)));
        assert!(refused.is_err_and(|error| error.to_string().contains("more than 200000")));
        let names: Vec<String> = (0..=MAX_FILES).map(|nth| format!("\"{nth}\": \"\"")).collect();
        let refused = read(&format!("{{\"files\": {{{}}}}}", names.join(",")));
        assert!(refused.is_err_and(|error| error.to_string().contains("files: more than")));
    }
}
