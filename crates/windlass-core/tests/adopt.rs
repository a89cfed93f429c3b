//! Adopting writes the accepted state into the fleet's files, and changes nothing else in them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use windlass_core::adopt::{AdoptError, EditedFile, adopt};
use windlass_core::manifest::{Fleet, ReadCache, ReadContext, SourceFile};
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_testkit::model::Model;

type Wanted = Vec<(ResourceKey, Option<Arc<Spec>>)>;

fn read(files: &[SourceFile]) -> Fleet {
    ReadCache::default().read_once(files, &ReadContext::offline())
}

fn read_text(text: &str) -> Fleet {
    let fleet = read(&[SourceFile::new("fleet.yaml", text.as_bytes().to_vec())]);
    assert!(!fleet.has_errors(), "{:?}\n{text}", fleet.diagnostics);
    fleet
}

/// The resources in which `accepted` differs from `declared`.
fn differences(declared: &Fleet, accepted: &Fleet) -> Wanted {
    let mut wanted = Wanted::new();
    for (kind, name, resource) in accepted.desired.resources.iter() {
        wanted.push((ResourceKey::new(kind, name), Some(Arc::clone(&resource.spec))));
    }
    for (kind, name, _) in declared.desired.resources.iter() {
        if !accepted.desired.resources.contains(kind, name) {
            wanted.push((ResourceKey::new(kind, name), None));
        }
    }
    wanted
}

fn adopt_all(declared: &Fleet, accepted: &Fleet) -> Result<Vec<EditedFile>, AdoptError> {
    adopt(declared, &differences(declared, accepted), &ReadContext::offline())
}

const HEAD: &str = "version: 1\naccount: acme\n";

/// The text of `before` after adopting what `accepted` declares; both without their first lines.
fn adopted(before: &str, accepted: &str) -> String {
    let fleet = read_text(&format!("{HEAD}{before}"));
    let edited = adopt_all(&fleet, &read_text(&format!("{HEAD}{accepted}"))).unwrap();
    match edited.as_slice() {
        [] => before.to_owned(),
        [edited] => edited.after.strip_prefix(HEAD).unwrap().to_owned(),
        more => panic!("{more:?}"),
    }
}

fn check(before: &str, accepted: &str, expected: &str) {
    assert_eq!(adopted(before, accepted), expected, "\nbefore:\n{before}\naccepted:\n{accepted}");
}

#[test]
fn nothing_differs_and_nothing_is_edited() {
    let before = "clusters: [{name: a,   labels: {x: '1'}}]  # as written\n";
    check(before, "clusters: {a: {labels: {x: \"1\"}}}\n", before);
}

#[test]
fn a_changed_value_is_replaced_in_the_quotes_it_had() {
    let before = "\
nodes:
  # the first
  - hostname: a   # primary
    template: t
    region: 'eu'  # moved twice
    instance_type: \"m1\"
    config: {note: old}

  - {hostname: b, template: t, region: eu}\t# tab
";
    let accepted = "nodes: [{hostname: a, template: u, region: us, instance_type: m2, config: {note: 'new: one'}}, {hostname: b, template: t, region: 'no'}]\n";
    let expected = before
        .replace("template: t\n", "template: u\n")
        .replace("'eu'", "'us'")
        .replace("\"m1\"", "\"m2\"")
        .replace("note: old", "note: \"new: one\"")
        .replace("region: eu}", "region: \"no\"}");
    check(before, accepted, &expected);
}

#[test]
fn a_key_that_is_back_at_its_default_goes_with_its_line() {
    let before = "\
nodes:
  - region: eu  # goes
    # about the name
    hostname: a
    template: t
    labels:
      tier: edge
    protect: true  # goes as well
  - {hostname: b, template: t, region: eu, protect: true}
";
    let accepted = "nodes: [{hostname: a, template: t}, {hostname: b, template: t, protect: true}]\n";
    let expected = "\
nodes:
  - # about the name
    hostname: a
    template: t
  - {hostname: b, template: t, protect: true}
";
    check(before, accepted, expected);
}

