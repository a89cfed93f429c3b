//! `windlass notify`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{DeliveryEnvelope, DeliveryList, ProviderTest};

use super::find;
use super::remote::ServerConnection;
use crate::args::notify::NotifyCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &NotifyCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        NotifyCommand::Test { provider } => {
            let answer = remote.ask(remote.call(Operation::ProviderTest, &[provider]))?;
            let tested = remote.show::<ProviderTest>(&answer, |tested, _| view::notify::tested(tested))?;
            Ok(if tested.ok { Exit::Fine } else { Exit::Problems })
        }
        NotifyCommand::Log { provider, state, paging } => {
            let state = state.map(|state| state.to_string());
            let call = || {
                remote
                    .call(Operation::DeliveryList, &[])
                    .query_if("provider", provider.as_ref())
                    .query_if("state", state.as_ref())
            };
            let answer = find::pages(remote, "notification_deliveries", (*paging).into(), call)?;
            remote.show::<DeliveryList>(&answer, |list, terminal| {
                view::notify::list(&list.notification_deliveries, terminal)
            })?;
            find::tell_more(&answer, remote)?;
            Ok(Exit::Fine)
        }
        NotifyCommand::Retry { id } => {
            let answer = remote.ask(remote.call(Operation::DeliveryRetry, &[id]))?;
            remote.show::<DeliveryEnvelope>(&answer, |envelope, _| {
                view::notify::again(&envelope.notification_delivery)
            })?;
            Ok(Exit::Fine)
        }
    }
}
