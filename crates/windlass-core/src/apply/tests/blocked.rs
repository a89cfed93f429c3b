//! What an approved change waits for beside the gate.

use super::*;
use crate::proposal::made_up::{create, destroy, edited, made_directly, update, wanted_by};

fn node(template: &str) -> String {
    format!("{{template: {template}}}")
}

fn network(cidr: &str) -> String {
    format!("{{cidr: {cidr}}}")
}

fn virtual_ip(address: &str) -> String {
    format!("{{primary_holder: h, address: {address}}}")
}

fn proposed(id: &str, repository: &str, change: &Change) -> HoldingProposal {
    HoldingProposal {
        id: ProposalId::new(id),
        repository_id: RepositoryId::new(repository),
        repository_name: repository.to_owned(),
        key: change.key.clone(),
        cause: change.cause,
        spec: change.after.as_deref().cloned(),
    }
}

#[test]
fn what_refers_to_something_that_is_not_there_waits_for_it() {
    let create = create(Kind::Node, "web", &node("small"));
    let missing = "waits: template small does not exist yet";
    for proposal in [wanted_by("core", create.clone()), made_directly(None, create.clone())] {
        assert_eq!(Stage::new().becomes_of(&proposal), missing);
    }
    for owner in [Some("core"), Some("edge"), None] {
        let there = Stage::new().with(Kind::Template, "small", PLATFORM, owner);
        assert_eq!(there.becomes_of(&wanted_by("core", create.clone())), "create node web for core");
    }
    let moves = wanted_by("core", update(Kind::Node, "web", &node("small"), &node("large")));
    let stage = Stage::new().with(Kind::Template, "small", PLATFORM, Some("core")).with(
        Kind::Node,
        "web",
        &node("small"),
        Some("core"),
    );
    assert_eq!(stage.becomes_of(&moves), "waits: template large does not exist yet");
}

#[test]
fn an_edit_waits_for_what_it_refers_to_and_not_for_what_git_refers_to() {
    let stage = Stage::new().with(Kind::Template, "small", PLATFORM, Some("core"));
    let large = wanted_by("core", create(Kind::Node, "web", &node("large")));
    assert_eq!(stage.becomes_of(&large), "waits: template large does not exist yet");
    assert_eq!(stage.becomes_of(&edited(large, &node("small"))), "create node web for core");
    let small = wanted_by("core", create(Kind::Node, "web", &node("small")));
    assert_eq!(stage.becomes_of(&edited(small, &node("huge"))), "waits: template huge does not exist yet");
}

const WEB: &str = "{version: 1.0.0, priority: 10}";

