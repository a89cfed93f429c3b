//! The settings of the parser.

use granit_parser::Options;

use crate::yaml::{MAX_FILE_BYTES, build};

/// The parser settings for formatting and verifying: those of `parse`, with further events.
pub(super) fn options() -> Options {
    let mut options = build::options();
    options.set_emit_comments(true);
    options.emit_anchor_events = true;
    // A long licence header is allowed; its size is limited by the file's.
    options.max_buffered_comment_events = MAX_FILE_BYTES;
    options
}
