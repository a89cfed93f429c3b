//! The quick reader and the general parser agree on everything that the quick reader accepts.

use proptest::prelude::*;

use super::super::build::parse_generally;
use super::super::tree::{NodeRef, YamlContent};
use super::read;

/// Everything visible in a tree, positions included.
fn describe(node: NodeRef<'_>, into: &mut String) {
    into.push_str(&format!("{:?}@{:?}", node.style(), node.span()));
    match node.content() {
        YamlContent::Scalar(scalar) => into.push_str(&format!("{scalar:?}")),
        YamlContent::Sequence(items) => items.for_each(|item| describe(item, into)),
        YamlContent::Mapping(entries) => entries.for_each(|(key, value)| {
            into.push('(');
            describe(key, into);
            describe(value, into);
            into.push(')');
        }),
    }
}

fn described(node: NodeRef<'_>) -> String {
    let mut text = String::new();
    describe(node, &mut text);
    text
}

/// Whether the quick reader accepts the text; if so, the general parser must give the same tree without findings.
fn agrees(text: &str) -> bool {
    if super::super::findings::check_text(text).is_err() {
        return false;
    }
    let Some(quick) = read(text) else { return false };
    let (general, findings) = parse_generally(text);
    assert!(findings.is_empty(), "{text:?} is accepted, but {findings:?}");
    let general = general.unwrap_or_default();
    assert_eq!(described(quick.root()), described(general.root()), "{text:?}");
    true
}

#[test]
fn what_fleets_are_made_of_is_read_quickly() {
    for text in [
        "a: 1\n",
        "a: 1",
        "a:\nb: 2\n",
        "a:\n  b: c\n  d:\n    - e\n    - f: 1\n      g: [h, {i: j}]\n",
        "a:\n- b\n- c: 1\n  d: 2\n-   e: 3\n    f: 4\n",
        "# c\n\na: b # c\n  # d\nc: \"d e\" # f\n\n",
        "a: 'x'\n'b': {c: \"d\", e: [], f: {}}\n",
        "a: {b: 1.26.0, c: 10%, d: ~, e: true, f: http://x/y?z=1}\n",
        "a: é ü\nb: -5\nc: +1\nd: .5\ne: a:b\nf: a#b\n",
        "n:\n  edge:nginx: {enabled: true}\n  /etc/x.conf: {mode: \"0644\"}\n",
        "a:\n  b:\n  c:\nd:\n",
        "a: [1, 2]   # c\nb: { c: d }\n",
        "a: |\n  b\n   c \n\n  # d\n\n\ne: |-\n f\n\n# g\nh: 1\n",
        "x:\n- a: |\n    b\n  c: 1\n",
    ] {
        assert!(agrees(text), "{text:?} is not read quickly");
    }
}

#[test]
fn what_is_not_plain_is_left_to_the_general_parser() {
    for text in [
        "",
        "# c\n",
        "- a\n",
        "a\n",
        "a: >\n  b\n",
        "a: &x 1\nb: *x\n",
        "a: !!str 1\n",
        "a: b\n  c\n",
        "a: \"b\n  c\"\n",
        "? a\n: b\n",
        "a: [1,\n 2]\n",
        "a: {b, c}\n",
        "a: [b,]\n",
        "a: \"\\n\"\n",
        "a: 'it''s'\n",
        "---\na: 1\n",
        "a: 1\n...\n",
        "%YAML 1.2\n",
        "a: 1\na: 2\n",
        "a: b: c\n",
        "a: @b\n",
        "a: `b`\n",
        "\ta: 1\n",
        "a:\t1\n",
        "a: 1\r\nb: 2\r\n",
        " a: 1\n",
        "a: 1\n b: 2\n",
        "a:\n  b: 1\n c: 2\n",
        "- - a\n",
        "a: - b\n",
        "a:\n  - b\n - c\n",
        "<<: {a: 1}\n",
        "a: {b: c",
        "a: [b",
        "a: 'b",
        "a: {b: c} d\n",
        "a: [b] c\n",
        "a: \"b\"c\n",
        "a: b #c\n  d\n",
        "\u{feff}a: 1\n",
        "a: b\u{2028}c\n",
        "a: {b:c}\n",
        "a: [b: c]\n",
    ] {
        assert!(!agrees(text), "{text:?} is read quickly");
    }
}

#[test]
fn our_own_fleets_are_read_quickly_where_they_are_plain() {
    assert!(agrees(include_str!("../../../../examples/edge-before/fleet.yaml")));
    assert!(agrees(include_str!("../../../../examples/edge/fleet.d/network.yaml")));
    agrees(include_str!("../catalogue.yaml"));
}

/// Writes simple documents with any allowed indentation and comments. Each choice reads one byte.
struct Writer<'t> {
    tape: std::slice::Iter<'t, u8>,
    text: String,
}