#[test]
fn a_module_cannot_give_a_version_other_content() {
    let stage = Stage::new().with(Kind::Module, "web", WEB, Some("core"));
    let changes = |after: &str| wanted_by("core", update(Kind::Module, "web", WEB, after));
    let reused = changes("{version: 1.0.0, priority: 20}");
    assert_eq!(
        stage.becomes_of(&reused),
        "waits: version 1.0.0 of web exists with other content; give it a new version"
    );
    for sound in ["{version: 1.0.0, priority: 10, description: x, protect: true}", "{version: 1.1.0}", "{}"] {
        assert_eq!(stage.becomes_of(&changes(sound)), "update module web for core", "{sound}");
    }
    let back =
        stage.with(Kind::ModuleVersion, "web@0.9.0", r#"{"$module":{"version":"0.9.0","priority":1}}"#, None);
    assert_eq!(
        back.becomes_of(&changes("{version: 0.9.0, priority: 2}")),
        "waits: version 0.9.0 of web exists with other content; give it a new version"
    );
    assert_eq!(back.becomes_of(&changes("{version: 0.9.0, priority: 1}")), "update module web for core");
}

#[test]
fn a_pin_waits_for_its_version_and_for_a_version_in_its_state() {
    let template = |pin: &str| {
        let text = format!("{{node_platform: debian-12-amd64, modules: [{pin}]}}");
        wanted_by("core", create(Kind::Template, "t", &text))
    };
    let stage =
        Stage::new().with(Kind::Module, "web", WEB, Some("core")).with(Kind::Module, "app", "{}", None);
    assert_eq!(stage.becomes_of(&template("web@1.0.0")), "create template t for core");
    assert_eq!(stage.becomes_of(&template("app@live")), "create template t for core", "always live");
    assert_eq!(
        stage.becomes_of(&template("web@2.0.0")),
        "waits: module_version web@2.0.0 does not exist yet"
    );
    assert_eq!(stage.becomes_of(&template("web@blessed")), "waits: no version of the module web is blessed");
    assert_eq!(stage.becomes_of(&template("gone@blessed")), "waits: module gone does not exist yet");
    let newer = wanted_by("core", update(Kind::Module, "web", WEB, "{version: 2.0.0}"));
    assert_eq!(
        stage.become_of(&[newer, template("web@2.0.0")]),
        ["update module web for core", "create template t for core"],
        "the module makes the version"
    );
}

#[test]
fn a_version_is_declared_once_it_is_made_and_destroyed_once_nothing_uses_it() {
    let content = r#"{"$module":{"version":"1.0.0","priority":10},"state":"live"}"#;
    let declared = wanted_by("core", create(Kind::ModuleVersion, "web@1.0.0", content));
    let not_made = "waits: there is no version web@1.0.0 yet; applying a module with that version makes it";
    assert_eq!(Stage::new().becomes_of(&declared), not_made);
    let module = wanted_by("core", create(Kind::Module, "web", WEB));
    assert_eq!(
        Stage::new().become_of(&[module, declared]),
        ["create module web for core", "update module_version web@1.0.0 for core"]
    );
    let stage = Stage::new().with(Kind::ModuleVersion, "web@1.0.0", content, Some("core"));
    let gone = wanted_by("core", destroy(Kind::ModuleVersion, "web@1.0.0", content));
    assert_eq!(stage.becomes_of(&gone), "destroy module_version web@1.0.0 for core");
    let pinned = "{node_platform: debian-12-amd64, modules: [web@1.0.0]}";
    let used = stage.with(Kind::Template, "t", pinned, None);
    assert_eq!(used.becomes_of(&gone), "waits: template t still refers to it");
}

#[test]
fn git_takes_no_version_back_and_a_person_does() {
    let version = |state: &str| format!(r#"{{"$module":{{"version":"1.0.0"}},"state":"{state}"}}"#);
    let stage = Stage::new().with(Kind::ModuleVersion, "web@1.0.0", &version("live"), None);
    let back = || update(Kind::ModuleVersion, "web@1.0.0", &version("live"), &version("blessed"));
    assert_eq!(
        stage.becomes_of(&wanted_by("core", back())),
        "waits: the version is live; only a direct change with a reason takes it back to blessed"
    );
    assert_eq!(stage.becomes_of(&made_directly(None, back())), "update module_version web@1.0.0 for nobody");
    let end = update(Kind::ModuleVersion, "web@1.0.0", &version("live"), &version("retired"));
    assert_eq!(stage.becomes_of(&wanted_by("core", end)), "update module_version web@1.0.0 for core");
}

#[test]
fn a_template_waits_for_a_platform_that_the_catalogue_has() {
    let template = wanted_by("core", create(Kind::Template, "t", "{node_platform: plan-9-mips}"));
    assert_eq!(Stage::new().becomes_of(&template), "waits: the platform plan-9-mips is not in the catalogue");
}

#[test]
fn what_comes_with_windlass_is_always_there() {
    let pinned = "{node_platform: debian-12-amd64, modules: [nginx@1.26.0]}";
    let template = wanted_by("core", create(Kind::Template, "t", pinned));
    assert_eq!(Stage::new().becomes_of(&template), "create template t for core");
    // The account's own module of that name goes, and what refers to it means the built-in one again.
    let own = Stage::new().with(Kind::Module, "nginx", "{}", Some("core")).with(
        Kind::Template,
        "t",
        pinned,
        Some("core"),
    );
    let gone = wanted_by("core", destroy(Kind::Module, "nginx", "{}"));
    assert_eq!(own.becomes_of(&gone), "destroy module nginx for core");
}

#[test]
fn what_others_refer_to_is_not_destroyed_before_they_let_go() {
    let stage = Stage::new()
        .with(Kind::Template, "t", PLATFORM, Some("core"))
        .with(Kind::Node, "a", &node("t"), Some("core"))
        .with(Kind::Node, "b", &node("t"), Some("edge"))
        .with(Kind::Node, "c", &node("other"), Some("core"));
    let gone = destroy(Kind::Template, "t", PLATFORM);
    let why = "waits: node a still refers to it; node b still refers to it";
    assert_eq!(stage.becomes_of(&wanted_by("core", gone.clone())), why);
    assert_eq!(stage.becomes_of(&made_directly(Some("core"), gone)), why);
}

#[test]
fn of_many_reasons_the_first_are_told_and_the_others_counted() {
    let mut stage = Stage::new().with(Kind::Template, "t", PLATFORM, Some("core"));
    for number in 0..14 {
        stage = stage.with(Kind::Node, &format!("n-{number:02}"), &node("t"), Some("core"));
    }
    let gone = wanted_by("core", destroy(Kind::Template, "t", PLATFORM));
    let mut scene = stage.scene(std::slice::from_ref(&gone), |proposal| vec![approval(proposal, BOB)]);
    let Verdict::Wait(reasons) = scene.judge(&gone) else { panic!("nodes refer to it") };
    assert_eq!((reasons.len(), reasons[10].to_string().as_str()), (11, "and 4 more"));
}

#[test]
fn addresses_that_another_has_or_proposed_first_are_waited_for() {
    let wanted = || create(Kind::Network, "wanted", &network("10.1.2.0/24"));
    let owned = Stage::new().with(Kind::Network, "held", &network("10.1.0.0/16"), Some("edge"));
    let why = "waits: 10.1.2.0/24 overlaps 10.1.0.0/16 of network held, owned by the repository `edge`";
    assert_eq!(owned.becomes_of(&wanted_by("core", wanted())), why);
    assert_eq!(owned.becomes_of(&made_directly(None, wanted())), why);
    assert_eq!(owned.becomes_of(&wanted_by("edge", wanted())), "create network wanted for edge");

    let held = create(Kind::Network, "held", &network("10.1.0.0/16"));
    let mut earlier = Stage::new();
    earlier.open.push(proposed("a", "edge", &held));
    let why =
        "waits: 10.1.2.0/24 overlaps 10.1.0.0/16 of network held, already proposed by the repository `edge`";
    assert_eq!(earlier.becomes_of(&wanted_by("core", wanted())), why);
    assert_eq!(earlier.becomes_of(&made_directly(None, wanted())), "create network wanted for nobody");
    let mut later = Stage::new();
    later.open.push(proposed("z", "edge", &held));
    assert_eq!(later.becomes_of(&wanted_by("core", wanted())), "create network wanted for core");
}

#[test]
fn a_name_that_another_proposed_first_is_waited_for() {
    let wanted = create(Kind::Cluster, "c", SMALL);
    let mut stage = Stage::new();
    stage.open.push(proposed("a", "edge", &wanted));
    assert_eq!(
        stage.becomes_of(&wanted_by("core", wanted.clone())),
        "waits: cluster c is already proposed by the repository `edge`"
    );
    assert_eq!(stage.becomes_of(&made_directly(None, wanted)), "create cluster c for nobody");
}

#[test]
fn nobody_checked_an_edit_against_its_own_repository_so_that_it_is_checked_here() {
    let stage = Stage::new().with(Kind::Network, "held", &network("10.1.0.0/16"), Some("core"));
    let sound = wanted_by("core", create(Kind::Network, "wanted", &network("10.2.0.0/16")));
    assert_eq!(stage.becomes_of(&sound), "create network wanted for core");
    assert_eq!(
        stage.becomes_of(&edited(sound, &network("10.1.2.0/24"))),
        "waits: 10.1.2.0/24 overlaps 10.1.0.0/16 of network held, owned by the repository `core`"
    );
}

#[test]
fn what_is_declared_here_and_owned_elsewhere_keeps_what_refers_to_it_waiting() {
    let mut stage = Stage::new().with(Kind::Template, "t", PLATFORM, Some("edge"));
    let wanted = wanted_by("core", create(Kind::Node, "web", &node("t")));
    assert_eq!(stage.becomes_of(&wanted), "create node web for core");
    stage.declared.push(("core", ResourceKey::new(Kind::Template, "t")));
    assert_eq!(
        stage.becomes_of(&wanted),
        "waits: template t is declared here too, but owned by the repository `edge`"
    );
}

#[test]
fn everything_that_is_in_the_way_is_told_at_once() {
    let stage = Stage::new().with(Kind::VirtualIp, "w/one", &virtual_ip("10.1.0.9"), None).with(
        Kind::Network,
        "w",
        &network("10.1.0.0/16"),
        Some("edge"),
    );
    let wanted = wanted_by("core", create(Kind::VirtualIp, "w/two", &virtual_ip("10.1.0.9")));
    assert_eq!(
        stage.becomes_of(&wanted),
        "waits: 10.1.0.9 is taken by virtual_ip w/one, owned by no repository; peer w/h does not exist yet"
    );
}
