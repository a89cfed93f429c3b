//! Verifies that the formatted text has the same meaning and the same comments.
//!
//! Compares parser events, which have more detail than a tree: styles, anchors, tags and every duplicate key.

use granit_parser::{Event, Parser, Span};

use super::format_refused::FormatRefused;
use super::options::options;

/// What must not change. Comments are separate from the rest, because a comma may move past a comment.
#[derive(Default)]
pub(super) struct DocumentMeaning<'s> {
    events: Vec<(Event<'s>, usize)>,
    comments: Vec<(&'s str, usize)>,
}

impl<'s> DocumentMeaning<'s> {
    /// Takes the next event of `text`.
    pub(super) fn take(&mut self, event: &Event<'s>, span: &Span, text: &'s str) {
        let start = span.byte_range().map_or(0, |range| range.start);
        match event {
            Event::Comment(..) => self.comments.push((comment(text, span), start)),
            _ => self.events.push((event.clone(), start)),
        }
    }

    /// Rejects a text with another meaning, at the first difference.
    pub(super) fn check(&self, text: &str) -> Result<(), FormatRefused> {
        let mut events = self.events.iter();
        let mut comments = self.comments.iter();
        for next in Parser::new_from_str_with_options(text, options()) {
            let expected_at = events.as_slice().first().map_or(0, |(_, at)| *at);
            let (event, span) = next.map_err(|_| FormatRefused { at: expected_at })?;
            match event {
                Event::Comment(..) => match comments.next() {
                    Some((expected, _)) if *expected == comment(text, &span) => {}
                    other => return Err(FormatRefused { at: other.map_or(expected_at, |(_, at)| *at) }),
                },
                _ => match events.next() {
                    Some((expected, _)) if is_same(expected, &event) => {}
                    _ => return Err(FormatRefused { at: expected_at }),
                },
            }
        }
        let missing_event = events.next().map(|(_, at)| *at);
        let missing = missing_event.or(comments.next().map(|(_, at)| *at));
        missing.map_or(Ok(()), |at| Err(FormatRefused { at }))
    }
}

/// The style of `---` is not part of the meaning.
fn is_same(event: &Event<'_>, other: &Event<'_>) -> bool {
    match (event, other) {
        (Event::DocumentStart(..), Event::DocumentStart(..)) => true,
        _ => event == other,
    }
}

fn comment<'t>(text: &'t str, span: &Span) -> &'t str {
    span.slice(text).unwrap_or_default().trim_end_matches([' ', '\t'])
}
