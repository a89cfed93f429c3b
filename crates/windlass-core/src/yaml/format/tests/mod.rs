//! Examples of the layout, and properties that hold for every text.

mod comments;
mod documents;
mod laws;
mod layout;
mod scalars;
mod writer;

use super::format;

/// Each input gives its output, and the output gives itself.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (input, expected) in cases {
        let output = format(input).unwrap_or_else(|findings| panic!("{input:?} is refused: {findings:?}"));
        assert_eq!(&output, expected, "\nfrom {input:?}");
        assert_eq!(format(&output).as_ref(), Ok(&output), "\nthe second time, from {input:?}");
    }
}
