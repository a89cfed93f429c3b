use crate::accepted::{Accepted, Owner};
use crate::desired::Desired;
use crate::desired::tests::declared;
use crate::known::KnownModules;
use crate::resource::{Kind, Spec};

/// What exists once these files are applied, with these states of versions.
fn existing(body: &str, states: &[(&str, &str)]) -> KnownModules {
    let desired = declared(body);
    let accepted = Accepted::from_desired(&desired, &Owner::Nobody);
    let resources = || accepted.resources.iter().map(|(_, name, one)| (name, one.spec.as_ref()));
    let known = KnownModules::of_accepted(resources());
    let versions: Vec<(String, Spec)> = states
        .iter()
        .map(|(name, state)| {
            let text = format!("{{\"state\":\"{state}\"}}");
            let spec = Spec::read_stored(Kind::ModuleVersion, &text).unwrap();
            ((*name).to_owned(), spec.with_versions_of(name, &[], &known))
        })
        .collect();
    let versions = versions.iter().map(|(name, spec)| (name.as_str(), spec));
    KnownModules::of_accepted(resources().chain(versions))
}

fn resolved(desired: &mut Desired, known: &KnownModules) -> Vec<String> {
    desired.resolve_pins(known);
    let mut found = Vec::new();
    for (kind, name, declared) in desired.resources.iter() {
        for ((field, pin), version) in declared.spec.resolved_versions() {
            found.push(format!("{kind} {name} {field} {pin} {version}"));
        }
        assert_eq!(declared.digest, declared.spec.digest(), "{name}");
    }
    found
}

#[test]
fn pins_select_the_newest_version_in_their_state_and_the_catalogue_steps_in() {
    let known = existing(
        "modules: [{name: web, version: 1.9.0}, {name: app}]",
        &[("web@1.9.0", "blessed"), ("nginx@1.26.0", "live")],
    );
    let body = "templates:\n- {name: t, node_platform: debian-12-amd64, modules: [web@blessed, web@live, nginx, app, chrony@4.3.0]}\n";
    let body = body.replace("web@live, ", "");
    let mut desired = declared(&body);
    assert_eq!(
        resolved(&mut desired, &known),
        ["template t modules nginx 1.26.0", "template t modules web@blessed 1.9.0"],
        "a module without a version has none, and an exact pin says it itself"
    );
    assert_eq!(desired.resolve_pins(&known), 0, "a second time changes nothing");
}

#[test]
fn a_module_of_the_same_files_makes_the_version_that_a_template_follows() {
    let known = existing("modules: [{name: web, version: 1.9.0}]", &[("web@1.9.0", "live")]);
    let fleet = |state: &str| {
        declared(&format!(
            "modules: [{{name: web, version: 1.10.0, version_state: {state}}}]\n\
             templates: [{{name: t, node_platform: debian-12-amd64, modules: [web@live]}}]\n"
        ))
    };
    assert_eq!(resolved(&mut fleet("live"), &known), ["template t modules web@live 1.10.0"]);
    assert_eq!(resolved(&mut fleet("staging"), &known), ["template t modules web@live 1.9.0"]);
    let none = existing("modules: [{name: web, version: 1.9.0}]", &[("web@1.9.0", "retired")]);
    assert_eq!(resolved(&mut fleet("built"), &none), [""; 0], "nothing is live");
}

#[test]
fn an_assignment_has_a_version_of_its_own_unless_the_template_pins_the_module() {
    let known = existing("modules: [{name: web, version: 1.9.0}]", &[]);
    let body = "templates:\n- {name: t, node_platform: debian-12-amd64, modules: [chrony@4.3.0]}\n\
        - {name: u, extends: t}\nnodes: [{hostname: a, template: u}]\n\
        assignments: {\"a:web\": {}, \"a:chrony\": {}, \"b:chrony\": {}, \"a:nginx\": {version: live}}\n";
    assert_eq!(
        resolved(&mut declared(body), &known),
        [
            "assignment a:nginx version live 1.26.0",
            "assignment a:web version live 1.9.0",
            "assignment b:chrony version live 4.3.0"
        ]
    );
}

#[test]
fn a_declared_version_gets_the_content_that_exists_or_that_a_module_of_the_files_makes() {
    let known = existing("modules: [{name: web, version: 1.9.0, priority: 7}]", &[("web@1.9.0", "staging")]);
    let mut desired = declared(
        "modules: [{name: web, version: 2.0.0}]\nmodule_versions: {web@1.9.0: {state: live}, web@2.0.0: {}, web@3.0.0: {}}\n",
    );
    desired.resolve_pins(&known);
    let content = |name: &str| {
        let spec = &desired.resources.get(Kind::ModuleVersion, name).unwrap().spec;
        spec.version_content().map(|content| content.priority.0)
    };
    assert_eq!((content("web@1.9.0"), content("web@2.0.0"), content("web@3.0.0")), (Some(7), Some(50), None));
}

#[test]
fn what_someone_writes_keeps_the_versions_that_were_accepted() {
    let known = existing("modules: [{name: web, version: 1.9.0}]", &[]);
    let newer = existing("modules: [{name: web, version: 1.10.0}]", &[]);
    let read = |text: &str| Spec::read_stored(Kind::Template, text).unwrap();
    let before = read(r#"{"modules":["web@live"]}"#).with_versions_of("t", &[], &known);
    let written = read(r#"{"modules":["web@live","nginx@live"],"description":"x"}"#);
    let after = written.with_versions_of("t", &[&before], &newer);
    let versions: Vec<String> = after.resolved_versions().values().map(ToString::to_string).collect();
    assert_eq!(versions, ["1.26.0", "1.9.0"]);
}
