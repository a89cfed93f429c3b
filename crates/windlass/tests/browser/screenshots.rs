//! The screenshots in docs/images: every page with a fleet of 300 nodes, light and dark; rollouts with a fleet of 120.
//!
//! Created with `UPDATE_SCREENSHOTS=1`; check them before committing.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use windlass_web::table::Page;

use crate::rolling_fleet::{Fleet, Report};
use crate::seed;
use crate::visits::{Stop, stops};
use crate::window::{Look, Window};

/// The number of nodes in the screenshots.
const NODES: usize = 300;

/// The size limit of a screenshot.
const MAX_BYTES: usize = 200_000;

/// Pages that are also shown on a phone.
const ON_A_PHONE: &[Page] = &[Page::Overview, Page::Approvals, Page::Proposal, Page::Events, Page::Audit];

/// Pages that show a fleet with a rollout that is under way.
const OF_ROLLOUTS: [Page; 2] = [Page::Rollouts, Page::Rollout];

/// The number of nodes in that fleet.
const ROLLOUT_NODES: usize = 120;

/// Replaces the path of a temporary directory by a realistic URL.
const ADDRESSES: &str = "const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); \
    while (walker.nextNode()) { const text = walker.currentNode; \
    text.data = text.data.replace(/file:\\/\\/\\S+/g, 'https://git.example.com/acme/fleet.git'); } \
    for (const field of document.querySelectorAll('input, textarea')) \
    field.value = field.value.replace(/file:\\/\\/\\S+/g, 'https://git.example.com/acme/fleet.git');";

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
    let list = scene.installation.get(&scene.admin, "/api/v1/system/proposals?q=london-00020").await;
    let update = list["proposals"][0]["id"].as_str().unwrap().to_owned();
    for mut stop in stops(&scene.installation, &scene.admin).await {
        // Of several pages, the one with the most content.
        stop.path = match stop.page {
            Page::Proposal => format!("/app/proposals/{update}"),
            Page::EditForm => format!("/app/proposals/{update}/edit"),
            Page::Run => format!("/app/runs/{}", scene.run),
            _ => stop.path,
        };
        if !OF_ROLLOUTS.contains(&stop.page) {
            seed::contact_agents(&scene.installation).await;
            take_every_look(&window, &stop).await;
        }
    }
    window.close().await;
    let fleet = moving_rollout().await;
    let Some(window) = Window::of(&fleet.installation, &fleet.admin).await else { return };
    let rollout = format!("/app/rollouts/{}", fleet.newest().await["id"].as_str().unwrap());
    for (page, path) in OF_ROLLOUTS.into_iter().zip(["/app/rollouts", &rollout]) {
        seed::contact_agents(&fleet.installation).await;
        take_every_look(&window, &Stop { page, path: path.to_owned() }).await;
    }
    window.close().await;
}

/// A rollout that is under way: the canaries and some others have the change, one node failed.
async fn moving_rollout() -> Fleet {
    let rollout = "{max_unavailable: 20, failure_threshold: 5, waves: [{name: canary, nodes: [edge-1, edge-2, edge-3]}]}";
    let fleet = Fleet::start(rollout, ROLLOUT_NODES).await;
    fleet.change(rollout, 2).await;
    let mut names: Vec<String> = (1..=ROLLOUT_NODES).map(|number| format!("edge-{number}")).collect();
    names.sort();
    for sent in [3, 23, 60] {
        let has_change = async || fleet.generations().await.iter().filter(|one| **one == 2).count() >= sent;
        fleet.wait("the next nodes", has_change).await;
        seed::contact_agents(&fleet.installation).await;
        let generations = fleet.generations().await;
        let with_change = names.iter().zip(generations).filter(|(_, generation)| *generation == 2);
        for (index, (name, _)) in with_change.enumerate() {
            match index {
                17 => fleet.report(name, Report::Failed("nginx -t: unknown directive \"gzip_typo\"")).await,
                0..58 => fleet.report(name, Report::InSync).await,
                _ => {}
            }
        }
    }
    fleet
}

/// Takes screenshots of a page in both themes, and on a phone if it is shown there too.
async fn take_every_look(window: &Window, stop: &Stop) {
    let widths: &[(u32, u32, &str)] = match ON_A_PHONE.contains(&stop.page) {
        true => &[(1280, 860, ""), (400, 860, "-phone")],
        false => &[(1280, 860, "")],
    };
    for (width, height, suffix) in widths {
        for look in Look::BOTH {
            window.resize(*width, *height).await;
            window.set_color_scheme(look).await;
            take(window, stop, &format!("{}{suffix}-{}.png", stop.name(), look.slug())).await;
        }
    }
}

async fn take(window: &Window, stop: &Stop, file: &str) {
    window.goto(&stop.path).await;
    window.until("document.readyState === 'complete'").await;
    // One entry of a log is opened, to show its details.
    window.run("document.querySelector('tbody details.entry')?.setAttribute('open', '');").await;
    // The directories of the test's repositories are not realistic URLs.
    window.run(ADDRESSES).await;
    // A blinking cursor would make two screenshots of the same page differ.
    window.run("document.activeElement?.blur();").await;
    let screenshot = smaller(window.screenshot().await);
    assert!(screenshot.len() < MAX_BYTES, "{file} has {} bytes", screenshot.len());
    std::fs::write(directory().join(file), screenshot).unwrap();
}

/// The same image with a palette, if the program for that is installed.
fn smaller(screenshot: Vec<u8>) -> Vec<u8> {
    let mut pngquant = Command::new("pngquant");
    pngquant.args(["--quality", "70-100", "--speed", "1", "--strip", "-"]);
    let child = pngquant.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let Ok(mut child) = child else { return screenshot };
    let mut input = child.stdin.take().unwrap();
    let whole = screenshot.clone();
    let writer = std::thread::spawn(move || input.write_all(&whole));
    let output = child.wait_with_output().unwrap();
    // The program may exit early if it cannot keep the quality.
    let _ = writer.join().unwrap();
    if output.status.success() { output.stdout } else { screenshot }
}
