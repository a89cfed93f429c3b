//! `windlass get`.

use serde_json::Value;
use windlass_api::client::ApiCall;
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::ResourceInfo;

use super::find;
use super::remote::ServerConnection;
use crate::args::resource::GetOptions;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(options: &GetOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let noun = match options.kind.as_str() {
        "all" | "resources" => None,
        kind => Some(find::noun(kind)?),
    };
    match (noun, &options.name) {
        (Some(noun), Some(name)) => one(noun, name, remote),
        (None, Some(_)) => Err(CommandError::usage("no kind was given", "give the kind instead of `all`")),
        (noun, None) => list(noun, options, remote),
    }
}

fn one(noun: Noun, name: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::Resource(noun, ResourceVerb::Show), &[name]))?;
    let resource: ResourceInfo = find::unwrapped(&answer, noun.singular(), remote)?;
    remote.show::<Value>(&answer, |_, terminal| view::resource::one(&resource, terminal))?;
    Ok(Exit::Fine)
}

fn list(noun: Option<Noun>, options: &GetOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let (operation, key) = match noun {
        Some(noun) => (Operation::Resource(noun, ResourceVerb::List), noun.plural()),
        None => (Operation::ResourceList, "resources"),
    };
    let call = || -> ApiCall<'_> {
        let begun = remote.call(operation, &[]).query_if("q", options.query.as_ref());
        begun.query_if("repository", options.repo.as_ref())
    };
    let answer = find::pages(remote, key, options.paging.into(), call)?;
    let resources: Vec<ResourceInfo> = find::unwrapped(&answer, key, remote)?;
    remote.show::<Value>(&answer, |_, terminal| view::resource::list(&resources, terminal))?;
    find::tell_more(&answer, remote)?;
    Ok(Exit::Fine)
}