#[test]
fn a_missing_key_is_inserted_where_the_entry_ends() {
    let before = "\
nodes:
  a:
    template: t  # why
  # between
  b: {template: t}
";
    let accepted = "nodes: {a: {template: t, labels: {tier: edge}}, b: {template: t, protect: true}}\n";
    let expected = "\
nodes:
  a:
    template: t  # why
    labels: {tier: edge}
  # between
  b: {template: t, protect: true}
";
    check(before, accepted, expected);
}

#[test]
fn items_of_lists_come_and_go_and_the_others_keep_their_comments() {
    let before = "\
templates:
  t:
    node_platform: debian-12-amd64
    modules:
      - a@1.0.0  # first
      - b@1.0.0  # second
      - c@1.0.0  # third
  u: {node_platform: debian-12-amd64, modules: [a@1.0.0, b@1.0.0]}
modules: {a: {version: 1.0.0}, b: {version: 1.0.0}, c: {version: 1.0.0}, d: {version: 1.0.0}}
";
    let accepted = before
        .replace("      - b@1.0.0  # second\n", "")
        .replace("# third", "\n      - d@1.0.0")
        .replace("[a@1.0.0, b@1.0.0]", "[b@1.0.0]");
    let expected = before
        .replace("      - b@1.0.0  # second\n", "")
        .replace("# third\n", "# third\n      - d@1.0.0\n")
        .replace("[a@1.0.0, b@1.0.0]", "[b@1.0.0]");
    check(before, &accepted, &expected);
}

#[test]
fn text_of_several_lines_stays_text_of_several_lines() {
    let before = "\
modules:
  m:
    host:
      files:
        /etc/motd:
          content: |
            hello
            world
        # after
        /etc/other: {content: x}
";
    let accepted = before.replace("world\n", "you\n\n            all\n");
    check(before, &accepted, &accepted);
}

