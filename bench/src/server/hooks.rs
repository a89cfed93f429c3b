//! From a push to the resulting proposal, through a webhook.

use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_testkit::fleet::ACCOUNT;

use super::fixture::{Fixture, Happenings, Repo};
use super::{ServerReport, load};
use crate::{Outcome, say};

/// The number of pushes, one after the other.
const PUSHES: usize = 20;

/// Clusters that exist before the first push, so that the fleet is not minimal.
const CLUSTERS: usize = 100;

/// Pushes with git, delivers the webhook, and polls until the proposal is listed.
pub(super) async fn measure(report: &mut ServerReport) -> Outcome<()> {
    say("from push to proposal");
    let fixture = Fixture::start(10_000).await?;
    let repo = Repo::new(&fixture, "fleet")?;
    repo.commit_text("fleet.yaml", &fleet(CLUSTERS))?;
    let bare = repo.publish()?;
    let run = fixture.register_at(&repo.name, &bare).await?;
    if run["status"] != "diff_ready" {
        return Err(format!("the first run is {}", run["status"]).into());
    }
    let hook = Hook::of(&fixture, &repo.name).await?;
    let (mut pushed, mut told) = (Vec::new(), Vec::new());
    for number in 0..PUSHES {
        let name = format!("c{:05}", CLUSTERS + number);
        repo.commit_text("fleet.yaml", &fleet(CLUSTERS + number + 1))?;
        let mut happenings = fixture.happenings().await?;
        let begun = Instant::now();
        repo.push(&bare)?;
        let hooked = Instant::now();
        hook.deliver(number).await?;
        listed(&fixture, &name, &mut happenings).await?;
        pushed.push(begun.elapsed());
        told.push(hooked.elapsed());
    }
    let note = |times: &[Duration], what: &str| {
        let p95 = load::percentile(times, 95).as_secs_f64() * 1000.0;
        format!("median of {PUSHES}; 95th percentile {p95:.1}; {what}")
    };
    let what = "git push, webhook, fetch, read, compare, store, until it is listed";
    report.add("push to proposal", load::percentile(&pushed, 50), note(&pushed, what));
    let what = "the same without git push itself";
    report.add("webhook to proposal", load::percentile(&told, 50), note(&told, what));
    fixture.stop().await
}

fn fleet(clusters: usize) -> String {
    let names: String = (0..clusters).map(|number| format!("  c{number:05}: {{}}\n")).collect();
    format!("version: 1\naccount: {ACCOUNT}\nclusters:\n{names}")
}

/// Polls until a proposal for this cluster is listed.
async fn listed(fixture: &Fixture, name: &str, happenings: &mut Happenings) -> Outcome<()> {
    loop {
        let call = fixture.client.call(Operation::ProposalList, &[]).query("name", name).query("limit", "1");
        let page: Value = call.send().await?;
        if page["proposals"].get(0).is_some() {
            return Ok(());
        }
        happenings.next(&format!("{name} is proposed")).await?;
    }
}

/// A webhook as a forge has it configured.
struct Hook {
    url: String,
    key: hmac::Key,
    http: reqwest::Client,
}

impl Hook {
    async fn of(fixture: &Fixture, repository: &str) -> Outcome<Hook> {
        let shown: Value = fixture.client.call(Operation::RepositoryWebhook, &[repository]).send().await?;
        let secret = shown["secret"].as_str().ok_or("no secret was shown")?;
        let url = shown["webhook"]["url"].as_str().ok_or("no address was shown")?.to_owned();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        Ok(Hook { url, key, http: reqwest::Client::new() })
    }

    /// Delivers a push like GitHub.
    async fn deliver(&self, number: usize) -> Outcome<()> {
        let body = json!({"ref": "refs/heads/main", "number": number}).to_string();
        let tag = hmac::sign(&self.key, body.as_bytes());
        let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let request = self.http.post(&self.url).header("x-github-event", "push");
        let request = request.header("x-hub-signature-256", format!("sha256={hex}")).body(body);
        let status = request.send().await?.status();
        if status.as_u16() == 202 { Ok(()) } else { Err(format!("the webhook answered {status}").into()) }
    }
}
