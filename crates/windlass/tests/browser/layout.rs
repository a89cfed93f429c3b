//! The layout of all pages: both themes, both widths, no errors in the browser.

use windlass_web::table::Page;

use crate::seed;
use crate::visits::stops;
use crate::window::{Look, Window};

/// The brightness of a page's background, from 0 to 255.
async fn brightness(window: &Window) -> i64 {
    let script = "const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number); \
                  return Math.round((r + g + b) / 3);";
    window.run(script).await.as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_theme_follows_the_system_until_someone_chooses_and_is_kept() {
    let installation = crate::harness::Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    window.set_color_scheme(Look::Dark).await;
    window.goto("/app").await;
    assert!(brightness(&window).await < 60);
    window.set_color_scheme(Look::Light).await;
    assert!(brightness(&window).await > 200);
    for (theme, is_dark) in [("light", false), ("dark", true)] {
        window.click("[data-theme-switch]").await;
        window.until(&format!("document.documentElement.dataset.theme === '{theme}'")).await;
        window.goto("/app/runs").await;
        assert_eq!(brightness(&window).await < 60, is_dark, "{theme}");
    }
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_causes_browser_errors_or_horizontal_scrolling() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    for stop in stops(&scene.installation, &scene.admin).await {
        for width in [1280, 400] {
            window.resize(width, 900).await;
            window.goto(&stop.path).await;
            let overflow = window
                .value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                .await;
            assert_eq!(overflow, 0, "{} at {width}", stop.path);
            let browser_messages = window.browser_messages().await;
            let is_meant = |told: &String| stop.page == Page::Lost && told.contains("404");
            assert!(browser_messages.iter().all(is_meant), "{} at {width}: {browser_messages:?}", stop.path);
        }
    }
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_phone_the_navigation_shows_where_one_is() {
    let installation = crate::harness::Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    window.resize(400, 800).await;
    window.goto("/app/audit").await;
    let place = "document.querySelector('.nav [aria-current]').getBoundingClientRect()";
    window.until(&format!("{place}.left >= 0 && {place}.right <= innerWidth")).await;
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_policy_forbids_is_not_done_and_is_noticed_here() {
    let installation = crate::harness::Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    window.goto("/app").await;
    let script = "const part = document.createElement('script'); part.textContent = 'window.ran = true'; \
                  document.body.append(part);";
    window.run(script).await;
    assert_eq!(window.value("window.ran === undefined").await, true);
    let browser_messages = window.browser_messages().await;
    assert!(
        browser_messages.iter().any(|told| told.contains("Content Security Policy")),
        "{browser_messages:?}"
    );
    window.close().await;
}
