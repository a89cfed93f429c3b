//! Descriptions of types, as data.

use serde_json::Value;

/// The description of a value.
#[derive(Clone, Debug)]
pub enum Description {
    /// Text.
    Text {
        /// What the text is, e.g. `a hostname`.
        what: &'static str,
        /// A regular expression (ECMA flavour, anchored) that every value matches.
        pattern: Option<&'static str>,
    },
    /// True or false.
    Boolean,
    /// A whole number.
    Integer {
        /// The minimum.
        min: i64,
        /// The maximum.
        max: i64,
    },
    /// One of several words.
    Choice(Vec<ChoiceDescription>),
    /// A list whose order matters.
    List(Box<Description>),
    /// A list without duplicates whose order does not matter.
    Set(Box<Description>),
    /// A map with free keys.
    Map {
        /// What the keys are.
        key: &'static str,
        /// A regular expression that every key matches.
        key_pattern: Option<&'static str>,
        /// The description of the values.
        value: Box<Description>,
    },
    /// A map with known keys.
    Record(RecordDescription),
    /// Named items, as a map keyed by name or as a list whose items contain the name.
    Section(SectionDescription),
    /// Any plain value.
    Free,
}

/// Named items of one kind.
#[derive(Clone, Debug)]
pub struct SectionDescription {
    /// The key of the name in the list form.
    pub name_key: &'static str,
    /// What the name is, e.g. `a hostname`.
    pub name_what: &'static str,
    /// A regular expression that every name matches.
    pub name_pattern: Option<&'static str>,
    /// The description of an item, without the name.
    pub value: Box<Description>,
}

/// A word of a choice.
#[derive(Clone, Debug)]
pub struct ChoiceDescription {
    /// The word.
    pub word: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// A map with known keys.
#[derive(Clone, Debug)]
pub struct RecordDescription {
    /// The type's name, unique among records.
    pub name: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// Its fields, in the order of the reference.
    pub fields: Vec<FieldDescription>,
}

/// A field of a record.
#[derive(Clone, Debug)]
pub struct FieldDescription {
    /// The key.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Whether it is required.
    pub required: bool,
    /// Its default.
    pub default: Option<Value>,
    /// An example value, in YAML.
    pub example: &'static str,
    /// The description of its value. A function, so that records may contain each other.
    pub shape: fn() -> Description,
}

impl Description {
    /// The type in a few words, e.g. `list of names`.
    pub fn summary(&self) -> String {
        match self {
            Description::Text { what, .. } => (*what).to_owned(),
            Description::Boolean => "true or false".to_owned(),
            Description::Integer { min, max } => format!("whole number from {min} to {max}"),
            Description::Choice(words) => {
                let words: Vec<&str> = words.iter().map(|choice| choice.word).collect();
                format!("one of {}", words.join(", "))
            }
            Description::List(item) => format!("list, each {}", item.summary()),
            Description::Set(item) => format!("list in any order, each {}", item.summary()),
            Description::Map { key, value, .. } => format!("map from {key} to {}", value.summary()),
            Description::Record(_) => "map with the fields below".to_owned(),
            Description::Section(section) => {
                format!("map keyed by {}, or list whose items have `{}`", section.name_what, section.name_key)
            }
            Description::Free => "any plain value".to_owned(),
        }
    }

    /// The record inside lists and maps.
    pub fn record(&self) -> Option<&RecordDescription> {
        match self {
            Description::Record(record) => Some(record),
            Description::List(inner) | Description::Set(inner) => inner.record(),
            Description::Map { value, .. } => value.record(),
            Description::Section(section) => section.value.record(),
            Description::Text { .. }
            | Description::Boolean
            | Description::Integer { .. }
            | Description::Choice(_)
            | Description::Free => None,
        }
    }
}

impl RecordDescription {
    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&FieldDescription> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl FieldDescription {
    /// The documentation without the margins of the source.
    pub fn text(&self) -> String {
        doc_text(self.doc)
    }
}

/// Joins the lines of a doc comment into one paragraph.
pub(crate) fn doc_text(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl RecordDescription {
    /// The documentation without the margins of the source.
    pub fn text(&self) -> String {
        doc_text(self.doc)
    }
}

impl ChoiceDescription {
    /// The documentation without the margins of the source.
    pub fn text(&self) -> String {
        doc_text(self.doc)
    }
}
