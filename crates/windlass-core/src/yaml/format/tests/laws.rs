//! Properties of formatting that hold for every text.

use proptest::prelude::*;

use super::documents::{Document, documents};
use super::format;
use crate::yaml::{NodeRef, Style, YamlContent, parse};

/// The meaning of a text, with its styles: block or flow, plain or quoted.
fn meaning(text: &str) -> Option<String> {
    let (tree, _) = parse(text);
    let mut described = String::new();
    describe(tree?.root(), &mut described);
    Some(described)
}

fn describe(node: NodeRef<'_>, into: &mut String) {
    let style = match node.style() {
        Style::Plain => "plain",
        Style::Text => "text",
        Style::Flow => "flow",
        Style::Block => "block",
    };
    into.push_str(style);
    match node.content() {
        YamlContent::Scalar(scalar) => into.push_str(&format!(" {scalar:?} {:?}", node.scalar_text())),
        YamlContent::Sequence(items) => {
            into.push_str(" [");
            items.for_each(|item| describe(item, into));
            into.push(']');
        }
        YamlContent::Mapping(entries) => {
            into.push_str(" {");
            entries.for_each(|(key, value)| {
                describe(key, into);
                describe(value, into);
            });
            into.push('}');
        }
    }
    into.push(';');
}

/// The generated comments and keys in their order: `#c7`, `k12`.
fn landmarks(text: &str) -> Vec<&str> {
    let is_landmark = |word: &&str| {
        let number = word.strip_prefix("#c").or(word.strip_prefix('k'));
        number.is_some_and(|number| number == "end" || number.parse::<u32>().is_ok())
    };
    text.split(|c: char| !c.is_alphanumeric() && c != '#').filter(is_landmark).collect()
}

/// Whether a parser that follows the YAML specification strictly accepts the text.
fn is_strictly_indented(text: &str) -> bool {
    let options = granit_parser::options! { strict_indentation: true };
    granit_parser::Parser::new_from_str_with_options(text, options).all(|event| event.is_ok())
}

fn check_laws(input: &str) -> Result<(), TestCaseError> {
    let output = match (format(input), parse(input)) {
        (Ok(output), _) => output,
        (Err(findings), (None, expected)) => {
            prop_assert_eq!(findings, expected);
            return Ok(());
        }
        (Err(_), _) => return Ok(()),
    };
    prop_assert!(meaning(input).is_some(), "not YAML for anyone else");
    prop_assert_eq!(meaning(input), meaning(&output), "output {:?}", &output);
    let again = format(&output);
    prop_assert_eq!(again.as_ref(), Ok(&output), "the second time");
    Ok(())
}

/// Pieces of YAML with many indicators, to cover the whole grammar.
const PIECES: &[&str] = &[
    "a",
    "b",
    "1",
    "é",
    "a: ",
    "b:\n",
    "c: 1\n",
    ": ",
    "- ",
    "-\n",
    "- x\n",
    "? ",
    ",",
    ", ",
    "[",
    "]",
    "{",
    "}",
    "\n",
    "\n\n",
    "\n  ",
    "\n    ",
    "\n ",
    " ",
    "  ",
    "\t",
    "\r\n",
    "&x ",
    "*x",
    "*x : ",
    "!!str ",
    "! ",
    "|\n",
    "|+\n",
    "|2-\n  ",
    ">\n",
    ">1\n",
    "'",
    "''",
    "\"",
    "\\",
    "\\\n",
    "#c\n",
    " #d\n",
    "\n# e\n",
    "\n  # f\n",
    " # g",
    "---\n",
    "--- ",
    "...\n",
    "\u{feff}",
    "%",
    "<<: ",
    "\u{2028}",
    "\u{85}",
];

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn generated_documents_keep_meaning_and_comments(document in documents()) {
        let Document { text } = document;
        let (_, findings) = parse(&text);
        prop_assert!(findings.is_empty(), "the generator wrote a bad document: {:?}", findings);
        let output = format(&text);
        prop_assert!(output.is_ok(), "refused: {:?}", output);
        let output = output.unwrap_or_default();
        prop_assert_eq!(landmarks(&text), landmarks(&output), "output {:?}", &output);
        prop_assert!(is_strictly_indented(&output), "editors would complain: {:?}", &output);
        check_laws(&text)?;
    }

    #[test]
    fn arbitrary_text_never_panics_and_settles_at_once(text in "(?s).{0,120}") {
        check_laws(&text)?;
    }

    #[test]
    fn pieces_of_yaml_never_panic_and_settle_at_once(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)
    ) {
        check_laws(&pieces.concat())?;
    }
}
