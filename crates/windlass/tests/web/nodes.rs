//! The pages of nodes: status with its reason, filters and roll-ups, drift with its difference, and the ways out.

use windlass_api::permission::Role;
use windlass_testkit::servers::WorkTree;

use crate::browser::{Browser, button};
use crate::harness::{Installation, Person, fleet};
use crate::reported_node::{file, report};

const MOTD: &str = "welcome\n";
const NGINX: &str = "user www;\nworker_processes 4;\n";

const FLEET: &str = "version: 1
account: acme
modules:
  - name: base
    host:
      files:
        /etc/motd: {content: \"welcome\\n\"} # shown at sign-in
        /etc/nginx.conf: {source: files/nginx.conf}
        /etc/hostname: {content: \"{{ node.hostname }}\\n\"}
        /etc/threads: {content: \"{{ config.threads }}\\n\"}
templates:
  - {name: edge, node_platform: debian-12-amd64, modules: [base]}
nodes:
  - {hostname: edge-01, template: edge, region: eu, labels: {tier: web}, config: {threads: 6}}
  - {hostname: edge-02, template: edge, region: us, config: {threads: 8}}
";

/// An accepted fleet with two nodes.
async fn accepted(installation: &Installation) -> (Person, WorkTree) {
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    work.commit("files/nginx.conf", NGINX);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    (admin, work)
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_listed_with_their_reasons_filtered_and_counted() {
    let installation = Installation::start().await;
    let (admin, _work) = accepted(&installation).await;
    report(&installation, "edge-01", vec![file("/etc/motd", "hello\n", MOTD)]).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes").await;
    for told in [
        "0 of 2 in sync, 1 drifted, 1 unknown",
        "Drifted: path /etc/motd of module base changed since",
        "No agent is enrolled",
        "Drifted <span class=\"kinds-count\">1</span>",
        "/app/nodes?template=edge",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let drifted = browser.page("/app/nodes?state=drifted").await;
    assert!(drifted.contains("/app/nodes/edge-01") && !drifted.contains("/app/nodes/edge-02"), "{drifted}");
    let by_label = browser.page("/app/nodes?by=label:tier").await;
    for told in [
        "<option value=\"label:tier\" selected>By label tier</option>",
        "/app/nodes?label=tier%3Dweb",
        "none",
    ] {
        assert!(by_label.contains(told), "{told}: {by_label}");
    }
    let by_region = browser.page("/app/nodes?by=region&q=EDGE").await;
    assert!(by_region.contains("region=us") && by_region.contains("/app/nodes/edge-02"), "{by_region}");
    assert!(browser.page("/app/nodes?region=moon").await.contains("No node matches"));
    let overview = browser.page("/app").await;
    assert!(overview.contains("Nodes in sync") && overview.contains("1 drifted"), "{overview}");
    assert!(browser.page("/app/resources/node/edge-01").await.contains("href=\"/app/nodes/edge-01\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rendered_state_of_a_node_names_the_origin_of_each_item() {
    let installation = Installation::start().await;
    let (admin, _work) = accepted(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/edge-01").await;
    let rendered = page.split("id=\"rendered\"").nth(1).unwrap().split("</section>").next().unwrap();
    for told in [
        "from template edge (base)",
        "<code class=\"path\">/etc/motd</code>",
        "welcome",
        "<code>config.threads</code> = 6 from node config",
        "<code>node.hostname</code> = edge-01 from node",
        "windlass node render edge-01",
    ] {
        assert!(rendered.contains(told), "{told}: {rendered}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_drift_of_a_node_is_accepted_and_reverted_on_its_page() {
    let installation = Installation::start().await;
    let (admin, _work) = accepted(&installation).await;
    report(&installation, "edge-01", vec![file("/etc/motd", "hello\n", MOTD)]).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/edge-01").await;
    for told in ["Debian GNU/Linux 13", "1 drifted item", "hello", "welcome", "generation 1", "Observe now"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let shown = browser.page("/app/drift?show=drifted").await;
    for told in ["/app/nodes/edge-01", "/app/nodes/edge-01/accept", "Adopt into git", "hello"] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let item = [("kind", "path"), ("name", "/etc/motd")];
    let form =
        [item[0], item[1], ("reason", "a trial"), ("until", "2027-01-31"), ("back", "/app/nodes/edge-01")];
    let after = browser.submit_and_follow(&page, "/app/nodes/edge-01/accept", &form).await;
    assert!(after.contains("Accepted the drift of path /etc/motd") && after.contains("a trial"), "{after}");
    assert!(after.contains("In sync as of"), "{after}");
    assert!(
        browser
            .page("/app/drift?show=drifted")
            .await
            .contains("Drifted <span class=\"kinds-count\">0</span>")
    );
    let accepted = browser.page("/app/drift?show=accepted").await;
    for told in ["Accepted <span class=\"kinds-count\">1</span>", "a trial", "/app/nodes/edge-01/unaccept"] {
        assert!(accepted.contains(told), "{told}: {accepted}");
    }
    let after = browser.submit_and_follow(&after, "/app/nodes/edge-01/unaccept", &item).await;
    assert!(after.contains("Drift no longer accepted"), "{after}");
    let after = browser.submit_and_follow(&after, "/app/nodes/edge-01/revert", &[]).await;
    assert!(after.contains("applies everything that is assigned to it again, as generation 2"), "{after}");
    assert!(after.contains("Applying generation 2, reached 1."), "{after}");
    let after = browser.submit_and_follow(&after, "/app/nodes/edge-01/observe", &[]).await;
    assert!(after.contains("Asked the agent of node edge-01 to look now"), "{after}");
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &viewer);
    let page = browser.page("/app/nodes/edge-01").await;
    assert!(page.contains("Accept: this needs the permission system.gitops.approve"), "{page}");
    assert!(button(&page, "Observe now").contains(" disabled"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_adopted_into_git_where_its_content_is_known() {
    let installation = Installation::start().await;
    let (admin, work) = accepted(&installation).await;
    let nginx = "user www;\nworker_processes 8;\n";
    let secret = "user www;\nworker_processes 8;\npassword: hunter2hunter2\n";
    report(
        &installation,
        "edge-01",
        vec![
            file("/etc/motd", "hello\n", MOTD),
            file("/etc/nginx.conf", nginx, NGINX),
            file("/etc/hostname", "other\n", "edge-01\n"),
        ],
    )
    .await;
    report(&installation, "edge-02", vec![file("/etc/nginx.conf", secret, NGINX)]).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/nodes/edge-01").await;
    let mut adopt = async |node: &str, path: &str| {
        let form = [("kind", "path"), ("name", path)];
        browser.submit(&page, &format!("/app/nodes/{node}/adopt"), &form).await.text
    };
    let motd = adopt("edge-01", "/etc/motd").await;
    assert!(
        motd.contains("+        /etc/motd: {content: &#34;hello\\n&#34;} # shown at sign-in")
            || motd.contains("hello\\n") && motd.contains("# shown at sign-in"),
        "{motd}"
    );
    assert!(motd.contains("Patch for fleet"), "{motd}");
    let conf = adopt("edge-01", "/etc/nginx.conf").await;
    for told in ["+++ b/files/nginx.conf", "-worker_processes 4;", "+worker_processes 8;"] {
        assert!(conf.contains(told), "{told}: {conf}");
    }
    let patch =
        conf.split("aria-label=\"Patch\">").nth(1).unwrap().split("</pre>").next().unwrap().to_owned();
    std::fs::write(work.path().join("../adopt.patch"), patch).unwrap();
    work.git(&["apply", "../adopt.patch"]);
    assert_eq!(std::fs::read_to_string(work.path().join("files/nginx.conf")).unwrap(), nginx);
    let hostname = adopt("edge-01", "/etc/hostname").await;
    assert!(hostname.contains("/etc/hostname is made from a template"), "{hostname}");
    let masked = adopt("edge-02", "/etc/nginx.conf").await;
    assert!(masked.contains("the difference contains a masked value"), "{masked}");
    assert!(masked.contains("copy the file from the host into files/nginx.conf"), "{masked}");
    assert!(!masked.contains("hunter2hunter2"));
}
