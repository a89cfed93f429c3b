//! `windlass events`: what happened, and what happens.

use std::time::Duration;

use windlass_api::client::{ApiCall, ClientError};
use windlass_api::endpoint::Operation;
use windlass_api::types::{EventInfo, EventList, RepositoryEnvelope};
use windlass_core::display::error_chain;

use super::find;
use super::remote::ServerConnection;
use super::stream::SseParser;
use crate::args::resource::EventsOptions;
use crate::args::server::Output;
use crate::exit::{CommandError, Exit};
use crate::view;

/// The first wait before connecting again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LAST_PAUSE: Duration = Duration::from_secs(15);

/// A stream has no end, but a connection that nobody could notice to be dead must not last for ever.
const STREAM_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Which events are wanted.
struct EventFilterArgs {
    kind: Option<String>,
    run: Option<String>,
    repository: Option<String>,
    resource: Option<(String, String)>,
}

pub(super) fn run(options: &EventsOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let filter = EventFilterArgs::of(options, remote)?;
    if !options.follow {
        let answer =
            remote.ask(filter.list(remote).query("limit", options.limit.clamp(1, 500).to_string()))?;
        remote.show::<EventList>(&answer, |list, terminal| {
            view::event::list(list.fleet_events.iter().rev(), terminal)
        })?;
        return Ok(Exit::Fine);
    }
    // Asked before the list: what happens in between is in the list or in the stream, and seen once.
    let newest: EventList = remote.get(remote.call(Operation::EventList, &[]).query("limit", "1"))?;
    let mut last = newest.fleet_events.first().map_or(0, |event| event.seq);
    if options.limit > 0 {
        let call = filter.list(remote).query("limit", options.limit.clamp(1, 500).to_string());
        let past: EventList = remote.get(call)?;
        for event in past.fleet_events.iter().rev() {
            print(event, remote)?;
            last = last.max(event.seq);
        }
    }
    follow(last, &filter, remote)
}

impl EventFilterArgs {
    fn of(options: &EventsOptions, remote: &ServerConnection) -> Result<EventFilterArgs, CommandError> {
        let run = options.run.as_deref().map(|word| find::run(word, remote)).transpose()?;
        let repository = match &options.repo {
            Some(repo) => {
                let found: RepositoryEnvelope =
                    remote.get(remote.call(Operation::RepositoryShow, &[repo]))?;
                Some(found.gitops_repository.id)
            }
            None => None,
        };
        let resource = match &options.resource {
            Some(text) => {
                let help = "write for example `node/edge-tokyo-01`";
                let parts = text.split_once('/');
                let (kind, name) =
                    parts.ok_or_else(|| CommandError::usage("a resource must be KIND/NAME", help))?;
                Some((find::noun(kind)?.kind().slug().to_owned(), name.to_owned()))
            }
            None => None,
        };
        Ok(EventFilterArgs { kind: options.kind.clone(), run, repository, resource })
    }

    fn list<'r>(&self, remote: &'r ServerConnection) -> ApiCall<'r> {
        let resource = self.resource.as_ref().map(|(kind, name)| format!("{kind}/{name}"));
        remote
            .call(Operation::EventList, &[])
            .query_if("kind", self.kind.as_ref())
            .query_if("run", self.run.as_ref())
            .query_if("repository", self.repository.as_ref())
            .query_if("resource", resource)
    }

    /// The stream is filtered by kind alone; the rest is looked at here.
    fn matches(&self, event: &EventInfo) -> bool {
        let is = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let is_resource = self.resource.as_ref().is_none_or(|(kind, name)| {
            event.resource_kind.as_ref() == Some(kind) && event.resource_name.as_ref() == Some(name)
        });
        is(&self.run, &event.correlation_id) && is(&self.repository, &event.repository_id) && is_resource
    }
}

/// Why a connection ended.
enum StreamEnd {
    /// It may be taken up again.
    Lost(String),
    /// It may not.
    For(CommandError),
}

fn follow(mut last: i64, filter: &EventFilterArgs, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let mut pause = FIRST_PAUSE;
    loop {
        let before = last;
        let ended = remote.block_on(listen(&mut last, filter, remote));
        let reason = match ended {
            StreamEnd::Lost(reason) => reason,
            StreamEnd::For(error) => return Err(error),
        };
        if last > before {
            pause = FIRST_PAUSE;
        }
        view::note(&format!("… {reason}; reconnecting after event {last}"))?;
        remote.pause(pause);
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Prints events as they come. `last` is the number of the last one that was seen, whatever happens.
async fn listen(last: &mut i64, filter: &EventFilterArgs, remote: &ServerConnection) -> StreamEnd {
    let number = last.to_string();
    let call = remote
        .call(Operation::EventStream, &[])
        .query("after", &number)
        .query_if("kind", filter.kind.as_ref())
        .header("last-event-id", &number)
        .header("accept", "text/event-stream")
        .timeout(STREAM_TIMEOUT);
    let mut response = match call.send_response().await {
        Ok(response) => response,
        Err(ClientError::Refused { status: 429 | 500.., body }) => return StreamEnd::Lost(body.message),
        Err(error @ ClientError::Unreachable { .. }) => return StreamEnd::Lost(error_chain(&error)),
        Err(error) => return StreamEnd::For(remote.call_error(error)),
    };
    let mut parser = SseParser::default();
    loop {
        let messages = match response.chunk().await {
            Ok(Some(bytes)) => parser.take(&bytes),
            Ok(None) => return StreamEnd::Lost("the server closed the stream".to_owned()),
            Err(_) => return StreamEnd::Lost("the connection was lost".to_owned()),
        };
        let Ok(messages) = messages else {
            return StreamEnd::Lost("the server sent an invalid event".to_owned());
        };
        for message in messages {
            let event = serde_json::from_str::<EventInfo>(&remote.hide(message.data));
            // What has no number, or one that was seen, was told already or is nothing to tell.
            let Some(event) = event.ok().filter(|event| event.seq > *last) else { continue };
            *last = event.seq;
            if filter.matches(&event)
                && let Err(error) = print(&event, remote)
            {
                return StreamEnd::For(error);
            }
        }
    }
}

fn print(event: &EventInfo, remote: &ServerConnection) -> Result<(), CommandError> {
    match remote.output() {
        Output::Human => view::event::line(event)?,
        Output::Json => view::json::line(event)?,
        Output::Yaml => view::yaml::one_of_many(&serde_json::to_value(event).unwrap_or_default())?,
    }
    Ok(())
}
