//! The accepted state as a fleet.yaml.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::tool::{ToolReply, ToolRequest};

/// The most characters of a file in one reply; the cut is at a line end.
const MAX_PART_CHARS: usize = 60_000;

const ROOT: &str = "fleet.yaml";

/// Arguments of the export.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Export {
    /// Only what this repository owns, by id or name.
    repository_id: Option<String>,
    /// `list` (default) or `map`.
    form: Option<Form>,
    /// The file, if the export has several because the fleet is large. Default `fleet.yaml`.
    file: Option<String>,
    /// Where to continue in the file: the previous result's `next_offset`.
    offset: Option<usize>,
}

/// How sections are written.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// As lists.
    List,
    /// As maps by name.
    Map,
}

impl ToolRequest for Export {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let form = self.form.map(|form| match form {
            Form::List => "list",
            Form::Map => "map",
        });
        let call = ApiCallSpec::new(Operation::Export).query("repository", self.repository_id.as_ref());
        Ok(vec![call.query("form", form)])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let wanted = self.file.as_deref().unwrap_or(ROOT);
        let (files, left_out) = files_of(answer);
        let text = files.get(wanted).and_then(Value::as_str);
        let (shown, next) = text_part(text.unwrap_or_default(), self.offset.unwrap_or_default());
        let names: Vec<&String> = files.keys().collect();
        let told = match (text, next) {
            (None, _) => format!("unknown file {wanted}: `files` lists the files"),
            (_, Some(next)) => format!("{wanted}, up to character {next}: pass that as `offset` to continue"),
            (_, None) => format!("{wanted}, to its end"),
        };
        let value = json!({ "file": wanted, "fleet_yaml": shown, "next_offset": next, "files": names,
            "left_out": left_out });
        ToolReply { text: told, value }
    }
}

/// The files of an export, which is one text or several.
fn files_of(answer: Value) -> (Map<String, Value>, Value) {
    match answer {
        Value::Object(mut several) => {
            let left_out = several.remove("left_out").unwrap_or_else(|| json!([]));
            match several.remove("files") {
                Some(Value::Object(files)) => (files, left_out),
                _ => (Map::new(), left_out),
            }
        }
        one => (Map::from_iter([(ROOT.to_owned(), one)]), json!([])),
    }
}

/// Whole lines from an offset on, and the offset of the next part.
fn text_part(text: &str, offset: usize) -> (String, Option<usize>) {
    let rest: String = text.chars().skip(offset).take(MAX_PART_CHARS + 1).collect();
    if rest.chars().count() <= MAX_PART_CHARS {
        return (rest, None);
    }
    let end = rest.rfind('\n').map_or(rest.len(), |end| end + 1);
    let shown = rest[..end].to_owned();
    let next = offset + shown.chars().count();
    (shown, Some(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_export_comes_in_parts_that_make_up_the_whole() {
        let whole: String = (0..9_000).map(|number| format!("- {{hostname: nöde-{number}}}\n")).collect();
        let (mut read, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let (shown, next) = text_part(&whole, at);
            assert!(shown.ends_with('\n') && shown.chars().count() <= MAX_PART_CHARS + 1);
            read.push_str(&shown);
            offset = next;
        }
        assert_eq!(read, whole);
    }
}
