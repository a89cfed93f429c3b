//! Many concurrent callers.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_api::client::Client;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;

use crate::Outcome;

/// The percentile of times.
pub(super) fn percentile(times: &[Duration], share: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let index = (sorted.len() * share / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// Runs concurrent callers with several calls each, and returns the duration of every call.
pub(super) async fn run(client: &Client, callers: usize, calls: usize) -> Outcome<Vec<Duration>> {
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let client = client.clone();
        tasks.spawn(async move {
            let mut times = Vec::with_capacity(calls);
            for number in 0..calls {
                let begun = Instant::now();
                let call = match (caller + number) % 4 {
                    0 => client
                        .call(Operation::Resource(Noun::Node, ResourceVerb::List), &[])
                        .query("limit", "50"),
                    1 => client.call(Operation::Status, &[]),
                    2 => client.call(Operation::RunList, &[]).query("limit", "10"),
                    _ => client.call(Operation::ResourceList, &[]).query("limit", "50").query("kind", "peer"),
                };
                call.send::<Value>().await.map_err(|error| error.to_string())?;
                times.push(begun.elapsed());
            }
            Ok::<_, String>(times)
        });
    }
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.extend(done??);
    }
    Ok(all)
}
