//! `windlass login`, `logout` and `whoami`.

use std::io::BufRead as _;

use serde_json::Value;
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{LoginBody, Me, PasswordBody, Session};
use windlass_core::redacted::Redacted;

use super::credentials::{Credentials, SignIn};
use super::destination::Destination;
use super::remote::Remote;
use super::{confirm, refusal};
use crate::args::access::LoginOptions;
use crate::args::server::{Output, ServerOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// Where passwords come from.
enum Passwords {
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
    let destination = Destination::of(named, options.ca_file.as_deref(), &credentials)?;
    let address = &destination.address;
    let mut passwords = Passwords::open(options)?;
    let email = match &options.email {
        Some(email) => email.clone(),
        None if confirm::is_someone_there() => confirm::line(&format!("E-mail address at {address}: "))?,
        None => return Err(CommandError::usage("whose sign-in is it?", "add --email ADDRESS")),
    };
    let output = server.output.unwrap_or_default();
    let account = server.account.as_deref();
    let at = Door { destination: &destination, email: &email, account, output, terminal };
    let password = passwords.next("Password: ")?;
    let mut session = at.enter(&password)?;
    if session.me.must_change_password {
        let new = at.change_password(&session, &password, &mut passwords)?;
        session = at.enter(&new)?;
    }
    let token = Redacted::new(std::mem::take(&mut session.token));
    credentials.remember(&SignIn {
        server: address,
        token: &token,
        email: &session.me.email,
        account: &session.me.account_name,
        expires_at: &session.expires_at,
        ca_file: destination.ca_file(),
    });
    credentials.save()?;
    let remote = Remote::with(&destination, Some(token), output, terminal)?;
    let me = serde_json::to_value(&session.me).unwrap_or(Value::Null);
    remote.show::<Me>(&me, |me, _| view::access::welcome(me, address, &session.expires_at))?;
    Ok(Exit::Fine)
}

impl Passwords {
    fn open(options: &LoginOptions) -> Result<Passwords, CommandError> {
        if !options.password_stdin {
            return Ok(Passwords::Asked);
        }
        let lines: Result<Vec<String>, _> = std::io::stdin().lock().lines().take(2).collect();
        let lines = lines.map_err(|error| {
            CommandError::told(format!("could not read standard input: {error}"), "it must be UTF-8 text")
        })?;
        Ok(Passwords::Given(lines.into_iter()))
    }

    fn next(&mut self, question: &str) -> Result<Redacted<String>, CommandError> {
        match self {
            Passwords::Asked => confirm::secret(question),
            Passwords::Given(lines) => lines.next().map(Redacted::new).ok_or_else(|| {
                let help = "one line with the password; for a one-time password, a second with the new one";
                CommandError::usage("standard input ended before a password", help)
            }),
        }
    }

    /// A new password: typed twice where nobody sees what is typed.
    fn next_new(&mut self) -> Result<Redacted<String>, CommandError> {
        if let Passwords::Given(_) = self {
            return self.next("");
        }
        let new = confirm::secret("New password, at least 12 characters: ")?;
        match confirm::secret("The same again: ")? == new {
            true => Ok(new),
            false => Err(CommandError::told("the two are not the same", "run `windlass login` again")),
        }
    }
}

/// Where someone signs in.
struct Door<'d> {
    destination: &'d Destination,
    email: &'d str,
    account: Option<&'d str>,
    output: Output,
    terminal: Terminal,
}

impl Door<'_> {
    fn enter(&self, password: &Redacted<String>) -> Result<Session, CommandError> {
        let remote = Remote::with(self.destination, None, self.output, self.terminal)?;
        let body = LoginBody {
            email: self.email.to_owned(),
            password: password.expose().clone(),
            account: self.account.map(str::to_owned),
        };
        let answer = remote.block_on(remote.call(Operation::Login, &[]).body(&body).send());
        answer.map_err(|error| match error {
            // Here 401 does not mean that someone should sign in first.
            ClientError::Refused { body, .. } => CommandError::Refused(Box::new(body)),
            other => refusal::told(other, &self.destination.address),
        })
    }

    fn change_password(
        &self,
        session: &Session,
        current: &Redacted<String>,
        passwords: &mut Passwords,
    ) -> Result<Redacted<String>, CommandError> {
        view::note("That was a one-time password: choose one of your own.")?;
        let new = passwords.next_new()?;
        let token = Redacted::new(session.token.clone());
        let remote = Remote::with(self.destination, Some(token), self.output, self.terminal)?;
        let body =
            PasswordBody { current_password: current.expose().clone(), new_password: new.expose().clone() };
        remote.text(remote.call(Operation::Password, &[]).body(&body))?;
        Ok(new)
    }
}

pub(super) fn logout(server: ServerOptions, terminal: Terminal) -> Result<Exit, CommandError> {
    let mut credentials = Credentials::load()?;
    let destination = Destination::of(server.server, None, &credentials)?;
    let address = &destination.address;
    let Some(token) = credentials.token(address) else {
        view::line(&format!("not signed in to {address}"))?;
        return Ok(Exit::Fine);
    };
    credentials.forget(address);
    credentials.save()?;
    let remote = Remote::with(&destination, Some(token), Output::Human, terminal)?;
    // The sign-in is forgotten here whatever the server says; it may know it no longer, or not be there.
    match remote.text(remote.call(Operation::Logout, &[])) {
        Ok(_) => view::line(&format!("signed out of {address}"))?,
        Err(_) => view::line(&format!("forgot {address}, which did not confirm that the session ended"))?,
    }
    Ok(Exit::Fine)
}

pub(super) fn whoami(remote: &Remote) -> Result<Exit, CommandError> {
    let answer = remote.ask(remote.call(Operation::Me, &[]))?;
    remote.show::<Me>(&answer, |me, _| view::access::me(me, remote.client.server()))?;
    Ok(Exit::Fine)
}