#[test]
fn what_was_destroyed_by_hand_goes_and_so_does_an_emptied_section() {
    let before = "\
clusters:
  - name: a  # one
    labels: {x: y}
  - name: b
nodes: [{hostname: a, template: t}, {hostname: b, template: t}]
cluster_groups: {g: {selector: {matchLabels: {env: prod}}}}
federation:
  peers: [
    {name: p, url: \"https://p.example\", trust: \"sha256:abababababababababababababababababababababababababababababababab\"},  # p
  ]
# the end
";
    let expected = "clusters:\n  - name: b\nnodes: [{hostname: b, template: t}]\n# the end\n";
    check(before, "clusters: [{name: b}]\nnodes: [{hostname: b, template: t}]\n", expected);
}

#[test]
fn what_was_created_by_hand_is_appended_in_the_form_of_its_section() {
    let before = "\
clusters:
  - name: a
nodes:
- {hostname: a, template: t}  # flow
assignments: {}
cluster_groups:   # none yet
templates:
  t:
    node_platform: debian-12-amd64
";
    let accepted = "\
clusters: {a: {}, b: {labels: {x: y}}}
nodes: {a: {template: t}, b: {template: t}}
assignments: {\"a:m\": {enabled: false}}
cluster_groups: {g: {selector: {matchLabels: {env: prod}}}}
templates: {t: {node_platform: debian-12-amd64}, u: {extends: t, description: text}}
modules: {m: {priority: 5}}
";
    let expected = "\
clusters:
  - name: a
  - name: b
    labels: {x: \"y\"}
nodes:
- {hostname: a, template: t}  # flow
- {hostname: b, template: t}
assignments: {a:m: {enabled: false}}
cluster_groups:   # none yet
  - name: g
    selector:
      matchLabels: {env: prod}
templates:
  t:
    node_platform: debian-12-amd64
  u:
    description: text
    extends: t
modules:
  - name: m
    priority: 5
";
    check(before, accepted, expected);
}

#[test]
fn a_list_over_lines_between_brackets_keeps_its_lines() {
    let before = "\
clusters: [
  {name: a},  # first
  {name: b},  # second
  {name: c}   # third
]
";
    let expected = "\
clusters: [
  {name: b},  # second
  {name: c},   # third
  {name: d}
]
";
    check(before, "clusters: {b: {}, c: {}, d: {}}\n", expected);
}

#[test]
fn what_stands_inside_a_network_is_edited_there() {
    let before = "\
nodes: [{hostname: a, template: t}, {hostname: b, template: t}]
sdwan:
  networks:
    - name: n
      peers:
        - {host: a}  # hub
        - {host: b}
      virtual_ips: [{name: v, primary_holder: a}]
    - name: m
";
    let accepted = "\
nodes: [{hostname: a, template: t}, {hostname: b, template: t}]
sdwan:
  networks:
    n: {routing_mode: ibgp, peers: [{host: a, publicly_reachable: true}]}
    m: {peers: [{host: b}]}
    o: {peers: [{host: a}], virtual_ips: [{name: w, primary_holder: a}]}
";
    let expected = "\
nodes: [{hostname: a, template: t}, {hostname: b, template: t}]
sdwan:
  networks:
    - name: n
      peers:
        - {host: a, publicly_reachable: true}  # hub
      routing_mode: ibgp
    - name: m
      peers:
        - host: b
    - name: o
      peers:
        - host: a
      virtual_ips:
        - name: w
          primary_holder: a
";
    check(before, accepted, expected);
}

#[test]
fn a_destroyed_network_takes_along_what_stood_inside_it() {
    let before = "sdwan: {networks: [{name: n, peers: [{host: a}]}, {name: m, peers: [{host: a}]}]}\n";
    check(before, "sdwan: {networks: [{name: m}]}\n", "sdwan: {networks: [{name: m}]}\n");
    check(before, "", "");
}

#[test]
fn line_ends_and_a_missing_one_at_the_end_stay() {
    let before = "clusters:\r\n  - name: a\r\n    labels: {x: y}\t# c\r\n  - name: b";
    let accepted = "clusters: [{name: a}, {name: b, protect: true}, {name: c}]\n";
    let expected = "clusters:\r\n  - name: a\r\n  - name: b\r\n    protect: true\r\n  - name: c";
    check(before, accepted, expected);
}

#[test]
fn a_merged_key_is_overridden_where_it_is_used() {
    let before = "nodes:\n  a: &base {template: t, region: eu}\n  b: {<<: *base}\n";
    let accepted = "nodes: {a: {template: t, region: eu}, b: {template: t, region: us}}\n";
    check(before, accepted, "nodes:\n  a: &base {template: t, region: eu}\n  b: {<<: *base, region: us}\n");
    let accepted = "nodes: {a: {template: t, region: eu}, b: {template: t}}\n";
    check(before, accepted, "nodes:\n  a: &base {template: t, region: eu}\n  b: {template: t}\n");
}

#[test]
fn an_alias_is_replaced_and_what_it_stands_for_stays() {
    let before = "clusters:\n- {name: a, labels: &l {x: y}}\n- {name: b, labels: *l}\n";
    let accepted = "clusters: {a: {labels: {x: y}}, b: {labels: {x: z}}}\n";
    check(before, accepted, "clusters:\n- {name: a, labels: &l {x: y}}\n- {name: b, labels: {x: z}}\n");
}

#[test]
fn an_anchor_that_others_use_needs_a_manual_edit() {
    let fleet = read_text(&format!(
        "{HEAD}clusters:\n- {{name: a, labels: &l {{x: y}}}}\n- {{name: b, labels: *l}}\n"
    ));
    let accepted =
        read_text(&format!("{HEAD}clusters: {{a: {{labels: {{x: z}}}}, b: {{labels: {{x: y}}}}}}\n"));
    let error = adopt_all(&fleet, &accepted).unwrap_err();
    let AdoptError::NeedsManualEdit { key, suggestion, .. } = error else { panic!("{error}") };
    assert_eq!(key, ResourceKey::new(Kind::Cluster, "a"));
    assert_eq!(suggestion, "clusters:\n  - name: a\n    labels: {x: z}\n");
}

#[test]
fn a_peer_of_a_network_that_is_not_declared_here_needs_a_hand() {
    let fleet = read_text(HEAD);
    let accepted = read_text(&format!("{HEAD}sdwan: {{networks: [{{name: n, peers: [{{host: a}}]}}]}}\n"));
    let mut wanted = differences(&fleet, &accepted);
    wanted.retain(|(key, _)| key.kind == Kind::Peer);
    let error = adopt(&fleet, &wanted, &ReadContext::offline()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "peer n/a must be edited manually: network n is not declared in these files"
    );
}

#[test]
fn a_fleet_with_errors_is_not_edited() {
    let fleet = read(&[SourceFile::new("fleet.yaml", b"version: 2\n".to_vec())]);
    assert_eq!(adopt(&fleet, &[], &ReadContext::offline()), Err(AdoptError::Broken));
}

fn tape() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..160)
}

