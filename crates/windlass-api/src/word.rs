//! How schemas describe closed sets of words: as the core's tables declare them.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use windlass_core::states::Spelled;

/// One word of a set.
pub(crate) struct Word<T>(PhantomData<T>);

impl<T: Spelled> JsonSchema for Word<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let word =
            |word: &T| json!({"const": word.spelling(), "description": word.meaning(), "type": "string"});
        let words: Vec<Value> = T::WORDS.iter().map(word).collect();
        json_schema!({"description": T::ABOUT, "oneOf": words})
    }
}

/// A word of a set to which later versions may add: clients must expect others.
pub(crate) struct OpenWord<T>(PhantomData<T>);

impl<T: Spelled> JsonSchema for OpenWord<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = T::WORDS.iter().map(|word| word.spelling()).collect();
        json_schema!({"description": T::ABOUT, "type": "string", "examples": words})
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::access::{Permission, Role};
    use windlass_core::event::EventKind;
    use windlass_core::proposal::Status;
    use windlass_core::run::RunStatus;

    use super::*;

    fn spellings<T: Spelled>() -> Vec<String> {
        let schema = schemars::schema_for!(Word<T>).to_value();
        let words = schema["oneOf"].as_array().expect("words").iter();
        words.map(|word| word["const"].as_str().expect("a word").to_owned()).collect()
    }

    fn check<T: Spelled>() {
        let known: Vec<&str> = T::WORDS.iter().map(|word| word.spelling()).collect();
        assert_eq!(spellings::<T>(), known, "{}", T::NAME);
    }

    #[test]
    fn schemas_have_every_spelling_and_no_other() {
        check::<Permission>();
        check::<Role>();
        check::<Status>();
        check::<RunStatus>();
    }

    #[test]
    fn a_set_that_may_grow_lists_what_is_known_and_refuses_nothing() {
        let schema = schemars::schema_for!(OpenWord<EventKind>).to_value();
        assert_eq!(schema["examples"].as_array().map(Vec::len), Some(EventKind::ALL.len()));
        assert_eq!((schema["type"].as_str(), schema.get("oneOf")), (Some("string"), None));
    }
}
