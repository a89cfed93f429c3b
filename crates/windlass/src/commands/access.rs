//! `windlass token` and `account`.

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    AccountBody, AccountEnvelope, AccountList, Me, TokenBody, TokenCreated, TokenList,
};

use super::find;
use super::remote::ServerConnection;
use crate::args::access::{AccountCommand, TokenCommand};
use crate::exit::{CommandError, Exit};
use crate::view;

pub(super) fn token(command: &TokenCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        TokenCommand::Create { name, permissions, purpose, days } => {
            let mut permissions = permissions.clone();
            if let Some(purpose) = purpose {
                let me: Me = remote.get(remote.call(Operation::Me, &[]))?;
                let taken = purpose.permissions().iter().filter(|wanted| me.permissions.contains(wanted));
                permissions.extend(taken);
            }
            let body = TokenBody { name: name.clone(), permissions, expires_in_days: *days };
            let answer = remote.ask(remote.call(Operation::TokenCreate, &[]).body(&body))?;
            remote.show::<TokenCreated>(&answer, |created, _| view::access::token_created(created))?;
        }
        TokenCommand::List => {
            let answer = remote.ask(remote.call(Operation::TokenList, &[]))?;
            remote
                .show::<TokenList>(&answer, |list, terminal| view::access::tokens(&list.tokens, terminal))?;
        }
        TokenCommand::Revoke { which } => {
            let id = token_id(which, remote)?;
            remote.text(remote.call(Operation::TokenRevoke, &[&id]))?;
            remote.print_message(&format!("revoked {which}"))?;
        }
    }
    Ok(Exit::Fine)
}

/// The id of a token that is named by its name or a part of its id.
fn token_id(word: &str, remote: &ServerConnection) -> Result<String, CommandError> {
    let list: TokenList = remote.get(remote.call(Operation::TokenList, &[]))?;
    let valid = || list.tokens.iter().filter(|token| token.revoked_at.is_none());
    let named: Vec<&str> =
        valid().filter(|token| token.name == word).map(|token| token.id.as_str()).collect();
    match named.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => find::resolve_id(word, "token", valid().map(|token| token.id.as_str()))?
            .ok_or_else(|| find::not_found("token", word, "`windlass token list` lists tokens")),
        many => {
            let message = format!("{} tokens have the name `{word}`", many.len());
            Err(CommandError::failed(message, format!("use the id: {}", many.join(", "))))
        }
    }
}

pub(super) fn account(command: &AccountCommand, remote: &ServerConnection) -> Result<Exit, CommandError> {
    match command {
        AccountCommand::List => {
            let answer = remote.ask(remote.call(Operation::AccountList, &[]))?;
            remote.show::<AccountList>(&answer, |list, terminal| {
                view::access::accounts(&list.accounts, terminal)
            })?;
        }
        AccountCommand::Create { name } => {
            let body = AccountBody { name: name.clone() };
            let answer = remote.ask(remote.call(Operation::AccountCreate, &[]).body(&body))?;
            remote.show::<AccountEnvelope>(&answer, |envelope, _| {
                view::access::account_created(&envelope.account, remote.client.server())
            })?;
        }
    }
    Ok(Exit::Fine)
}
