//! Structure, spacing, and what is rejected.

use super::{check, format};
use crate::diagnostic::Code;
use crate::yaml::MAX_FILE_BYTES;

#[test]
fn files_end_with_one_line_end_and_have_no_needless_white_space() {
    check(&[
        ("", ""),
        ("\n\n", ""),
        ("a: 1", "a: 1\n"),
        ("a: 1\n\n\n", "a: 1\n"),
        ("\n\n\na: 1\n", "a: 1\n"),
        ("a: 1   \nb: 2\t\n", "a: 1\nb: 2\n"),
        ("a: 1\n\n\n\nb: 2\n  \n\nc: 3\n", "a: 1\n\nb: 2\n\nc: 3\n"),
        ("\u{feff}a: 1\n", "a: 1\n"),
        ("a: 1\r\nb:\r\n    c: 2\r\n\r\n\r\nd: 3\r\n", "a: 1\nb:\n  c: 2\n\nd: 3\n"),
        ("a: 1\rb: 2\r", "a: 1\nb: 2\n"),
    ]);
}

#[test]
fn block_collections_are_indented_by_two() {
    check(&[
        ("a:\n    b:\n        c: 1\n    d: 2\n", "a:\n  b:\n    c: 1\n  d: 2\n"),
        ("a:\n b:\n  c:\n   d: 1\n", "a:\n  b:\n    c:\n      d: 1\n"),
        ("  a: 1\n  b: 2\n", "a: 1\nb: 2\n"),
        ("a:\n- 1\n- 2\nb: 3\n", "a:\n  - 1\n  - 2\nb: 3\n"),
        ("a:\n      - 1\n      - 2\n", "a:\n  - 1\n  - 2\n"),
        ("-   a: 1\n    b: 2\n-   c: 3\n", "- a: 1\n  b: 2\n- c: 3\n"),
        ("-\n  a: 1\n  b:\n  - 2\n", "- a: 1\n  b:\n    - 2\n"),
        ("-   -   a\n    -   b\n-\n    - c\n", "- - a\n  - b\n- - c\n"),
        ("- - - a: 1\n      b: 2\n", "- - - a: 1\n      b: 2\n"),
        ("a:\n\n  b: 1\n\n  c: 2\n", "a:\n\n  b: 1\n\n  c: 2\n"),
        ("- a\n\n\n- b\n", "- a\n\n- b\n"),
    ]);
}

#[test]
fn keys_and_values_are_set_apart_by_one_space() {
    check(&[
        ("a:     1\nb :  2\nc:\t3\n", "a: 1\nb: 2\nc: 3\n"),
        ("a:\n  1\nb:\n\n  2\n", "a: 1\nb: 2\n"),
        ("\"a b\" : 1\n'c': 2\n", "\"a b\": 1\n'c': 2\n"),
        ("a:\nb:   \nc: ~\n", "a:\nb:\nc: ~\n"),
        ("-\n- \n-   a\n", "-\n-\n- a\n"),
        (": a\n", ": a\n"),
        ("- : a\n", "- : a\n"),
        ("größe:   1\n名前:\n    - 値\n🦀:  [é,ü]\n", "größe: 1\n名前:\n  - 値\n🦀: [é, ü]\n"),
        ("b: 1\na: 2\nb: 3\n", "b: 1\na: 2\nb: 3\n"),
    ]);
}

#[test]
fn anchors_aliases_tags_and_merge_keys_stay() {
    check(&[
        ("a:   &x   1\nb:  *x\n", "a: &x 1\nb: *x\n"),
        ("a: &x\n    b: 1\nc:\n    <<:   *x\n    d: 2\n", "a: &x\n  b: 1\nc:\n  <<: *x\n  d: 2\n"),
        ("a:\n   &x\n   b: 1\n", "a: &x\n  b: 1\n"),
        ("-   &x\n    a: 1\n-   *x\n", "- &x\n  a: 1\n- *x\n"),
        ("- &x a: 1\n  b: 2\n", "- &x a: 1\n  b: 2\n"),
        ("a:  !!str   1\nb: &x  !!str  2\nc: !!str  &y 3\n", "a: !!str 1\nb: &x !!str 2\nc: !!str &y 3\n"),
        ("a: &x\nb: !!str\nc: *x\n", "a: &x\nb: !!str\nc: *x\n"),
        ("a: &x b\n*x   : c\n&y   : d\n", "a: &x b\n*x : c\n&y : d\n"),
        ("a: &x [1]\nb: { *x : 1,c: *x }\n", "a: &x [1]\nb: {*x : 1, c: *x}\n"),
        ("!!map\na: !!seq\n- 1\n", "!!map\na: !!seq\n  - 1\n"),
    ]);
}

#[test]
fn document_markers_are_kept_at_the_start_and_dropped_at_the_end() {
    check(&[
        ("---\na: 1\n", "---\na: 1\n"),
        ("--- # c\n\na: 1\n...\n", "--- # c\n\na: 1\n"),
        ("--- text\n", "---\ntext\n"),
        ("--- &x\na: 1\n", "---\n&x\na: 1\n"),
        ("--- |\n text\n", "---\n|\n  text\n"),
        ("---\n", "---\n"),
        ("# c\n---\n# d\n", "# c\n---\n# d\n"),
        ("a:\n  b: 1\n... # c\n", "a:\n  b: 1\n# c\n"),
    ]);
}

