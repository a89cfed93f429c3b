//! One module, as Windlass and as Ansible declare it: directories, files, templated files and links.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_core::host::{BlobDigest, BlobRef, ModulePackage, NodeDocument, NodeModule};
use windlass_core::resource::{Kind, Spec};

use crate::Outcome;

const DIRECTORIES: usize = 10;
const FILES_OF_DIRECTORY: usize = 4;
const LINKS: usize = 5;

/// How many directories, files and links the module has.
pub(super) const ITEMS: usize = DIRECTORIES * (2 + FILES_OF_DIRECTORY) + LINKS;

/// The setting that templated files contain.
const WORKERS: u64 = 4;

fn directory(number: usize) -> String {
    format!("/srv/site/d{number:02}")
}

/// The paths of plain files, each with its name in the repository and its content.
fn files() -> Vec<(String, String, String)> {
    let numbers = (0..DIRECTORIES).flat_map(|of| (0..FILES_OF_DIRECTORY).map(move |file| (of, file)));
    numbers
        .map(|(of, file)| {
            let path = format!("{}/f{file:02}.conf", directory(of));
            let content = format!("setting {of} {file}\n").repeat(60);
            (path, format!("d{of:02}-f{file:02}.conf"), content)
        })
        .collect()
}

/// The paths of templated files.
fn templated() -> Vec<String> {
    (0..DIRECTORIES).map(|of| format!("{}/template.conf", directory(of))).collect()
}

/// The paths of links, each with its destination.
fn links() -> Vec<(String, String)> {
    (0..LINKS).map(|number| (format!("/srv/site/current{number}"), directory(number))).collect()
}

/// Writes what `windlass-agent apply` reads: `document.json`, and `packages` with the module's package and files.
pub(super) fn write_for_windlass(parent: &Path) -> Outcome<()> {
    let packages = parent.join("packages");
    std::fs::create_dir_all(&packages)?;
    let mut host_files = Map::new();
    let mut blobs = BTreeMap::new();
    for (path, name, content) in files() {
        std::fs::write(packages.join(&name), &content)?;
        let digest = BlobDigest::of(content.as_bytes());
        blobs.insert(name.clone(), BlobRef { digest, size: content.len() as u64 });
        host_files.insert(path, json!({"source": name}));
    }
    for path in templated() {
        let content = "host {{ node.hostname }}, workers {{ config.workers }}\n";
        host_files.insert(path, json!({"content": content}));
    }
    let directories: Map<String, Value> = std::iter::once("/srv/site".to_owned())
        .chain((0..DIRECTORIES).map(directory))
        .map(|path| (path, json!({})))
        .collect();
    let links: Map<String, Value> = links().into_iter().map(|(path, to)| (path, json!({"to": to}))).collect();
    let spec = json!({"config": {"workers": WORKERS},
        "host": {"directories": directories, "files": host_files, "links": links}});
    let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else {
        return Err("the module cannot be read".into());
    };
    let package = ModulePackage { name: "site".to_owned(), spec, files: blobs };
    let module = NodeModule {
        name: "site".to_owned(),
        version: None,
        package: package.digest(),
        priority: 50,
        depends_on: Vec::new(),
        config: Map::new(),
    };
    let node = [("hostname".to_owned(), json!("edge-01"))].into_iter().collect();
    let document = NodeDocument { node, config: Map::new(), modules: vec![module] };
    std::fs::write(packages.join("site.package"), package.to_bytes())?;
    Ok(std::fs::write(parent.join("document.json"), document.to_bytes())?)
}

/// Writes what `ansible-playbook` reads: `playbook.yaml`, `files` and `templates`.
pub(super) fn write_for_ansible(parent: &Path) -> Outcome<()> {
    std::fs::create_dir_all(parent.join("files"))?;
    std::fs::create_dir_all(parent.join("templates"))?;
    let template = "host {{ node_hostname }}, workers {{ workers }}\n";
    std::fs::write(parent.join("templates/template.conf.j2"), template)?;
    let mut play = format!(
        "- hosts: all\n  gather_facts: false\n  vars: {{node_hostname: edge-01, workers: {WORKERS}}}\n  tasks:\n"
    );
    task(&mut play, "file", "path: \"{{ root }}{{ item }}\", state: directory, mode: \"0755\"");
    item(&mut play, "/srv/site");
    (0..DIRECTORIES).for_each(|number| item(&mut play, &directory(number)));
    task(&mut play, "copy", "src: \"{{ item.from }}\", dest: \"{{ root }}{{ item.to }}\", mode: \"0644\"");
    for (path, name, content) in files() {
        std::fs::write(parent.join("files").join(&name), content)?;
        item(&mut play, &format!("{{from: {name}, to: {path}}}"));
    }
    task(&mut play, "template", "src: template.conf.j2, dest: \"{{ root }}{{ item }}\", mode: \"0644\"");
    templated().iter().for_each(|path| item(&mut play, path));
    task(
        &mut play,
        "file",
        "src: \"{{ item.to }}\", path: \"{{ root }}{{ item.at }}\", state: link, force: true, follow: false",
    );
    links().iter().for_each(|(path, to)| item(&mut play, &format!("{{at: {path}, to: {to}}}")));
    Ok(std::fs::write(parent.join("playbook.yaml"), play)?)
}

fn task(play: &mut String, module: &str, arguments: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(
        play,
        "    - ansible.builtin.{module}: {{{arguments}, owner: root, group: root}}\n      loop:"
    );
}

fn item(play: &mut String, text: &str) {
    let _ = writeln!(play, "        - {text}");
}