impl Writer<'_> {
    fn below(&mut self, count: u8) -> u8 {
        self.tape.next().map_or(0, |byte| byte % count)
    }

    fn one(&mut self, words: &[&'static str]) -> &'static str {
        words[usize::from(self.below(words.len() as u8))]
    }

    fn indent(&mut self, indent: usize) {
        let between = self.one(&["", "", "", "\n", "# c\n", "INDENT# d: e\n", "\n\n"]);
        self.text.push_str(&between.replace("INDENT", &" ".repeat(indent)));
        self.text.push_str(&" ".repeat(indent));
    }

    fn mapping(&mut self, indent: usize, depth: usize, begins: Begins) {
        for number in 0..=self.below(3) {
            if number > 0 || begins == Begins::OnItsOwnLine {
                self.indent(indent);
            }
            let key = self.one(&["a", "b:c", "/d.e", "x@1", "\"g h", "'f"]);
            let quote = key.chars().next().filter(|c| matches!(c, '"' | '\''));
            self.text.push_str(&format!("{key}{number}{}:", quote.map(String::from).unwrap_or_default()));
            self.value(indent, depth);
        }
    }

    fn value(&mut self, indent: usize, depth: usize) {
        let deeper = indent + 1 + usize::from(self.below(4));
        match if depth > 4 { self.below(4) } else { self.below(8) } {
            0 => self.line(&["", " ", "  # c"]),
            1 | 2 => self.line(&[" 1", " b c ", " \"q: #\" # c", " 's'", " a:b", " -5 # c", " é x", " ~"]),
            3 => self.line(&[
                " {}",
                " [ ]",
                " {a: 1, b: [c, d e]}",
                " {a: {b: \"c\"}, 'd': -1} # e",
                " [a, [b]]",
            ]),
            4 => self.literal(deeper),
            5 | 6 => {
                self.line(&["", "  # c"]);
                self.mapping(deeper, depth + 1, Begins::OnItsOwnLine);
            }
            _ => {
                self.line(&["", " "]);
                let dashes = if self.below(2) == 0 { indent } else { deeper };
                self.sequence(dashes, depth + 1);
            }
        }
    }

    fn literal(&mut self, indent: usize) {
        self.line(&[" |", " |-"]);
        for number in 0..=self.below(3) {
            let words = self.one(&["a", "b: c ", "# d", "- e"]);
            let further = if number > 0 { self.one(&["", " "]) } else { "" };
            let after = self.one(&["", "", "\n"]);
            self.text.push_str(&format!("{}{further}{words}\n{after}", " ".repeat(indent)));
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize) {
        for _ in 0..=self.below(3) {
            self.indent(indent);
            let dash = self.one(&["- ", "-   "]);
            self.text.push_str(dash);
            match self.below(3) {
                0 => self.mapping(indent + dash.len(), depth + 1, Begins::BehindADash),
                1 => self.line(&["a", "1 # c", "\"q\"", "b c"]),
                _ => self.line(&["[a, b]", "{c: d}"]),
            }
        }
    }

    fn line(&mut self, words: &[&'static str]) {
        let words = self.one(words);
        self.text.push_str(words);
        self.text.push('\n');
    }
}

/// Where a map begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    OnItsOwnLine,
    BehindADash,
}

const PIECES: &[&str] = &[
    "a",
    "b",
    "c: ",
    "d:",
    "e:\n",
    "- ",
    "-",
    "\n",
    "\n  ",
    "\n    ",
    "\n- ",
    "\n  - ",
    " ",
    "  ",
    "# x",
    " # y",
    "{",
    "}",
    "[",
    "]",
    ", ",
    ",",
    "\"q\"",
    "'s'",
    "\"",
    "'",
    ":",
    ": ",
    "1",
    "-5",
    "~",
    "null",
    "true",
    "é",
    "/x",
    "&a ",
    "*a",
    "!t ",
    "|",
    ">",
    "?",
    "%",
    "@",
    "\\",
    "<<: ",
    "x: {y: z}",
    "[1, 2]",
    "k: v\n",
    "  k: v\n",
    "    k: v\n",
    "- k: v\n",
    "  - k: v\n",
    "\t",
    "\r\n",
    "...",
    "---",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_quick_reader_reads_plain_documents_like_the_general_parser(tape in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut writer = Writer { tape: tape.iter(), text: String::new() };
        writer.mapping(0, 0, Begins::OnItsOwnLine);
        prop_assert!(agrees(&writer.text), "not read quickly: {:?}", writer.text);
    }

    #[test]
    fn the_quick_reader_reads_pieces_of_yaml_like_the_parser_or_declines(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..28)) {
        agrees(&pieces.concat());
    }

    #[test]
    fn the_quick_reader_reads_lines_of_yaml_like_the_parser_or_declines(
        lines in prop::collection::vec(("( {0,8})(- ){0,2}", "[a-c:]{1,2}", "(: |:|)", "([a-c0-9 #:-]{0,6}|\\|-?|\\{[a-c:, ]{0,8}\\}|\\[[a-c:, ]{0,8}\\])"), 0..10)
    ) {
        let text: String = lines.into_iter().map(|(indent, key, colon, value)| format!("{indent}{key}{colon}{value}\n")).collect();
        agrees(&text);
    }
}
