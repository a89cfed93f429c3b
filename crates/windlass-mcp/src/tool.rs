//! One tool: a row of the table.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::{arguments, schema};

/// The effect of a tool, for clients that ask a person for confirmation first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only reads.
    Reads,
    /// It starts something on every call, and contacts other systems.
    Starts,
    /// It creates something.
    Creates,
    /// It changes or deletes something that exists.
    Changes,
}

impl Effect {
    /// The effect as one word.
    pub const fn word(self) -> &'static str {
        match self {
            Effect::Reads => "looks",
            Effect::Starts => "begins",
            Effect::Creates => "adds",
            Effect::Changes => "changes",
        }
    }
}

/// Parses the arguments of a tool.
type Read = fn(&Map<String, Value>) -> Result<Box<dyn ToolRequest>, CallError>;

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub about: &'static str,
    /// Its effect.
    pub effect: Effect,
    /// The operation it stands for: everyone with permission for it may use the tool.
    pub operation: Operation,
    schema: fn() -> Map<String, Value>,
    read: Read,
}

/// The parsed arguments of a tool. Both steps are pure.
pub(crate) trait ToolRequest: Send + Sync {
    /// The calls to make, in order. The reply is about the response of the last one.
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError>;

    /// The reply for a response.
    fn reply(&self, answer: Value) -> ToolReply;
}

/// The reply of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolReply {
    /// One sentence, for people and for programs that read nothing else.
    pub(crate) text: String,
    /// The full reply: an object.
    pub(crate) value: Value,
}

impl Tool {
    /// A row of the table. `A` is the type of the arguments.
    pub(crate) const fn row<A>(
        name: &'static str,
        effect: Effect,
        operation: Operation,
        about: &'static str,
    ) -> Tool
    where
        A: ToolRequest + DeserializeOwned + JsonSchema + 'static,
    {
        Tool {
            name,
            about,
            effect,
            operation,
            schema: schema_of::<A>,
            read: |given| {
                let known = schema_of::<A>();
                arguments::read::<A>(given, &known).map(|asked| Box::new(asked) as Box<dyn ToolRequest>)
            },
        }
    }

    /// The JSON Schema of its arguments.
    pub fn schema(&self) -> Map<String, Value> {
        (self.schema)()
    }

    /// The calls for these arguments.
    pub fn calls(&self, given: &Map<String, Value>) -> Result<Vec<ApiCallSpec>, CallError> {
        self.read(given)?.calls()
    }

    /// Parses the arguments.
    pub(crate) fn read(&self, given: &Map<String, Value>) -> Result<Box<dyn ToolRequest>, CallError> {
        (self.read)(given)
    }
}

fn schema_of<A: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    let Value::Object(mut schema) = schema else { return Map::new() };
    schema::simplify(&mut schema);
    // The doc comment of our type does not help the user of a tool.
    schema.remove("description");
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}
