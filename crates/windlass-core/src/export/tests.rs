//! An export reads back unchanged, in both forms, in one file or several.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::fleet::ExportedFleet;
use super::split::split;
use super::*;
use crate::diagnostic::has_errors;
use crate::manifest::{self, FileRole, ReadContext, read_file};
use crate::resource::Kind;
use crate::shape::Decoder;
use crate::yaml;

type Resources = BTreeMap<(Kind, String), Spec>;

fn read_spec(kind: Kind, text: &str) -> Spec {
    let (tree, findings) = yaml::parse(text);
    assert!(findings.is_empty(), "{findings:?}");
    let tree = tree.unwrap();
    let mut decoder = Decoder::default();
    let spec = Spec::decode(kind, tree.root(), &mut decoder);
    spec.unwrap_or_else(|| panic!("{:?}", decoder.into_findings()))
}

fn spec(kind: Kind, json: &serde_json::Value) -> Spec {
    // JSON may contain control characters that a fleet file may not.
    let escaped = |c: char| match c {
        '\u{7f}'..='\u{ffff}' => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    let text: String = json.to_string().chars().map(escaped).collect();
    read_spec(kind, &text)
}

fn items(resources: &Resources) -> impl Iterator<Item = (&str, &Spec)> {
    resources.iter().map(|((_, name), spec)| (name.as_str(), spec))
}

fn read_back(files: &[ExportedFile]) -> Resources {
    let read = |file: &ExportedFile| {
        let role = if file.path == "fleet.yaml" { FileRole::Root } else { FileRole::Included };
        Arc::new(read_file(&file.path, file.text.as_bytes(), role))
    };
    let fleet = manifest::assemble(files.iter().map(read).collect(), &ReadContext::offline());
    assert!(!has_errors(&fleet.diagnostics), "{:#?}\n{}", fleet.diagnostics, files[0].text);
    let resources = fleet.desired.resources.iter();
    resources
        .map(|(kind, name, declared)| ((kind, name.to_owned()), declared.spec.as_ref().clone()))
        .collect()
}

fn one_file(text: &str) -> Vec<ExportedFile> {
    vec![ExportedFile { path: "fleet.yaml".to_owned(), text: text.to_owned() }]
}

/// A node whose settings contain this value, and its template.
fn with_setting(key: &str, value: serde_json::Value) -> Resources {
    let config = serde_json::Map::from_iter([(key.to_owned(), value)]);
    let node = serde_json::json!({ "template": "t", "config": config });
    let template = serde_json::json!({ "node_platform": "debian-12-amd64" });
    BTreeMap::from([
        ((Kind::Template, "t".to_owned()), spec(Kind::Template, &template)),
        ((Kind::Node, "n1".to_owned()), spec(Kind::Node, &node)),
    ])
}

fn check(resources: &Resources) {
    for form in [SectionForm::List, SectionForm::Map] {
        let export = fleet_yaml("acme", items(resources), form, HiddenValues::Shown);
        assert_eq!(export.left_out, []);
        assert_eq!(&read_back(&one_file(&export.text)), resources, "{}", export.text);
        assert_eq!(yaml::format(&export.text).as_ref(), Ok(&export.text), "the layout is that of fmt");
    }
}

#[test]
fn a_fleet_is_laid_out_as_people_write_it() {
    let mut resources = with_setting("motd", serde_json::json!("one\ntwo\n"));
    let mut add = |kind: Kind, name: &str, json: serde_json::Value| {
        resources.insert((kind, name.to_owned()), spec(kind, &json));
    };
    add(Kind::Network, "fabric", serde_json::json!({ "cidr": "fd00:1::/64", "routing_mode": "ibgp" }));
    add(Kind::Peer, "fabric/n1", serde_json::json!({ "publicly_reachable": true }));
    add(Kind::VirtualIp, "fabric/front", serde_json::json!({ "primary_holder": "n1" }));
    add(
        Kind::Cluster,
        "yes",
        serde_json::json!({ "labels": { "env": "1.0" }, "description": "no: \"really\"" }),
    );
    check(&resources);
    let list = "\
version: 1
account: acme

templates:
  - name: t
    node_platform: debian-12-amd64

nodes:
  - hostname: n1
    template: t
    config:
      motd: |
        one
        two

sdwan:
  networks:
    - name: fabric
      routing_mode: ibgp
      cidr: fd00:1::/64
      peers:
        - host: n1
          publicly_reachable: true
      virtual_ips:
        - name: front
          primary_holder: n1

clusters:
  - name: \"yes\"
    description: \"no: \\\"really\\\"\"
    labels:
      env: \"1.0\"
";
    assert_eq!(fleet_yaml("acme", items(&resources), SectionForm::List, HiddenValues::Shown).text, list);
    let map = fleet_yaml("acme", items(&resources), SectionForm::Map, HiddenValues::Shown).text;
    assert!(map.contains("      peers:\n        n1:\n          publicly_reachable: true\n"), "{map}");
    assert!(map.contains("clusters:\n  \"yes\":\n"), "{map}");
}

#[test]
fn free_values_of_every_shape_survive() {
    for value in [
        serde_json::json!(null),
        serde_json::json!([]),
        serde_json::json!({}),
        serde_json::json!([[1, [2, {}]], [], [[]], {"a": {"b": [{"c": 1, "d": "x\ny"}]}}]),
        serde_json::json!(["a\nb\n", "c"]),
        serde_json::json!([1.0, -0.0, 1e300, 1e-7, 123_456_789_012_345_680.0, i64::MIN, i64::MAX, true]),
        serde_json::json!(vec!["a long word in a long list"; 12]),
        serde_json::json!([vec!["a long word in a long list"; 12]]),
        serde_json::json!({"<<": {"a": 1}, "": "", "a: b": "# c", "? ": "- ", "null": "null", "\u{1b}\u{85}": "\u{0}"}),
        serde_json::json!({"---": "...", "a\nb": "\u{feff}", "{{ x }}": "{{ y }}", "🚀": "\u{2028}🚀", "\t": "\ta"}),
    ] {
        check(&with_setting("value", value));
    }
}

#[test]
fn a_key_too_long_for_one_line_survives() {
    let mut resources = with_setting("a", serde_json::json!(1));
    let text = format!("template: t\nconfig:\n  ? {}\n  : {{a: [1]}}\n", "k".repeat(5000));
    resources.insert((Kind::Node, "n1".to_owned()), read_spec(Kind::Node, &text));
    let text = fleet_yaml("acme", items(&resources), SectionForm::Map, HiddenValues::Shown).text;
    assert_eq!(read_back(&one_file(&text)), resources);
}

#[test]
fn what_has_no_network_or_is_too_deep_is_left_out_and_named() {
    let mut resources = Resources::new();
    let key = |kind, name: &str| (kind, name.to_owned());
    resources.insert(key(Kind::Peer, "gone/n"), spec(Kind::Peer, &serde_json::json!({})));
    let front = serde_json::json!({ "primary_holder": "n" });
    resources.insert(key(Kind::VirtualIp, "gone/front"), spec(Kind::VirtualIp, &front));
    let mut deep = serde_json::json!(1);
    for _ in 0..60 {
        deep = serde_json::json!([deep]);
    }
    for (name, value) in [("deep", deep.clone()), ("deepest", serde_json::json!([deep]))] {
        let module = serde_json::json!({ "config": { "a": value } });
        resources.insert(key(Kind::Module, name), spec(Kind::Module, &module));
    }
    let export = fleet_yaml("acme", items(&resources), SectionForm::List, HiddenValues::Shown);
    let left_out: Vec<String> = export.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(
        left_out,
        [
            "peer gone/n: its network is missing from the export",
            "virtual_ip gone/front: its network is missing from the export",
            "module deepest: its values are nested too deep for a file",
        ]
    );
    let names: Vec<String> = read_back(&one_file(&export.text)).into_keys().map(|(_, name)| name).collect();
    assert_eq!(names, ["deep"]);
}

#[test]
fn a_large_fleet_becomes_files_and_each_keeps_the_limit() {
    let mut resources = Resources::new();
    for number in 0..200 {
        let module = serde_json::json!({ "description": "x".repeat(number) });
        resources.insert((Kind::Module, format!("m-{number:03}")), spec(Kind::Module, &module));
        let cluster = serde_json::json!({ "labels": { "number": number.to_string() } });
        resources.insert((Kind::Cluster, format!("c-{number:03}")), spec(Kind::Cluster, &cluster));
    }
    for limit in [400, 4000, 12_000, 60_000] {
        let exported =
            split("acme", ExportedFleet::of(items(&resources), SectionForm::Map, HiddenValues::Shown), limit);
        assert!(exported.files.iter().all(|file| file.text.len() <= limit), "{limit}");
        assert_eq!(read_back(&exported.files), resources, "{limit}");
        assert_eq!(exported.files.len() == 1, limit == 60_000);
    }
    let exported =
        split("acme", ExportedFleet::of(items(&resources), SectionForm::Map, HiddenValues::Shown), 12_000);
    let paths: Vec<&str> = exported.files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "fleet.yaml",
        "fleet.d/modules-001.yaml",
        "fleet.d/modules-002.yaml",
        "fleet.d/modules-003.yaml",
        "fleet.d/clusters.yaml",
    ];
    assert_eq!(paths, expected);
    assert!(
        exported.files[0].text.ends_with("include: [\"fleet.d/*.yaml\"]\n"),
        "{}",
        exported.files[0].text
    );

    let exported =
        split("acme", ExportedFleet::of(items(&resources), SectionForm::Map, HiddenValues::Shown), 150);
    let sizes = exported.left_out.iter().filter(|left_out| left_out.why == OmissionReason::TooLarge).count();
    assert!(sizes > 0 && exported.files.iter().all(|file| file.text.len() <= 150));
    assert_eq!(read_back(&exported.files).len() + sizes, resources.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_text_is_exported_and_read_back_as_key_and_as_value(
        key in "([ \\-\\[\\]{}:,#&*!|>'\"%@`?~\n\t\\\\a-c0-2é.]|\\PC|\\p{C}|yes|null|: ){0,12}",
        value in "([ \\-\\[\\]{}:,#&*!|>'\"%@`?~\n\t\\\\a-c0-2é.]|\\PC|\\p{C}|yes|null|: |\n  ){0,16}",
    ) {
        check(&with_setting(&key, serde_json::json!([value, { "a": value }])));
    }
}
