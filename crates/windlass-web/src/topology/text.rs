//! Measures text. Labels use a fixed-width font, so that their size is known without a browser.

use super::{Anchor, Area, Label, LabelRow, LabelText};

/// The most characters of a name.
const MAX_NAME: usize = 26;

/// The most characters of an address.
const MAX_DETAIL: usize = 30;

/// The most characters of a virtual IP's name.
const MAX_BADGE: usize = 20;

/// The padding of a badge.
const BADGE_PADDING: i32 = 8;

/// A text of at most `most` characters, cut at its end.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A text of at most `most` characters, cut at its beginning: addresses of one network begin alike.
fn cut_front(text: &str, most: usize) -> String {
    let length = text.chars().count();
    match length > most {
        true => std::iter::once('…').chain(text.chars().skip(length - most + 1)).collect(),
        false => text.to_owned(),
    }
}

/// A text, cut to the limit for its kind.
pub(super) fn shortened(word: LabelText) -> LabelText {
    match word {
        LabelText::Name(text) => LabelText::Name(cut(&text, MAX_NAME)),
        LabelText::Detail(text) => LabelText::Detail(cut_front(&text, MAX_DETAIL)),
        LabelText::Notice(slug, text) => LabelText::Notice(slug, cut(&text, MAX_DETAIL)),
        LabelText::Badge(mut held) => {
            held.name = cut(&held.name, MAX_BADGE);
            LabelText::Badge(held)
        }
    }
}

/// The width of a text in tenths of a pixel, given the width of one character. Characters beyond ASCII may be twice as
/// wide.
fn letters(text: &str, tenths: i32) -> i32 {
    let places: i32 = text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum();
    (places * tenths + 9) / 10
}

impl LabelText {
    fn width(&self) -> i32 {
        match self {
            LabelText::Name(text) => letters(text, 74),
            LabelText::Detail(text) | LabelText::Notice(_, text) => letters(text, 68),
            LabelText::Badge(held) => letters(&held.name, 68) + 2 * BADGE_PADDING,
        }
    }

    fn height(&self) -> i32 {
        match self {
            LabelText::Name(_) => 16,
            LabelText::Detail(_) | LabelText::Notice(..) => 15,
            LabelText::Badge(_) => 21,
        }
    }

    /// The distance from the top of its area to its baseline.
    fn ascent(&self) -> i32 {
        match self {
            LabelText::Name(_) => 12,
            LabelText::Detail(_) | LabelText::Notice(..) => 11,
            LabelText::Badge(_) => 15,
        }
    }
}

/// The total width and height of rows.
pub(super) fn size(words: &[LabelText]) -> (i32, i32) {
    let width = words.iter().map(LabelText::width).max().unwrap_or_default();
    (width, words.iter().map(LabelText::height).sum())
}

/// A label at a point: beside it, or centred below it.
pub(super) fn label(words: Vec<LabelText>, x: i32, y: i32, anchor: Anchor) -> Label {
    let (width, height) = size(&words);
    let left = |width: i32| match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2,
        Anchor::End => x - width,
    };
    let mut below = y;
    let rows = words
        .into_iter()
        .map(|word| {
            let area = Area { x: left(word.width()), y: below, width: word.width(), height: word.height() };
            below += area.height;
            LabelRow { baseline: area.y + word.ascent(), area, word }
        })
        .collect();
    Label { area: Area { x: left(width), y, width, height }, anchor, rows }
}
