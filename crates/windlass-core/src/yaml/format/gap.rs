//! Walks the text between two nodes: white space, comments and indicators without parser events.

use super::format_refused::FormatRefused;

/// A position in the text, after the last token.
pub(super) struct GapCursor<'s> {
    text: &'s str,
    at: usize,
}

impl<'s> GapCursor<'s> {
    pub(super) fn new(text: &'s str) -> GapCursor<'s> {
        GapCursor { text, at: 0 }
    }

    /// The current position.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Continues after a token that was found otherwise.
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
    }

    /// Skips white space and comments to the next token.
    pub(super) fn skip(&mut self) -> usize {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
            self.at += blank;
            if !rest[blank..].starts_with('#') {
                return self.at;
            }
            self.at += rest[blank..].find('\n').unwrap_or(rest.len() - blank);
        }
    }

    /// Like [`GapCursor::skip`], and skips a comma if there is one.
    pub(super) fn skip_comma(&mut self) -> usize {
        self.skip();
        if self.is_before(',') {
            self.at += 1;
        }
        self.skip()
    }

    /// Whether the next character is this one.
    pub(super) fn is_before(&self, character: char) -> bool {
        self.text[self.at..].starts_with(character)
    }

    /// Skips the next token, which must be this indicator.
    pub(super) fn pass(&mut self, indicator: char) -> Result<(), FormatRefused> {
        self.skip();
        if !self.is_before(indicator) {
            return Err(FormatRefused { at: self.at });
        }
        self.at += indicator.len_utf8();
        Ok(())
    }

    /// Moves to the token at `at`; fails if another token comes first.
    pub(super) fn expect(&mut self, at: usize) -> Result<(), FormatRefused> {
        match self.skip() {
            found if found == at => Ok(()),
            found => Err(FormatRefused { at: found }),
        }
    }

    /// The column of the place in characters, counted from 0.
    pub(super) fn column(&self) -> usize {
        let line = self.text[..self.at].rfind('\n').map_or(0, |found| found + 1);
        self.text[line..self.at].chars().count()
    }
}
