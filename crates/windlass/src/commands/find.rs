//! Which thing a word on the command line means: ids may be shortened, people and tokens named.
//!
//! Ids made in the same moment begin alike, so an end of one is as good as a beginning, and ends are what lists show.

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_api::client::ApiCall;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{ProposalInfo, ProposalList, RolloutInfo, RolloutList, RunInfo, RunList};
use windlass_core::resource::Kind;
use windlass_core::shape::nearest;

use super::remote::ServerConnection;
use crate::exit::CommandError;

/// As many as a page may have.
const PAGE: usize = 500;

/// More than an account can hold, so that a list which never ends does not fill the memory.
const MAX_PAGES: usize = 400;

/// Length of an id as it is stored.
const WHOLE_ID: usize = 36;

/// Shorter words would match by accident.
const SHORTEST: usize = 4;

/// The one id that a word stands for.
pub(super) fn resolve_id<'i>(
    word: &str,
    what: &str,
    ids: impl Iterator<Item = &'i str>,
) -> Result<Option<String>, CommandError> {
    let matches =
        |id: &&str| *id == word || (word.len() >= SHORTEST && (id.starts_with(word) || id.ends_with(word)));
    let found: Vec<&str> = ids.filter(matches).collect();
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).to_owned())),
        many => {
            let shown: Vec<&str> = many.iter().take(4).copied().collect();
            let message = format!("`{word}` matches {} {what}s", many.len());
            Err(CommandError::failed(message, format!("give more of the id: {}", shown.join(", "))))
        }
    }
}

/// The id of the proposal that a word stands for.
pub(super) fn proposal(word: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    if word.len() >= WHOLE_ID {
        return Ok(word.to_owned());
    }
    // Most often an open one is meant; the others are looked through only if none is.
    for status in [Some("open"), None] {
        let call = remote.call(Operation::ProposalList, &[]).query_if("status", status);
        let list: ProposalList = remote.get(call.query("limit", PAGE.to_string()))?;
        let ids = list.proposals.iter().map(|proposal| proposal.id.as_str());
        if let Some(id) = resolve_id(word, "proposal", ids)? {
            return Ok(id);
        }
    }
    Err(not_found("proposal", word, "`windlass proposal list` lists open proposals"))
}

/// The id of the run that a word stands for.
pub(super) fn run(word: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    if word.len() >= WHOLE_ID {
        return Ok(word.to_owned());
    }
    let call = remote.call(Operation::RunList, &[]).query("limit", PAGE.to_string());
    let list: RunList = remote.get(call)?;
    let found = resolve_id(word, "run", list.sync_runs.iter().map(|run: &RunInfo| run.id.as_str()))?;
    found.ok_or_else(|| not_found("run", word, "`windlass run list` lists runs"))
}

/// The id of the rollout that a word stands for.
pub(super) fn rollout(word: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    if word.len() >= WHOLE_ID {
        return Ok(word.to_owned());
    }
    let list: RolloutList =
        remote.get(remote.call(Operation::RolloutList, &[]).query("limit", PAGE.to_string()))?;
    let ids = list.rollouts.iter().map(|rollout: &RolloutInfo| rollout.id.as_str());
    let found = resolve_id(word, "rollout", ids)?;
    found.ok_or_else(|| not_found("rollout", word, "`windlass rollout list` lists rollouts"))
}

/// There is no such thing.
pub(super) fn not_found(what: &str, word: &str, help: &str) -> CommandError {
    CommandError::failed(format!("there is no {what} `{word}`"), help)
}

/// The kind of resource that a word stands for, as fleet.yaml or the API calls it.
pub(super) fn noun(word: &str) -> Result<Noun, CommandError> {
    let word = word.to_lowercase().replace('-', "_");
    let called = |noun: &&Noun| noun.singular() == word || noun.plural() == word;
    let found = Kind::from_word(&word).map(Noun::of).or_else(|| Noun::ALL.iter().find(called).copied());
    found.ok_or_else(|| {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
        let help = match nearest(&word, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("kinds: {}", known.join(", ")),
        };
        CommandError::usage(format!("`{word}` is not a kind of resource"), help)
    })
}

