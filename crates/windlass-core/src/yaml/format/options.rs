//! The settings of the parser.

use granit_parser::Options;

use crate::yaml::{MAX_FILE_BYTES, build};

/// The settings of the parser for both reading and checking: those of `parse`, with the events it has no use for.
pub(super) fn options() -> Options {
    let mut options = build::options();
    options.set_emit_comments(true);
    options.emit_anchor_events = true;
    // A long licence header is no reason to refuse a file; its size is bounded by the file's.
    options.max_buffered_comment_events = MAX_FILE_BYTES;
    options
}