fn spread() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..36)
}

/// The files with these edits.
fn edited_files(files: &[SourceFile], edited: &[EditedFile]) -> Vec<SourceFile> {
    let text =
        |file: &SourceFile| edited.iter().find(|edited| edited.path == file.path).map(|it| it.after.clone());
    let apply = |file: &SourceFile| match text(file) {
        Some(after) => SourceFile::new(file.path.clone(), after.into_bytes()),
        None => file.clone(),
    };
    files.iter().map(apply).collect()
}

/// The same files, with values by indentation instead of between brackets.
fn in_blocks(files: Vec<SourceFile>) -> Vec<SourceFile> {
    files.into_iter().map(|file| SourceFile::new(file.path, loosened(&file.bytes))).collect()
}

/// Writes JSON objects after `- ` or `name: ` as one key per line.
fn loosened(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let loosen = |line: &str| {
        let Some(start) = line.find('{') else { return format!("{line}\n") };
        let Ok(serde_json::Value::Object(object)) = serde_json::from_str(&line[start..]) else {
            return format!("{line}\n");
        };
        if object.is_empty() || line.trim_start().starts_with("include") {
            return format!("{line}\n");
        }
        let indent = line.len() - line.trim_start().len() + 2;
        let entries: Vec<String> =
            object.iter().map(|(key, value)| format!("{key}: {value}  # {key}\n")).collect();
        match line.trim_start().starts_with("- ") {
            true => format!("{}{}", &line[..start], entries.join(&" ".repeat(indent))),
            false => {
                let lines: String =
                    entries.iter().map(|entry| format!("{}{entry}", " ".repeat(indent))).collect();
                format!("{}\n{lines}", line[..start].trim_end())
            }
        }
    };
    text.lines().map(loosen).collect::<String>().into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn adopting_everything_declares_the_accepted_state(before in tape(), accepted in tape(), spread in spread(), blocks in any::<bool>()) {
        let mut files = Model::from_tape(&before).files(&spread);
        if blocks {
            files = in_blocks(files);
        }
        let fleet = read(&files);
        prop_assert!(!fleet.has_errors(), "{:?}", fleet.diagnostics);
        let accepted = read(&Model::from_tape(&accepted).files(&[]));
        let edited = adopt_all(&fleet, &accepted);
        prop_assert!(edited.is_ok(), "{:?}", edited);
        let again = read(&edited_files(&files, &edited.unwrap()));
        prop_assert_eq!(again.desired.digest(), accepted.desired.digest());
        prop_assert_eq!(adopt_all(&again, &accepted), Ok(Vec::new()));
    }

    #[test]
    fn adopting_one_resource_changes_no_other(before in tape(), accepted in tape(), spread in spread(), choice in any::<usize>()) {
        let files = in_blocks(Model::from_tape(&before).files(&spread));
        let fleet = read(&files);
        let accepted = read(&Model::from_tape(&accepted).files(&[]));
        let mut wanted = differences(&fleet, &accepted);
        wanted.retain(|(key, accepted)| {
            let declared = fleet.desired.resources.get(key.kind, &key.name);
            declared.is_some() && accepted.is_some() && declared.map(|it| it.digest) != accepted.as_ref().map(|it| it.digest())
        });
        prop_assume!(!wanted.is_empty());
        let chosen = wanted.swap_remove(choice % wanted.len());
        match adopt(&fleet, std::slice::from_ref(&chosen), &ReadContext::offline()) {
            Ok(edited) => {
                prop_assert_eq!(edited.len(), 1);
                let kept = edited[0].after.lines().filter(|line| edited[0].before.contains(line)).count();
                let changed = edited[0].after.lines().count() - kept;
                prop_assert!(changed <= 16, "{} lines changed for one resource:\n{}", changed, edited[0].after);
            }
            Err(AdoptError::Refused { .. }) => {}
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}
