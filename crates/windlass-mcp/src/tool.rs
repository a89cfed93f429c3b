//! One tool: a row of the table.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::{arguments, schema};

/// What using a tool does to the world, for clients that ask people before they let a program use one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Looks,
    /// Begins something, each time anew, and speaks with other systems.
    Begins,
    /// Adds something that was not there.
    Adds,
    /// Changes or ends something that is there.
    Changes,
}

impl Effect {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            Effect::Looks => "looks",
            Effect::Begins => "begins",
            Effect::Adds => "adds",
            Effect::Changes => "changes",
        }
    }
}

/// From arguments to what they ask.
type Read = fn(&Map<String, Value>) -> Result<Box<dyn ToolRequest>, CallError>;

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does and when to use it.
    pub about: &'static str,
    /// What using it does to the world.
    pub effect: Effect,
    /// The operation it stands for: who may do that may use the tool.
    pub operation: Operation,
    schema: fn() -> Map<String, Value>,
    read: Read,
}

/// What someone asks of a tool. Both steps are pure.
pub(crate) trait ToolRequest: Send + Sync {
    /// The calls it takes, in order. The answer of the last is told.
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError>;

    /// What to tell of the answer.
    fn reply(&self, answer: Value) -> ToolReply;
}

/// What is told of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolReply {
    /// In one sentence, for people and for programs that read no more.
    pub(crate) text: String,
    /// The whole of it: an object.
    pub(crate) value: Value,
}

impl Tool {
    /// A row. `A` is what the tool can be asked.
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

    /// The calls that it makes of these arguments.
    pub fn calls(&self, given: &Map<String, Value>) -> Result<Vec<ApiCallSpec>, CallError> {
        self.read(given)?.calls()
    }

    /// What arguments ask of it.
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
    // The remarks on our own types say nothing to who uses a tool.
    schema.remove("description");
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    schema
}
