//! `windlass invitation`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{InvitationList, JoinedAccount, ReceivedInvitationList};

use super::find;
use super::remote::ServerConnection;
use crate::args::access::InvitationCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &InvitationCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        InvitationCommand::List => {
            let answer = remote.ask(remote.call(Operation::ReceivedInvitationList, &[]))?;
            remote.show::<ReceivedInvitationList>(&answer, |list, terminal| {
                view::access::received_invitations(&list.invitations, terminal)
            })?;
        }
        InvitationCommand::Accept { which } => {
            let id = received(which, remote)?;
            let answer = remote.ask(remote.call(Operation::InvitationAccept, &[&id]))?;
            remote.show::<JoinedAccount>(&answer, |joined, _| view::access::joined(joined))?;
        }
        InvitationCommand::Decline { which } => {
            let id = received(which, remote)?;
            remote.text(remote.call(Operation::InvitationDecline, &[&id]))?;
            remote.print_message(&format!("declined the invitation to {which}"))?;
        }
        InvitationCommand::Sent => {
            let answer = remote.ask(remote.call(Operation::InvitationList, &[]))?;
            remote.show::<InvitationList>(&answer, |list, terminal| {
                view::access::invitations(&list.invitations, terminal)
            })?;
        }
        InvitationCommand::Revoke { email } => {
            let list: InvitationList = remote.get(remote.call(Operation::InvitationList, &[]))?;
            let found =
                list.invitations.iter().find(|it| it.email.eq_ignore_ascii_case(email) || it.id == *email);
            let help = "`windlass invitation sent` lists the account's invitations";
            let id =
                found.map(|it| it.id.clone()).ok_or_else(|| find::not_found("invitation", email, help))?;
            remote.text(remote.call(Operation::InvitationRevoke, &[&id]))?;
            remote.print_message(&format!("revoked the invitation of {email}"))?;
        }
    }
    Ok(Exit::Fine)
}

/// The id of the invitation to an account.
fn received(account: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    let list: ReceivedInvitationList = remote.get(remote.call(Operation::ReceivedInvitationList, &[]))?;
    let found = list.invitations.iter().find(|it| it.account == account || it.id == account);
    let help = "`windlass invitation list` lists your invitations";
    found.map(|it| it.id.clone()).ok_or_else(|| find::not_found("invitation", account, help))
}
