//! axe-core finds nothing on any page, in both themes and both widths.
//!
//! axe-core is third-party and not in the repository: `test.sh` gets it from npm. Without it the test reports that it
//! was skipped; in CI that is a failure.

use std::path::Path;

use crate::seed;
use crate::visits::stops;
use crate::window::{Look, Window};

/// All rules of WCAG 2.2 A and AA that a program can check, and axe's recommended ones.
const RUN: &str = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})\
    .then((found) => done(found.violations.map((rule) => `${rule.id}: ${rule.help}: ` + \
    rule.nodes.map((node) => node.target.join(' ') + ' ' + (node.any[0]?.message || '')).slice(0, 4).join('; '))), \
    (error) => done([String(error)]));";

/// The violations on the page of a window.
async fn violations(window: &Window, checker: &str) -> Vec<String> {
    window.run(checker).await;
    let found = window.run_until_done(RUN).await;
    found.as_array().unwrap().iter().map(|rule| rule.as_str().unwrap().to_owned()).collect()
}

#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn checker() -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/axe-core/axe.min.js");
    if let Ok(text) = std::fs::read_to_string(&file) {
        return Some(text);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "axe-core is not in target/axe-core: run test.sh");
    eprintln!("skipped: axe-core is not in target/axe-core: run test.sh");
    None
}

/// The violations on a page, or on the page that the window shows, in both themes and both widths. Nothing if axe-core is
/// not there.
pub(crate) async fn violations_in_every_look(window: &Window, path: Option<&str>) -> Vec<String> {
    let Some(checker) = checker() else { return Vec::new() };
    let mut found = Vec::new();
    for (look, width) in Look::BOTH.into_iter().flat_map(|look| [(look, 1280), (look, 400)]) {
        window.set_color_scheme(look).await;
        window.resize(width, 900).await;
        if let Some(path) = path {
            window.goto(path).await;
        }
        // Collapsed parts are checked too.
        window.run("for (const part of document.querySelectorAll('details')) part.open = true;").await;
        let wrong = violations(window, &checker).await;
        let at = path.unwrap_or("this page");
        found.extend(wrong.iter().map(|rule| format!("{at} {} {width}: {rule}", look.slug())));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_accessible_in_both_themes_and_both_widths() {
    let Some(checker) = checker() else { return };
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    let mut found = Vec::new();
    for stop in stops(&scene.installation, &scene.admin).await {
        found.extend(violations_in_every_look(&window, Some(&stop.path)).await);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Violations are found: a field without a name, and grey on grey.
    window
        .run(
            "const field = document.createElement('input'); const line = document.createElement('p'); \
        line.textContent = 'hardly to be read'; line.style.color = '#888'; line.style.background = '#999'; \
        document.querySelector('main').append(field, line);",
        )
        .await;
    let wrong = violations(&window, &checker).await.join("\n");
    assert!(wrong.contains("label:") && wrong.contains("color-contrast:"), "{wrong}");
    window.close().await;
}
