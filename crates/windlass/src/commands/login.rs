//! `windlass login`, `logout` and `whoami`.

use std::io::BufRead as _;

use serde_json::Value;
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{LoginBody, Me, PasswordBody, Session};
use windlass_core::redacted::Redacted;

use super::remote::ServerConnection;
use super::server_address::ServerAddress;
use super::sign_in_store::{Credentials, NewSignIn};
use super::{call_error, confirm};
use crate::args::access::LoginOptions;
use crate::args::server::{Output, ServerOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// Where passwords come from.
enum PasswordInput {
    Asked,
    /// Lines of standard input, in order.
    Given(std::vec::IntoIter<String>),
}

pub(super) fn login(
    options: &LoginOptions,
    server: ServerOptions,
    terminal: Terminal,
) -> Result<Exit, CommandError> {
    let mut credentials = Credentials::load()?;
    let named = options.url.clone().or(server.server);
    let destination = ServerAddress::of(named, options.ca_file.as_deref(), &credentials)?;
    let address = &destination.address;
    let mut passwords = PasswordInput::open(options)?;
    let email = match &options.email {
        Some(email) => email.clone(),
        None if confirm::is_interactive() => confirm::line(&format!("E-mail address at {address}: "))?,
        None => return Err(CommandError::usage("no e-mail address was given", "add --email ADDRESS")),
    };
    let output = server.output.unwrap_or_default();
    let account = server.account.as_deref();
    let at = SignInFlow { destination: &destination, email: &email, account, output, terminal };
    let password = passwords.next("Password: ")?;
    let mut session = at.sign_in(&password)?;
    if session.me.must_change_password {
        let new = at.change_password(&session, &password, &mut passwords)?;
        session = at.sign_in(&new)?;
    }
    let token = Redacted::new(std::mem::take(&mut session.token));
    credentials.remember(&NewSignIn {
        server: address,
        token: &token,
        email: &session.me.email,
        account: &session.me.account_name,
        expires_at: &session.expires_at,
        ca_file: destination.ca_file(),
    });
    credentials.save()?;
    let remote = ServerConnection::with(&destination, Some(token), output, terminal)?;
    let me = serde_json::to_value(&session.me).unwrap_or(Value::Null);
    remote.show::<Me>(&me, |me, _| view::access::welcome(me, address, &session.expires_at))?;
    Ok(Exit::Fine)
}

impl PasswordInput {
    fn open(options: &LoginOptions) -> Result<PasswordInput, CommandError> {
        if !options.password_stdin {
            return Ok(PasswordInput::Asked);
        }
        let lines: Result<Vec<String>, _> = std::io::stdin().lock().lines().take(2).collect();
        let lines = lines.map_err(|error| {
            CommandError::failed("could not read standard input", "it must be UTF-8 text").because(error)
        })?;
        Ok(PasswordInput::Given(lines.into_iter()))
    }

    fn next(&mut self, question: &str) -> Result<Redacted<String>, CommandError> {
        match self {
            PasswordInput::Asked => confirm::secret(question),
            PasswordInput::Given(lines) => lines.next().map(Redacted::new).ok_or_else(|| {
                let help =
                    "write the password on one line; after a one-time password, the new one on a second line";
                CommandError::usage("standard input has no password", help)
            }),
        }
    }

    /// A new password: typed twice where nobody sees what is typed.
    fn next_new(&mut self) -> Result<Redacted<String>, CommandError> {
        if let PasswordInput::Given(_) = self {
            return self.next("");
        }
        let new = confirm::secret("New password, at least 12 characters: ")?;
        match confirm::secret("Repeat the new password: ")? == new {
            true => Ok(new),
            false => Err(CommandError::failed("the passwords do not match", "run `windlass login` again")),
        }
    }
}

/// Where someone signs in.
struct SignInFlow<'d> {
    destination: &'d ServerAddress,
    email: &'d str,
    account: Option<&'d str>,
    output: Output,
    terminal: Terminal,
}

impl SignInFlow<'_> {
    fn sign_in(&self, password: &Redacted<String>) -> Result<Session, CommandError> {
        let remote = ServerConnection::with(self.destination, None, self.output, self.terminal)?;
        let body = LoginBody {
            email: self.email.to_owned(),
            password: password.expose().clone(),
            account: self.account.map(str::to_owned),
        };
        let answer = remote.block_on(remote.call(Operation::Login, &[]).body(&body).send());
        answer.map_err(|error| match error {
            // Here 401 does not mean that someone should sign in first.
            ClientError::Refused { body, .. } => CommandError::Refused(Box::new(body)),
            other => call_error::call_error(other, &self.destination.address),
        })
    }

    fn change_password(
        &self,
        session: &Session,
        current: &Redacted<String>,
        passwords: &mut PasswordInput,
    ) -> Result<Redacted<String>, CommandError> {
        view::note("That was a one-time password. Choose a new one.")?;
        let new = passwords.next_new()?;
        let token = Redacted::new(session.token.clone());
        let remote = ServerConnection::with(self.destination, Some(token), self.output, self.terminal)?;
        let body =
            PasswordBody { current_password: current.expose().clone(), new_password: new.expose().clone() };
        remote.text(remote.call(Operation::Password, &[]).body(&body))?;
        Ok(new)
    }
}

pub(super) fn logout(server: ServerOptions, terminal: Terminal) -> Result<Exit, CommandError> {
    let mut credentials = Credentials::load()?;
    let destination = ServerAddress::of(server.server, None, &credentials)?;
    let address = &destination.address;
    let Some(token) = credentials.token(address) else {
        view::line(&format!("not signed in to {address}"))?;
        return Ok(Exit::Fine);
    };
    credentials.forget(address);
    credentials.save()?;
    let remote = ServerConnection::with(&destination, Some(token), Output::Human, terminal)?;
    // The sign-in is forgotten here whatever the server says; it may know it no longer, or not be there.
    match remote.text(remote.call(Operation::Logout, &[])) {
        Ok(_) => view::line(&format!("signed out of {address}"))?,
        Err(_) => {
            view::line(&format!("deleted the session of {address}, but the server did not confirm its end"))?;
        }
    }
    Ok(Exit::Fine)
}

pub(super) fn whoami(remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::Me, &[]))?;
    remote.show::<Me>(&answer, |me, _| view::access::me(me, remote.client.server()))?;
    Ok(Exit::Fine)
}
