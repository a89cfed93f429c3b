//! `windlass user`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{UserAdded, UserBody, UserCreated, UserList, UserPatch};

use super::confirm::{ConfirmAnswer, confirm};
use super::find;
use super::remote::ServerConnection;
use crate::args::access::UserCommand;
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn run(command: &UserCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        UserCommand::Add { email, name, role } => {
            let body = UserBody { email: email.clone(), name: name.clone(), role: *role };
            let answer = remote.ask(remote.call(Operation::UserCreate, &[]).body(&body))?;
            remote.show::<UserAdded>(&answer, |added, _| view::access::user_added(added))?;
            Ok(Exit::Fine)
        }
        UserCommand::List => {
            let answer = remote.ask(remote.call(Operation::UserList, &[]))?;
            remote.show::<UserList>(&answer, |list, terminal| view::access::users(&list.users, terminal))?;
            Ok(Exit::Fine)
        }
        UserCommand::SetRole { email, role } => {
            patch(email, &UserPatch { role: Some(*role), ..UserPatch::default() }, remote)
        }
        UserCommand::Disable { email } => {
            patch(email, &UserPatch { disabled: Some(true), ..UserPatch::default() }, remote)
        }
        UserCommand::Enable { email } => {
            patch(email, &UserPatch { disabled: Some(false), ..UserPatch::default() }, remote)
        }
        UserCommand::ResetPassword { email, keep_tokens } => {
            let body = UserPatch { reset_password: true, keep_tokens: *keep_tokens, ..UserPatch::default() };
            patch(email, &body, remote)
        }
        UserCommand::Remove { email, yes } => {
            let id = user_id(email, remote)?;
            if confirm(&format!("Remove {email} from the account?"), (*yes).into())? == ConfirmAnswer::Refused
            {
                return Ok(Exit::Problems);
            }
            remote.text(remote.call(Operation::UserRemove, &[&id]))?;
            remote.print_message(&format!("removed {email}"))?;
            Ok(Exit::Fine)
        }
    }
}

fn patch(email: &str, body: &UserPatch, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let id = user_id(email, remote)?;
    let answer = remote.ask(remote.call(Operation::UserPatch, &[&id]).body(body))?;
    remote.show::<UserCreated>(&answer, |changed, _| view::access::user_changed(changed))?;
    Ok(Exit::Fine)
}

fn user_id(email: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    let list: UserList = remote.get(remote.call(Operation::UserList, &[]))?;
    let found = list.users.iter().find(|user| user.email.eq_ignore_ascii_case(email) || user.id == email);
    let id = found.map(|user| user.id.clone());
    id.ok_or_else(|| find::not_found("user", email, "`windlass user list` lists the account's users"))
}
