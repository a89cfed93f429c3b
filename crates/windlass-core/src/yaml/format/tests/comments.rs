//! The positions of comments.

use super::check;

#[test]
fn comments_alone_are_a_document() {
    check(&[("# a", "# a\n"), ("\n\n  # a  \n\n\n# b\n\n", "# a\n\n# b\n")]);
}

#[test]
fn comments_on_their_own_line_follow_what_comes_next() {
    check(&[
        ("# top\n\n# about a\na: 1\n", "# top\n\n# about a\na: 1\n"),
        (
            "a:\n# about b\n    b: 1\n        # about c\n    c: 2\n",
            "a:\n  # about b\n  b: 1\n  # about c\n  c: 2\n",
        ),
        ("a:\n- 1\n# about 2\n- 2\n", "a:\n  - 1\n  # about 2\n  - 2\n"),
        ("-   a: 1\n    # about b\n    b: 2\n", "- a: 1\n  # about b\n  b: 2\n"),
        ("-\n    # about a\n    a: 1\n", "-\n  # about a\n  a: 1\n"),
        ("a:\n    # about the value\n    1\n", "a:\n  # about the value\n  1\n"),
        ("a:\n  # one\n\n  # two\n  - 1\n", "a:\n  # one\n\n  # two\n  - 1\n"),
        ("a:\n    # c\n    &x\n    b: 1\n", "a:\n  # c\n  &x\n  b: 1\n"),
    ]);
}

#[test]
fn comments_at_the_end_of_a_block_stay_in_the_block_of_their_column() {
    check(&[
        ("a:\n    b: 1\n    # end of a\nc: 2\n", "a:\n  b: 1\n  # end of a\nc: 2\n"),
        ("a:\n    b: 1\n# about c\nc: 2\n", "a:\n  b: 1\n# about c\nc: 2\n"),
        (
            "a:\n    b:\n        c: 1\n        # in b\n    # in a\n# below\n",
            "a:\n  b:\n    c: 1\n    # in b\n  # in a\n# below\n",
        ),
        ("a:\n    b: 1\n      # deeper\nc: 2\n", "a:\n  b: 1\n  # deeper\nc: 2\n"),
        ("a:\n    b: 1\n  # between\nc: 2\n", "a:\n  b: 1\n# between\nc: 2\n"),
        ("a:\n    b: 1\n# left\n    # right\nc: 2\n", "a:\n  b: 1\n# left\n# right\nc: 2\n"),
        ("a:\n- 1\n# about b\nb: 2\n", "a:\n  - 1\n# about b\nb: 2\n"),
        ("a:\n  - 1\n  # - 2\nb: 2\n", "a:\n  - 1\n  # - 2\nb: 2\n"),
        ("- a: 1\n  # in the item\n- b: 2\n", "- a: 1\n  # in the item\n- b: 2\n"),
        ("- a:\n  - 1\n  # end\n# after\n", "- a:\n    - 1\n  # end\n# after\n"),
    ]);
}

#[test]
fn values_commented_out_stay_under_their_key() {
    check(&[
        ("a:\n    b:\n        # c: 1\nd: 2\n", "a:\n  b:\n    # c: 1\nd: 2\n"),
        ("a:\n  # - 1\n# below\n", "a:\n  # - 1\n# below\n"),
        ("-\n    # a: 1\n- b\n", "-\n  # a: 1\n- b\n"),
        ("a: # c\n  # d\nb: 1\n", "a: # c\n  # d\nb: 1\n"),
    ]);
}

#[test]
fn trailing_comments_stay_on_their_line_with_their_distance() {
    check(&[
        ("a: 1 # c\nbb: 2    # d\n", "a: 1 # c\nbb: 2    # d\n"),
        ("a:    1   # c\n", "a: 1   # c\n"),
        ("a: 1\t# c\n", "a: 1 # c\n"),
        ("a: # c\n    b: 1\n", "a: # c\n  b: 1\n"),
        ("a: # c\n    1 # d\n", "a: # c\n  1 # d\n"),
        ("a:   # c\n- 1 # d\n", "a:   # c\n  - 1 # d\n"),
        ("- # c\n  a: 1\n", "- # c\n  a: 1\n"),
        ("- # c\n  - a # d\n", "- # c\n  - a # d\n"),
        ("a: &x # c\n    b: 1\n", "a: &x # c\n  b: 1\n"),
        ("a: &x # c\n  !!str # d\n  1\n", "a: &x # c\n  !!str # d\n  1\n"),
        ("a: [1,2]  # c\n", "a: [1, 2]  # c\n"),
        ("a: | # c\n    text\n", "a: | # c\n  text\n"),
        ("a: 1 #c#d  \n", "a: 1 #c#d\n"),
        ("a: b#c\n", "a: b#c\n"),
    ]);
}

#[test]
fn comments_after_block_text_do_not_become_text() {
    check(&[
        ("a: |\n      text\n   # c\nb: 1\n", "a: |\n  text\n# c\nb: 1\n"),
        ("a:\n    b: |\n        text\n    # c\n", "a:\n  b: |\n    text\n  # c\n"),
        ("a: |\n  # text\n# c\n", "a: |\n  # text\n# c\n"),
    ]);
}

#[test]
fn more_comments_than_the_parser_buffers_by_default_are_kept() {
    let header = "# licence\n".repeat(500);
    let text = format!("a:\n{header}  b: 1\n");
    let expected = format!("a:\n{}  b: 1\n", "  # licence\n".repeat(500));
    check(&[(&text, &expected)]);
}
