//! Texts of one line and of several.

use super::check;

#[test]
fn block_scalars_keep_header_and_text() {
    check(&[
        ("a: |\n      one\n        two\n\n      three\n", "a: |\n  one\n    two\n\n  three\n"),
        ("a: >-\n one\n two\nb: |-\n two\n", "a: >-\n  one\n  two\nb: |-\n  two\n"),
        ("a:\n- |\n text\n- >\n  text\n", "a:\n  - |\n    text\n  - >\n    text\n"),
        ("- a: |\n   text\n  b: 1\n", "- a: |\n    text\n  b: 1\n"),
        ("a: &x   !!str  |\n text\n", "a: &x !!str |\n  text\n"),
        ("a:\n  # c\n  |\n  text\n", "a:\n  # c\n  |\n  text\n"),
        ("a: |\n  text", "a: |\n  text\n"),
        ("a: |\nb: >-\n\nc: 1\n", "a: |\nb: >-\n\nc: 1\n"),
        ("a: |\n text  \n \ttab\n", "a: |\n  text  \n  \ttab\n"),
        ("a: |\r\n  one\r\n\r\n  two\r\n", "a: |\n  one\n\n  two\n"),
    ]);
}

#[test]
fn blank_lines_after_block_text_are_text_only_where_kept() {
    check(&[
        ("a: |\n  text\n\n\n\nb: 1\n", "a: |\n  text\n\nb: 1\n"),
        ("a: |+\n  text\n\n\n\nb: 1\n", "a: |+\n  text\n\n\n\nb: 1\n"),
        ("a: |+\n  text\n\n\n", "a: |+\n  text\n\n\n"),
        ("a: |+\n\n\nb: 1\n", "a: |+\n\n\nb: 1\n"),
        ("a: |+\n  text\n\n# c\n\n\nb: 1\n", "a: |+\n  text\n\n# c\n\nb: 1\n"),
        ("a: >+ # c\n  text\nb: 1\n", "a: >+ # c\n  text\nb: 1\n"),
    ]);
}

#[test]
fn an_indentation_indicator_stays_only_where_needed() {
    check(&[
        ("a: |4\n    text\n", "a: |\n  text\n"),
        ("a: |4\n      text\n    more\n", "a: |2\n    text\n  more\n"),
        ("a: |-1\n  text\n", "a: |2-\n   text\n"),
        ("- - |1\n    text\n", "- - |2\n     text\n"),
        ("- a: >3+\n      text\n\n", "- a: >2+\n     text\n\n"),
        ("--- |1\n  text\n", "---\n|2\n   text\n"),
        ("a: |2\n\n    text\n", "a: |2\n\n    text\n"),
    ]);
}

#[test]
fn scalars_over_several_lines_keep_their_words() {
    check(&[
        ("a: one\n     two\n     three\nb: 1\n", "a: one\n  two\n  three\nb: 1\n"),
        ("a:\n    one\n    two\n", "a: one\n  two\n"),
        ("- one\n two\n\n three\n", "- one\n  two\n\n  three\n"),
        ("a: 'one\n  two\n\n\n  three'\n", "a: 'one\n  two\n\n\n  three'\n"),
        ("a: \"one  \n    two\\\n    \\ three\"\n", "a: \"one\n  two\\\n  \\ three\"\n"),
        ("a: \"one\\ \t \n    two\"\n", "a: \"one\\ \n  two\"\n"),
        ("a: \"one\\\\ \n    two\"\n", "a: \"one\\\\\n  two\"\n"),
        ("a: \"# no comment\n  # here\"\n", "a: \"# no comment\n  # here\"\n"),
        ("one\ntwo\n", "one\n  two\n"),
        ("a: [one\n  two, \"three\n  four\"]\n", "a: [\n    one\n    two,\n    \"three\n    four\"\n  ]\n"),
        ("a: # c\n      one\n      two\n", "a: # c\n  one\n  two\n"),
    ]);
}

#[test]
fn quotes_and_escapes_stay_as_written() {
    check(&[
        (
            "a: 'it''s'\nb: \"\\u00e9\\n\\\"\"\nc: \"\"\nd: ''\n",
            "a: 'it''s'\nb: \"\\u00e9\\n\\\"\"\nc: \"\"\nd: ''\n",
        ),
        ("a: 0o17\nb: 1.0\nc: yes\nd: 12:30:45\n", "a: 0o17\nb: 1.0\nc: yes\nd: 12:30:45\n"),
        ("a: x:y -z ?q\n", "a: x:y -z ?q\n"),
    ]);
}
