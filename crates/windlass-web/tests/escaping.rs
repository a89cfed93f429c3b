//! Pages show every text of repositories, people and servers as text: every text of every model is hostile here.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod models;

use std::collections::{BTreeMap, BTreeSet};

use models::{HOSTILE, every_page};

/// The structure of a page: each kind of tag with the names of its attributes, without texts and values.
fn shapes(html: &str) -> BTreeSet<String> {
    let (mut shapes, mut shape, mut state) = (BTreeSet::new(), String::new(), State::Text);
    for c in html.chars() {
        state = match (state, c) {
            (State::Text, '<') => State::Tag,
            (State::Tag, '"') => State::Value,
            (State::Value, '"') => State::Tag,
            (State::Tag, '>') => {
                shapes.insert(std::mem::take(&mut shape));
                State::Text
            }
            (State::Tag, c) => {
                shape.push(c);
                State::Tag
            }
            (state, _) => state,
        };
    }
    assert_eq!(state, State::Text, "a quote or a tag was left open");
    shapes
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    Tag,
    Value,
}

#[test]
fn hostile_text_adds_no_tag_and_no_attribute_to_any_page() {
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for harmless in ["harmless", "a: b", "two words, 3"] {
        for (name, html) in every_page(harmless) {
            known.entry(name).or_default().extend(shapes(&html));
        }
    }
    for hostile in HOSTILE {
        for (name, html) in every_page(hostile) {
            let new: Vec<String> = shapes(&html).difference(&known[name]).cloned().collect();
            assert_eq!(new, [""; 0], "{name} with {hostile:?}");
        }
    }
}

#[test]
fn nothing_that_hides_or_reorders_text_is_in_any_page() {
    let hostile = "a\u{202e}b\u{0}c\u{1b}[31md\u{200b}e\u{feff}f\u{2066}g\u{e0041}h\u{85}i";
    for (name, html) in every_page(hostile) {
        let unseen = html.chars().find(|c| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
                || matches!(c, '\u{e0000}'..='\u{e007f}')
        });
        assert_eq!(unseen, None, "{name}");
        assert!(html.contains("⟨U+202E⟩"), "{name} shows what would have been hidden");
    }
}

#[test]
fn every_text_of_a_model_reaches_its_page_or_is_left_out_but_never_raw() {
    let mark = "zq<i>zq";
    for (name, html) in every_page(mark) {
        assert!(!html.contains("zq<i>"), "{name}");
        assert!(html.contains("zq&lt;i&gt;zq"), "{name} shows nothing of its model");
    }
}

#[test]
fn no_page_has_script_or_style_of_its_own() {
    for (name, html) in every_page("harmless") {
        for tag in html.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap();
            let is_inline_script = tag.starts_with("script") && !tag.contains(" src=");
            assert!(!is_inline_script && !tag.starts_with("style"), "{name}: <{tag}>");
            let handler = tag
                .split_whitespace()
                .skip(1)
                .find(|word| word.starts_with("on") && word.contains('=') || word.starts_with("style="));
            assert_eq!(handler, None, "{name}: <{tag}>");
        }
    }
}

#[test]
fn every_form_that_changes_something_carries_its_token() {
    for (name, html) in every_page("harmless") {
        for form in html.split("<form").skip(1).filter(|form| form.starts_with(" method=\"post\"")) {
            let form = form.split("</form>").next().unwrap();
            assert!(form.contains("name=\"csrf\" value=\"harmless\""), "{name}: <form{form}");
        }
    }
}

#[test]
fn every_field_has_a_label_and_every_id_is_there_once() {
    for (name, html) in every_page("harmless") {
        let ids: Vec<&str> =
            html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let unique: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), unique.len(), "{name}: {ids:?}");
        for field in ["<input", "<select", "<textarea"] {
            for tag in html.split(field).skip(1).map(|rest| rest.split('>').next().unwrap()) {
                if tag.contains("type=\"hidden\"") || tag.contains("type=\"checkbox\"") {
                    continue;
                }
                let id =
                    tag.split(" id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
                assert!(html.contains(&format!("for=\"{id}\"")), "{name}: {field}{tag}");
            }
        }
    }
}

/// The files of a directory of this crate.
fn texts_in(directory: &str) -> Vec<String> {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let files = std::fs::read_dir(source).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// The names of what a page is rendered from: structs with a template.
fn page_models() -> Vec<String> {
    let texts = texts_in("src/pages");
    let structs = texts.iter().flat_map(|text| text.split("#[template(path").skip(1));
    structs
        .map(|rest| {
            let declared = rest.split("pub struct ").nth(1).unwrap();
            declared.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn every_page_has_a_hostile_model() {
    let models = texts_in("tests/models");
    let pages = page_models();
    assert!(pages.len() > 20, "{pages:?}");
    for page in pages {
        let made = [format!("{page} {{"), format!("{page}::")];
        let is_made = models.iter().any(|text| made.iter().any(|made| text.contains(made)));
        assert!(
            is_made,
            "no test renders {page} with hostile text: make one in `every_page` in tests/models (How to add a page, \
             src/lib.rs)"
        );
    }
}
