//! Finds secrets that were set directly, so that adopting does not write them into git.

use serde_json::Value;

use crate::diff::hide_secrets;
use crate::resource::Spec;
use crate::shape::{Defaults, Segment, path_text};

/// The path of the first value that looks like a secret and that git does not already have at the same place.
pub(super) fn first_new_secret(declared: Option<&Spec>, accepted: &Spec) -> Option<String> {
    let plain = accepted.to_json(Defaults::Fill);
    let masked = hide_secrets(plain.clone());
    let known = declared.map_or(Value::Null, |declared| declared.to_json(Defaults::Fill));
    find(&plain, &masked, &known, &mut Vec::new())
}

fn find<'v>(plain: &'v Value, masked: &Value, known: &Value, path: &mut Vec<Segment<'v>>) -> Option<String> {
    if plain == masked || plain == known {
        return None;
    }
    match (plain, masked) {
        (Value::Object(plain), Value::Object(masked)) => plain.iter().find_map(|(key, value)| {
            below(Segment::Key(key), value, &masked[key], &known[key.as_str()], path)
        }),
        (Value::Array(plain), Value::Array(masked)) => {
            plain.iter().zip(masked).enumerate().find_map(|(index, (value, masked))| {
                below(Segment::Index(index), value, masked, &known[index], path)
            })
        }
        _ => Some(path_text(path.iter().copied())),
    }
}

fn below<'v>(
    segment: Segment<'v>,
    plain: &'v Value,
    masked: &Value,
    known: &Value,
    path: &mut Vec<Segment<'v>>,
) -> Option<String> {
    path.push(segment);
    let found = find(plain, masked, known, path);
    path.pop();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Kind;

    fn module(config: &str) -> Spec {
        Spec::read_stored(Kind::Module, &format!(r#"{{"config":{config}}}"#)).unwrap()
    }

    fn found(declared: Option<&str>, accepted: &str) -> Option<String> {
        first_new_secret(declared.map(module).as_ref(), &module(accepted))
    }

    #[test]
    fn a_secret_that_git_does_not_contain_is_found_in_every_field() {
        for (declared, accepted, path) in [
            (Some("{}"), r#"{"db_password":"hunter2"}"#, "config.db_password"),
            // Git does not declare the resource.
            (None, r#"{"db_password":"hunter2"}"#, "config.db_password"),
            (Some(r#"{"db_password":"old"}"#), r#"{"db_password":"hunter2"}"#, "config.db_password"),
            (None, r#"{"list":[{"a":1},{"api_token":"t"}]}"#, "config.list[1].api_token"),
            (None, r#"{"url":"https://u:p@x/y"}"#, "config.url"),
        ] {
            assert_eq!(found(declared, accepted).as_deref(), Some(path), "{accepted}");
        }
    }

    #[test]
    fn what_is_no_secret_or_is_in_git_already_is_adopted() {
        for (declared, accepted) in [
            (None, r#"{"port":1,"note":"(hidden)"}"#),
            (None, r#"{"db_password":"vault:db#password"}"#),
            (Some(r#"{"db_password":"hunter2"}"#), r#"{"db_password":"hunter2","port":2}"#),
        ] {
            assert_eq!(found(declared, accepted), None, "{accepted}");
        }
    }
}
