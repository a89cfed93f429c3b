//! Random documents: every style, any indentation, comments wherever YAML allows them.

use proptest::prelude::*;

use super::writer::Writer;

/// A generated text.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) text: String,
}

/// A value before it is written.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A scalar in flow style, possibly over several lines.
    Words(&'static str),
    /// A header and lines of text.
    BlockScalar(&'static str, &'static [&'static str]),
    List(Vec<(Dress, Value)>, Shape),
    Map(Vec<(Dress, Value)>, Shape),
}

/// The style of a collection.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Indented by this many spaces; 0 only where YAML allows it.
    Block(usize),
    /// On one line, with this text between brackets, commas and items.
    Flow(&'static str),
    /// Each item on its own line, at this indentation.
    FlowLines(usize),
}

/// The comments and line breaks around an item.
#[derive(Clone, Debug)]
pub(super) struct Dress {
    pub(super) blank_lines: usize,
    pub(super) comments_above: usize,
    pub(super) trailing_spaces: Option<usize>,
    /// Whether the value begins on its own line although it need not.
    pub(super) breaks: bool,
    pub(super) property: &'static str,
}

/// Documents with a collection at the root.
pub(super) fn documents() -> impl Strategy<Value = Document> {
    let root = prop::collection::vec((dress(), value()), 1..6);
    let ending = prop::sample::select(&["\n", "", "\n\n\n", "\n#cend\n"]);
    (root, any::<bool>(), ending, any::<bool>()).prop_map(|(items, is_map, ending, has_crlf)| {
        let root = match is_map {
            true => Value::Map(items, Shape::Block(0)),
            false => Value::List(items, Shape::Block(0)),
        };
        let mut writer = Writer::default();
        writer.block(&root, 0);
        let text = writer.text.trim_end_matches('\n').to_owned() + ending;
        Document { text: if has_crlf { text.replace('\n', "\r\n") } else { text } }
    })
}

fn dress() -> impl Strategy<Value = Dress> {
    let property = prop::sample::select(&["", "", "", "&x ", "!!str ", "&y  !!str "]);
    let trailing = prop::option::weighted(0.3, 1..5_usize);
    (0..3_usize, 0..3_usize, trailing, any::<bool>(), property).prop_map(
        |(blank_lines, comments_above, trailing_spaces, breaks, property)| Dress {
            blank_lines,
            comments_above,
            trailing_spaces,
            breaks,
            property,
        },
    )
}

fn value() -> impl Strategy<Value = Value> {
    let words: &[&str] = &[
        "",
        "word",
        "two words",
        "12",
        "~",
        "'it''s # x'",
        "\"q \\\" \\u00e9\"",
        "http://x:1/#y",
        "größe",
        "-x",
        "one\n\n\ntwo",
        "'one\ntwo'",
        "\"one \\\ntwo\"",
        "<<",
    ];
    let texts: &[&[&str]] =
        &[&["text"], &["one", "", "  two"], &[" first", "second"], &["# no comment"], &["x", "", ""], &[]];
    let headers: &[&str] = &["|", ">", "|-", ">-", "|+", ">+"];
    let leaf = prop_oneof![
        4 => prop::sample::select(words).prop_map(Value::Words),
        1 => (prop::sample::select(headers), prop::sample::select(texts))
            .prop_map(|(header, lines)| Value::BlockScalar(header, lines)),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let items = prop::collection::vec((dress(), inner), 0..5);
        (items, shape(), any::<bool>()).prop_map(|(items, shape, is_map)| match is_map {
            true => Value::Map(items, shape),
            false => Value::List(items, shape),
        })
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => (0..5_usize).prop_map(Shape::Block),
        1 => prop::sample::select(&["", " ", "   "]).prop_map(Shape::Flow),
        1 => (14..20_usize).prop_map(Shape::FlowLines),
    ]
}