#[test]
fn flow_collections_stay_on_their_line_with_even_spacing() {
    check(&[
        ("a: {b:  1,c : [x,y ,  z]}\n", "a: {b: 1, c: [x, y, z]}\n"),
        ("a: {  }\nb: [ ]\nc: [{},[]]\n", "a: {}\nb: []\nc: [{}, []]\n"),
        ("[a,b]\n", "[a, b]\n"),
        ("a: [b,c,]\nd: {e: 1,}\n", "a: [b, c]\nd: {e: 1}\n"),
        ("a: {\"b\":1,'c':2}\n", "a: {\"b\": 1, 'c': 2}\n"),
        ("a: {b,c: ,d:}\n", "a: {b, c:, d:}\n"),
        ("a: [b: 1, c : [d: 2]]\n", "a: [b: 1, c: [d: 2]]\n"),
        ("a: [&x 1,*x , !!str  2,!!str , &y ]\n", "a: [&x 1, *x, !!str 2, !!str, &y]\n"),
        ("a: [http://x:80/?q=#1, 'it''s', \"q\\\"\"]\n", "a: [http://x:80/?q=#1, 'it''s', \"q\\\"\"]\n"),
        ("- [a,\n   b]\n- {c: 1,\n   d: 2}\n", "- [a, b]\n- {c: 1, d: 2}\n"),
        ("a:\n  [b,\n  c\n  ]\n", "a: [b, c]\n"),
    ]);
    let long = format!("a: [{}]\n", ["word"; 40].join(", "));
    check(&[(&long, &long)]);
}

#[test]
fn flow_collections_that_cannot_be_on_one_line_have_one_item_per_line() {
    let word = "w".repeat(30);
    let input = format!("a: [{word}, {word},\n {word}, {{b: 1,\n c: 2}}]\n");
    let output = format!("a: [\n    {word},\n    {word},\n    {word},\n    {{b: 1, c: 2}}\n  ]\n");
    check(&[(&input, &output)]);
    let input = format!("- {{a: {word}, b: {word},\n c: [{word}, {word}, {word},\n d]}}\n");
    let output = format!(
        "- {{\n    a: {word},\n    b: {word},\n    c: [\n      {word},\n      {word},\n      {word},\n      d\n    ]\n  }}\n"
    );
    check(&[(&input, &output)]);
    check(&[
        ("- a: [1, # one\n   2]\n", "- a: [\n      1, # one\n      2\n    ]\n"),
        ("a: [ # c\n]\n", "a: [ # c\n  ]\n"),
        ("a: {\n# c\n}\n", "a: {\n    # c\n  }\n"),
        (
            "a: [\n1 # one\n, 2, # two\n\n\n# end\n]  # after\n",
            "a: [\n    1, # one\n    2 # two\n\n    # end\n  ]  # after\n",
        ),
        ("a: {b: # c\n 1, d # e\n : 2}\n", "a: {\n    b: # c\n      1,\n    d: # e\n      2\n  }\n"),
        ("a: # c\n  [1, # d\n 2]\n", "a: # c\n  [\n    1, # d\n    2\n  ]\n"),
        ("a: [b: # c\n 1]\n", "a: [\n    b: # c\n      1\n  ]\n"),
    ]);
}

#[test]
fn what_the_layout_has_no_form_for_is_refused_with_its_place() {
    let cases = [
        ("? a\n: b\n", 0),
        ("a: 1\n? b\n", 5),
        ("a: {? b : c}\n", 4),
        ("a: [? b : c]\n", 4),
        ("a: 1\r\n? b\r\n: c\r\n", 6),
        ("[a]: b\n", 0),
        ("a: {[b]: c}\n", 4),
        ("%YAML 1.2\n---\na: 1\n", 0),
        ("a: |1\n   \n", 3),
        ("\u{feff}a: 1\r\nb: 2\r\n? c\r\n", 15),
    ];
    for (input, at) in cases {
        let findings = format(input).expect_err(input);
        assert_eq!(findings.len(), 1, "{input:?}");
        assert_eq!(findings[0].code, Code::YamlSyntax, "{input:?}");
        assert_eq!(findings[0].span.start, at, "{input:?}");
        assert!(findings[0].message.contains("cannot be formatted"), "{input:?}");
    }
}

#[test]
fn what_cannot_be_read_gives_the_findings_of_reading() {
    let cases = [
        ("a: [1\n", Code::YamlSyntax),
        ("a: *x\n", Code::YamlAlias),
        ("a: 1\n---\nb: 2\n", Code::YamlDocuments),
        ("a: \u{1}\n", Code::YamlControlCharacter),
    ];
    for (input, code) in cases {
        assert_eq!(format(input).expect_err(input)[0].code, code, "{input:?}");
    }
    let deep = "[".repeat(100);
    assert_eq!(format(&deep).expect_err("too deep")[0].code, Code::YamlDepth);
}

#[test]
fn a_result_larger_than_a_file_may_be_is_refused() {
    let item = "a:\n- 1\n";
    let input = format!("{item}{}", "- \n".repeat(MAX_FILE_BYTES / 3 - 16));
    assert!(input.len() < MAX_FILE_BYTES);
    assert!(format(&input).is_err());
}
