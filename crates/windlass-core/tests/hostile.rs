//! Hostile input: each is rejected with its code, and memory stays in proportion to the file.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use windlass_core::code::Code;
use windlass_core::manifest::{FileManifest, FileRole, ReadCache, ReadContext, SourceFile, read_file};

fn read(text: &str) -> FileManifest {
    read_file("fleet.yaml", text.as_bytes(), FileRole::Root)
}

fn first_code(text: &str) -> Code {
    read(text).diagnostics.first().unwrap().code
}

const HEAD: &str = "version: 1\naccount: acme\n";

#[test]
fn an_alias_bomb_is_rejected_before_it_is_expanded() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert_eq!(first_code(&text), Code::YamlAlias);
}

#[test]
fn a_long_text_that_is_aliased_often_is_rejected() {
    let long = "x".repeat(200_000);
    let uses: String = (0..5000).map(|number| format!("  t{number}: {{description: *d}}\n")).collect();
    let text = format!("{HEAD}templates:\n  a: {{description: &d {long}}}\n{uses}");
    assert_eq!(first_code(&text), Code::YamlAlias);
}

#[test]
fn merge_keys_cannot_multiply_a_large_map() {
    let entries: String = (0..8000).map(|number| format!("k{number}: 1, ")).collect();
    let uses: String = (0..8000).map(|number| format!("u{number}: {{<<: *m}}\n")).collect();
    let text = format!("m: &m {{{entries}z: 1}}\n{uses}");
    assert_eq!(first_code(&text), Code::YamlAlias);
}

#[test]
fn repeated_merges_count_even_if_they_add_nothing() {
    // Each of the maps at the end would examine every item of the list, and keep one key.
    let list = "*m,".repeat(170_000);
    let uses = "- {<<: *l}\n".repeat(40_000);
    let text = format!("m: &m {{k: 1}}\nl: &l [{list}]\nu:\n{uses}");
    assert!(text.len() < 1 << 20);
    assert_eq!(first_code(&text), Code::YamlAlias);
}

#[test]
fn aliased_values_count_as_often_as_they_are_read() {
    let file = |nth: usize, aliases: usize| {
        let value = format!("{{x: &x [{}], y: [{}]}}", "1,".repeat(1_000), "*x,".repeat(aliases));
        let text = format!("{HEAD}provider_configs: {{p{nth}: {value}}}\n");
        SourceFile::new(format!("{nth}.yaml"), text.into_bytes())
    };
    let codes = |files: Vec<SourceFile>| {
        let fleet = ReadCache::default().read_once(&files, &ReadContext::offline());
        fleet.diagnostics.into_iter().map(|problem| problem.code).collect::<Vec<_>>()
    };
    // A file of a few kilobytes becomes a million values: several of them exceed the limit of a fleet.
    let one = read_file("fleet.yaml", &file(0, 990).bytes, FileRole::Root);
    assert!(one.values > 990_000, "{}", one.values);
    assert!(codes((0..5).map(|nth| file(nth, 990)).collect()).contains(&Code::ResourcesTooMany));
    assert_eq!(codes((0..5).map(|nth| file(nth, 1)).collect()), []);
}

#[test]
fn an_alias_inside_its_own_value_is_refused() {
    assert_eq!(first_code("a: &a [*a]\n"), Code::YamlAlias);
    assert_eq!(first_code("a: &a {b: *a}\n"), Code::YamlAlias);
}

#[test]
fn nesting_is_refused_beyond_64_levels_in_every_style() {
    let flow_list = "[".repeat(1 << 20);
    let flow_map = "{a: ".repeat(10_000);
    let block_list = "- ".repeat(10_000);
    let block_map: String = (0..1000).map(|depth| format!("{:depth$}a:\n", "")).collect();
    for text in [flow_list, flow_map, block_list, block_map] {
        assert_eq!(first_code(&text), Code::YamlDepth, "{}", &text[..8]);
    }
    let deepest = format!("{HEAD}provider_configs: {{a: {{b: {}1{}}}}}\n", "[".repeat(61), "]".repeat(61));
    assert_eq!(read(&deepest).diagnostics, []);
}

#[test]
fn aliases_of_aliases_nest_no_deeper_than_brackets() {
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(50), "]".repeat(50));
    let mut text = format!("{HEAD}provider_configs:\n  a:\n    x0: &x0 {}\n", nested("1"));
    for level in 1..150 {
        text.push_str(&format!("    x{level}: &x{level} {}\n", nested(&format!("*x{}", level - 1))));
    }
    assert_eq!(first_code(&text), Code::YamlDepth);
    let deepest = format!(
        "{HEAD}provider_configs: {{a: {{b: &b {}, c: {}}}}}\n",
        nested("1"),
        "[".repeat(11) + "*b" + &"]".repeat(11)
    );
    assert_eq!(read(&deepest).diagnostics, []);
}

#[test]
fn a_file_full_of_mistakes_tells_a_thousand() {
    let keys: String = (0..50_000).map(|number| format!("nodez{number}: 1\n")).collect();
    let diagnostics = read(&format!("{HEAD}{keys}")).diagnostics;
    assert_eq!(diagnostics.len(), 1000);
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.code == Code::UnknownKey));
}

#[test]
fn thousands_of_duplicates_are_each_reported_with_their_place() {
    let nodes: String = (0..9000).map(|_| "- {hostname: a, template: t}\n".to_owned()).collect();
    let file = std::sync::Arc::new(read(&format!(
        "{HEAD}templates: {{t: {{node_platform: debian-12-amd64}}}}\nnodes:\n{nodes}"
    )));
    let fleet =
        windlass_core::manifest::assemble(vec![file], &windlass_core::manifest::ReadContext::offline());
    assert_eq!(fleet.diagnostics.len(), 8999);
    assert_eq!((fleet.diagnostics[8998].line, fleet.diagnostics[8998].column), (9004, 14));
}

#[test]
fn a_fleet_cannot_ask_for_more_patterns_than_files() {
    let patterns: String = (0..50_000).map(|number| format!("p{number}/*, ")).collect();
    let file = read(&format!("{HEAD}include: [{patterns}]\n"));
    assert_eq!(file.diagnostics.len(), 1);
    assert_eq!((file.diagnostics[0].code, file.include.len()), (Code::FilesTooMany, 0));
}

#[test]
fn odd_encodings_are_told_where_they_are() {
    let place = |bytes: &[u8]| {
        let file = read_file("fleet.yaml", bytes, FileRole::Root);
        let first = &file.diagnostics[0];
        (first.code, first.line, first.column)
    };
    assert_eq!(place(b"version: 1\naccount: \xff\n"), (Code::YamlEncoding, 2, 10));
    assert_eq!(place(b"version: 1\naccount: a\0b\n"), (Code::YamlControlCharacter, 2, 11));
    assert_eq!(place(b"version: 1\r\naccount: acme\r\nfrob: 1\r\n"), (Code::UnknownKey, 3, 1));
    assert_eq!(place("\u{feff}frob: 1\nversion: 1\naccount: é\n".as_bytes()), (Code::UnknownKey, 1, 1));
    assert_eq!(place("version: 1\naccount: é é\nclusters: {é: {}}\n".as_bytes()), (Code::BadName, 3, 12));
}
