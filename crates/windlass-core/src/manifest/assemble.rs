//! Joins the files of a fleet and checks what needs more than one declaration.

use std::sync::Arc;

use super::assembly::{Assembly, FleetLimits};
use super::check;
use super::context::ReadContext;
use super::file::FileManifest;
use super::fleet::Fleet;

/// Joins the files of a fleet; the first is fleet.yaml itself.
pub fn assemble(files: Vec<Arc<FileManifest>>, context: &ReadContext) -> Fleet {
    let mut assembly = Assembly::new(files);
    if assembly.check_limits() == FleetLimits::Exceeded {
        // A fleet over the limits is incomplete, and too large for the checks.
        return assembly.finish();
    }
    assembly.join();
    assembly.check_account(context);
    assembly.check_includes();
    check::references(&mut assembly, &context.known);
    check::pins(&mut assembly, &context.known);
    check::templates(&mut assembly, &context.known);
    check::networks(&mut assembly);
    check::cluster_groups(&mut assembly);
    assembly.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::manifest::{FileRole, read_file};

    fn places(texts: &[&str]) -> Vec<(Code, String, usize, usize)> {
        let read = |(index, text): (usize, &&str)| {
            let role = if index == 0 { FileRole::Root } else { FileRole::Included };
            Arc::new(read_file(&format!("{index}.yaml"), text.as_bytes(), role))
        };
        let files = texts.iter().enumerate().map(read).collect();
        let problems = assemble(files, &ReadContext::offline()).diagnostics;
        problems.into_iter().map(|found| (found.code, found.file, found.line, found.column)).collect()
    }

    #[test]
    fn a_mistake_in_a_declaration_does_not_hide_that_there_are_two() {
        let text = "version: 1\naccount: a\nclusters:\n- {name: x, protect: 1}\n- {name: x}\n";
        let root = || "0.yaml".to_owned();
        let expected = [(Code::WrongType, root(), 4, 22), (Code::DuplicateName, root(), 5, 10)];
        assert_eq!(places(&[text]), expected);
    }

    #[test]
    fn a_name_that_an_unreadable_file_may_declare_is_not_called_undeclared() {
        let root = "version: 1\naccount: a\nnodes: [{hostname: x, template: y}]\n";
        assert_eq!(places(&[root]), [(Code::ReferenceUnresolved, "0.yaml".to_owned(), 3, 33)]);
        assert_eq!(places(&[root, "templates: [\n"]), [(Code::YamlSyntax, "1.yaml".to_owned(), 1, 12)]);
    }

    #[test]
    fn a_provider_configuration_declared_twice_is_told_at_its_second_place() {
        let texts =
            ["version: 1\naccount: a\nprovider_configs: {x: {}}\n", "provider_configs: [{name: x}]\n"];
        assert_eq!(places(&texts), [(Code::DuplicateName, "1.yaml".to_owned(), 1, 27)]);
    }
}
