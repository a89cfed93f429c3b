//! Broken fleets that are too large to store. Each function writes a fleet into an empty directory.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const HEADER: &str = "version: 1\naccount: acme\n";
const MEBIBYTE: usize = 1 << 20;

/// The name of a fleet, and the function that writes it.
pub(crate) type Case = (&'static str, fn(&Path));

/// Every case.
pub(crate) const CASES: &[Case] = &[
    ("a-mebibyte-of-brackets", |at| fleet(at, &"[".repeat(MEBIBYTE))),
    ("a-mebibyte-of-braces", |at| fleet(at, &"{".repeat(MEBIBYTE))),
    ("a-mebibyte-of-dashes", |at| fleet(at, &"- ".repeat(MEBIBYTE / 2))),
    ("a-mebibyte-of-question-marks", |at| fleet(at, &"? ".repeat(MEBIBYTE / 2))),
    ("a-mebibyte-of-one-quoted-line", |at| fleet(at, &format!("\"{}", "a".repeat(MEBIBYTE - 1)))),
    ("10000-deep-in-flow-form", deep_in_flow_form),
    ("10000-deep-in-block-form", |at| fleet(at, &format!("{HEADER}nodes:\n{}\n", "- ".repeat(10_000)))),
    ("1400-deep-by-indentation", deep_by_indentation),
    ("one-byte-too-large", one_byte_too_large),
    ("a-name-of-900-kib", a_name_of_900_kib),
    ("a-doubled-key-of-400-kib", a_doubled_key_of_400_kib),
    ("a-tag-of-900-kib", a_tag_of_900_kib),
    ("10000-problems-under-a-key-of-700-kib", problems_under_a_long_key),
    ("20000-duplicate-keys", duplicate_keys),
    ("513-files", too_many_files),
    ("66-mebibytes-of-includes", includes_too_large),
    ("100001-resources", too_many_resources),
    ("100-directories-inside-one-another", directories_inside_one_another),
    ("one-map-merged-30000-times", merged_again_and_again),
    ("a-problem-in-every-word-of-a-long-line", problems_on_one_line),
    ("unknown-keys-behind-aliases", unknown_keys_behind_aliases),
    ("12000-templates-in-a-row", templates_in_a_row),
    ("10000-modules-behind-a-circle", modules_behind_a_circle),
    ("3000-misspelt-references", misspelt_references),
    ("20000-overlapping-networks", overlapping_networks),
];

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory can be made");
    fs::write(path, text).expect("a file can be written");
}

fn fleet(directory: &Path, text: &str) {
    write(directory, "fleet.yaml", text);
}

/// The header and one line for each number.
fn lines(heading: &str, count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = format!("{HEADER}{heading}\n");
    for number in 0..count {
        let _ = writeln!(text, "{}", line(number));
    }
    text
}

fn directories_inside_one_another(at: &Path) {
    fleet(at, &format!("{HEADER}include: ['d/**/*.yaml']\n"));
    write(at, &format!("{}a.yaml", "d/".repeat(100)), "nodes: {}\n");
}

fn deep_in_flow_form(at: &Path) {
    fleet(at, &format!("{HEADER}provider_configs: {}{}\n", "[".repeat(10_000), "]".repeat(10_000)));
}

/// As deep as indentation can go in a file of one mebibyte.
fn deep_by_indentation(at: &Path) {
    let mut text = format!("{HEADER}provider_configs:\n");
    for depth in 1..=1_400 {
        let _ = writeln!(text, "{}a:", " ".repeat(depth));
    }
    fleet(at, &text);
}

fn one_byte_too_large(at: &Path) {
    fleet(at, &format!("{HEADER}#{}", "x".repeat(MEBIBYTE - HEADER.len())));
}

fn a_name_of_900_kib(at: &Path) {
    let name = "n".repeat(900 << 10);
    fleet(at, &format!("{HEADER}clusters: [{{name: {name}}}]\n"));
}

fn a_doubled_key_of_400_kib(at: &Path) {
    let key = "k".repeat(400 << 10);
    fleet(at, &format!("{HEADER}provider_configs:\n  x:\n    ? {key}\n    : 1\n    ? {key}\n    : 2\n"));
}