/// How much of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageLimit {
    /// This many.
    First(usize),
    /// However many there are.
    All,
}

impl From<crate::args::paging::Paging> for PageLimit {
    fn from(paging: crate::args::paging::Paging) -> PageLimit {
        if paging.all { PageLimit::All } else { PageLimit::First(usize::from(paging.limit)) }
    }
}

/// As much of a list as is wanted, page after page, as one answer. `call` begins each page.
pub(super) fn pages<'r>(
    remote: &'r ServerConnection,
    key: &str,
    amount: PageLimit,
    call: impl Fn() -> ApiCall<'r>,
) -> Result<Value, CommandError> {
    let wanted = match amount {
        PageLimit::First(count) => count.clamp(1, PAGE),
        PageLimit::All => PAGE,
    };
    let page = |cursor: Option<&str>| {
        remote.ask(call().query("limit", wanted.to_string()).query_if("cursor", cursor))
    };
    let mut answer = page(None)?;
    let more = if amount == PageLimit::All { MAX_PAGES } else { 0 };
    for _ in 0..more {
        let Some(cursor) = next_cursor(&answer) else { break };
        let mut next = page(Some(&cursor))?;
        if let (Some(Value::Array(all)), Some(Value::Array(more))) = (answer.get_mut(key), next.get_mut(key))
        {
            all.append(more);
        }
        answer["meta"] = next["meta"].take();
    }
    Ok(answer)
}

/// Where a list goes on.
pub(super) fn next_cursor(answer: &Value) -> Option<String> {
    answer["meta"]["next_cursor"].as_str().map(str::to_owned)
}

/// Says that a list goes on, if it does.
pub(super) fn tell_more(answer: &Value, remote: &ServerConnection) -> Result<(), CommandError> {
    if remote.is_for_people() && next_cursor(answer).is_some() {
        crate::view::note("… more not shown: use -n COUNT or --all")?;
    }
    Ok(())
}

/// The object of an answer, which stands under its name.
pub(super) fn unwrapped<T: DeserializeOwned>(
    answer: &Value,
    key: &str,
    remote: &ServerConnection,
) -> Result<T, CommandError> {
    remote.read(answer.get(key).unwrap_or(answer))
}

/// Proposals by id, as they are now.
pub(super) fn proposals(
    ids: &[String],
    remote: &ServerConnection,
) -> Result<Vec<ProposalInfo>, CommandError> {
    let show = |word: &String| {
        let id = proposal(word, remote)?;
        let envelope: windlass_api::types::ProposalEnvelope =
            remote.get(remote.call(Operation::ProposalShow, &[&id]))?;
        Ok(envelope.proposal)
    };
    ids.iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] = [
        "0193a1b2-0000-7000-8000-00000000aaaa",
        "0193a1b2-0000-7000-8000-00000000bbbb",
        "0193ffff-0000-7000-8000-00000000cccc",
    ];

    #[test]
    fn an_id_may_be_shortened_to_a_beginning_or_end_that_no_other_has() {
        let found = |word| resolve_id(word, "proposal", IDS.into_iter());
        assert_eq!(found("0193ff").unwrap().as_deref(), Some(IDS[2]));
        assert_eq!(found("bbbb").unwrap().as_deref(), Some(IDS[1]));
        assert_eq!(found("dddd").unwrap(), None);
        assert_eq!(found("a").unwrap(), None);
        assert!(found("0193a1b2").is_err());
    }

    #[test]
    fn kinds_are_known_as_fleet_yaml_and_as_the_api_call_them() {
        for word in ["node", "nodes", "node_templates", "template", "virtual-ip", "virtual_ips", "Bundle"] {
            assert!(noun(word).is_ok(), "{word}");
        }
        let Err(CommandError::Usage { help, .. }) = noun("nods") else { panic!("that is no kind") };
        assert_eq!(help, "did you mean `node`?");
    }
}
