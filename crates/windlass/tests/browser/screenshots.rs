//! The pictures in docs/images: every page with a fleet of 300 nodes, light and dark.
//!
//! Made anew with `UPDATE_SCREENSHOTS=1`; look at them before they are committed.

use std::path::PathBuf;

use serde_json::json;
use windlass_web::table::Page;

use crate::seed;
use crate::visits::{Stop, stops};
use crate::window::{Look, Window};

/// Nodes of the fleet in the pictures.
const NODES: usize = 300;

/// Pictures are for reading about Windlass, not for loading: none is larger.
const MAX_BYTES: usize = 200_000;

/// Pages that are shown on a phone, too.
const ON_A_PHONE: &[Page] = &[Page::Overview, Page::Approvals, Page::Proposal];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/images")
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_every_page() {
    if std::env::var_os("UPDATE_SCREENSHOTS").is_none() {
        return;
    }
    let scene = seed::scene(NODES).await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    std::fs::create_dir_all(directory()).unwrap();
    let list = scene.installation.get(&scene.admin, "/api/v1/system/proposals?kind=node&change=update").await;
    let update = list["proposals"][0]["id"].as_str().unwrap().to_owned();
    for mut stop in stops(&scene.installation, &scene.admin).await {
        if stop.page == Page::Proposal {
            stop.path = format!("/app/proposals/{update}");
        }
        let widths: &[(u32, u32, &str)] = match ON_A_PHONE.contains(&stop.page) {
            true => &[(1280, 860, ""), (400, 860, "-phone")],
            false => &[(1280, 860, "")],
        };
        for (width, height, suffix) in widths {
            for look in Look::BOTH {
                window.resize(*width, *height).await;
                window.wear(look).await;
                take(&window, &stop, &format!("{}{suffix}-{}.png", stop.name(), look.slug())).await;
            }
        }
    }
    window.close().await;
}

async fn take(window: &Window, stop: &Stop, file: &str) {
    window.goto(&stop.path).await;
    window.until("document.readyState === 'complete'").await;
    // A cursor that blinks would make two pictures of the same page differ.
    window.run("document.activeElement?.blur();").await;
    let picture = window.picture().await;
    assert!(picture.len() < MAX_BYTES, "{file} has {} bytes", picture.len());
    std::fs::write(directory().join(file), picture).unwrap();
    assert_eq!(window.value("document.title.length > 0").await, json!(true));
}