fn a_tag_of_900_kib(at: &Path) {
    fleet(at, &format!("{HEADER}clusters: !{} []\n", "t".repeat(900 << 10)));
}

/// If each problem contained the whole key in its path, they would take 7 GB.
fn problems_under_a_long_key(at: &Path) {
    let heading = format!("provider_configs:\n  ? {}\n  :", "k".repeat(700 << 10));
    fleet(at, &lines(&heading, 10_000, |number| format!("    a{number}: .inf")));
}

fn duplicate_keys(at: &Path) {
    fleet(at, &lines("clusters:", 20_000, |_| "  prod: {}".to_owned()));
}

fn too_many_files(at: &Path) {
    fleet(at, &format!("{HEADER}include: [\"fleet.d/*.yaml\"]\n"));
    for number in 0..513 {
        write(at, &format!("fleet.d/{number:03}.yaml"), "clusters: []\n");
    }
}

fn includes_too_large(at: &Path) {
    fleet(at, &format!("{HEADER}include: [\"fleet.d/*.yaml\"]\n"));
    let comment = format!("#{}\n", "x".repeat(MEBIBYTE - 2));
    for number in 0..66 {
        write(at, &format!("fleet.d/{number:02}.yaml"), &comment);
    }
}

fn too_many_resources(at: &Path) {
    fleet(at, &format!("{HEADER}include: [\"fleet.d/*.yaml\"]\nclusters: {{one-more: {{}}}}\n"));
    for number in 0..10 {
        let mut text = "clusters:\n".to_owned();
        for cluster in 0..10_000 {
            let _ = writeln!(text, "  c{number}-{cluster}:");
        }
        write(at, &format!("fleet.d/{number}.yaml"), &text);
    }
}

/// Without a limit for merging, this file of less than a mebibyte would need 17 GB.
fn merged_again_and_again(at: &Path) {
    let keys: Vec<String> = (0..70_000).map(|key| format!("k{key:x}")).collect();
    let heading = format!("provider_configs:\n  a: &a {{{}}}\n  b:\n    x:", keys.join(","));
    fleet(at, &lines(&heading, 30_000, |_| "    - {<<: *a}".to_owned()));
}

fn unknown_keys_behind_aliases(at: &Path) {
    let keys: Vec<String> = (0..1_000).map(|key| format!("unknown{key}")).collect();
    let aliases = vec!["*a"; 15].join(", ");
    fleet(
        at,
        &format!("{HEADER}provider_configs: {{x: &a {{{}}}}}\nclusters: [{aliases}]\n", keys.join(", ")),
    );
}

fn problems_on_one_line(at: &Path) {
    fleet(at, &format!("{HEADER}nodes: [{}]\n", "é, ".repeat(30_000)));
}

fn templates_in_a_row(at: &Path) {
    let line = |number: usize| format!("  t{number:05}: {{extends: t{:05}}}", number + 1);
    fleet(at, &format!("{}  t12000: {{}}\n", lines("templates:", 12_000, line)));
}

fn modules_behind_a_circle(at: &Path) {
    let line =
        |number: usize| format!("  a{number:05}: {{version: 1.0.0, depends_on: [a{:05}@1.0.0]}}", number + 1);
    let last = "  a10000: {version: 1.0.0}\n  z: {version: 1.0.0, depends_on: [z@1.0.0, a00000@1.0.0]}\n";
    fleet(at, &format!("{}{last}", lines("modules:", 10_000, line)));
}

fn misspelt_references(at: &Path) {
    let template = |number: usize| format!("  edge-template-{number:05}: {{node_platform: debian-13-amd64}}");
    let mut text = lines("templates:", 3_000, template);
    text.push_str("nodes:\n");
    for number in 0..3_000 {
        let _ = writeln!(text, "  n{number:05}: {{template: edge-tmplate-{number:05}}}");
    }
    fleet(at, &text);
}

fn overlapping_networks(at: &Path) {
    let network = |number: usize| format!("    n{number:05}: {{cidr: 10.0.0.0/8}}");
    fleet(at, &lines("sdwan:\n  networks:", 20_000, network));
}
