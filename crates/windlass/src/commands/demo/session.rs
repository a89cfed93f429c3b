//! The demo's own sign-in to its server. It uses the API like any other client.

use std::io::Write as _;
use std::path::Path;

use windlass_api::client::{Client, ClientError};
use windlass_api::endpoint::Operation;
use windlass_api::types::{LoginBody, PasswordBody, Session};
use windlass_core::redacted::Redacted;
use windlass_server::FirstLogin;

use crate::exit::CommandError;

pub(super) const ACCOUNT: &str = "acme";
pub(super) const EMAIL: &str = "admin@acme.test";

/// The file in the demo's directory, readable by its owner alone, with which a later demo signs in.
const PASSWORD_FILE: &str = "password";
/// What the demo's password has before the one-time password that it replaces.
const CHOSEN: &str = "demo-";

/// A signed-in demo.
pub(super) struct DemoSession {
    server: String,
    pub(super) password: Redacted<String>,
    pub(super) token: Redacted<String>,
    pub(super) client: Client,
}

impl DemoSession {
    /// Signs in at the first start, or with the password of an earlier demo. `None` if that password is not known here.
    pub(super) async fn open(
        server: &str,
        first: Option<&FirstLogin>,
        directory: &Path,
    ) -> Result<Option<DemoSession>, CommandError> {
        let path = directory.join(PASSWORD_FILE);
        let client = Client::new(server, None).map_err(failed)?;
        let (password, signed_in) = match first {
            Some(login) => {
                let password = Redacted::new(format!("{CHOSEN}{}", login.password.expose()));
                // Before the password is changed: a demo that is killed in between can be continued.
                store_password(&path, &password)?;
                let signed_in = choose_password(server, &client, &password).await;
                (password, signed_in)
            }
            None => {
                let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
                let password = Redacted::new(text.trim().to_owned());
                let signed_in = match login(&client, &password).await {
                    Err(error) if is_unauthorized(&error) => {
                        choose_password(server, &client, &password).await
                    }
                    result => result,
                };
                (password, signed_in)
            }
        };
        match signed_in {
            Ok(session) => DemoSession::new(server, password, session).map(Some),
            Err(error) if is_unauthorized(&error) && first.is_none() => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn new(server: &str, password: Redacted<String>, session: Session) -> Result<DemoSession, CommandError> {
        let token = Redacted::new(session.token);
        let client = Client::new(server, Some(token.clone())).map_err(failed)?;
        Ok(DemoSession { server: server.to_owned(), password, token, client })
    }

    /// Signs in again: a session ends after some hours.
    pub(super) async fn renew(&mut self) -> Result<(), ClientError> {
        let session = login(&Client::new(&self.server, None)?, &self.password).await?;
        self.token = Redacted::new(session.token);
        self.client = Client::new(&self.server, Some(self.token.clone()))?;
        Ok(())
    }
}

pub(super) fn failed(error: ClientError) -> CommandError {
    CommandError::failed("the demo failed", "see the log above").because(error)
}

/// Whether the server does not know who asks.
pub(super) fn is_unauthorized(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status: 401, .. })
}

/// Replaces the one-time password by the demo's, and signs in.
async fn choose_password(
    server: &str,
    client: &Client,
    password: &Redacted<String>,
) -> Result<Session, ClientError> {
    let once = Redacted::new(password.expose().strip_prefix(CHOSEN).unwrap_or_default().to_owned());
    let first = login(client, &once).await?;
    let change =
        PasswordBody { current_password: once.expose().clone(), new_password: password.expose().clone() };
    let signed_in = Client::new(server, Some(Redacted::new(first.token)))?;
    signed_in.call(Operation::Password, &[]).body(&change).send_text().await?;
    login(client, password).await
}

async fn login(client: &Client, password: &Redacted<String>) -> Result<Session, ClientError> {
    let body = LoginBody {
        email: EMAIL.to_owned(),
        password: password.expose().clone(),
        account: Some(ACCOUNT.to_owned()),
    };
    client.call(Operation::Login, &[]).body(&body).send().await
}

fn store_password(path: &Path, password: &Redacted<String>) -> Result<(), CommandError> {
    let write = || {
        let directory = path.parent().unwrap_or(Path::new("."));
        // A temporary file is made for its owner alone, and stays so under its new name.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        writeln!(file, "{}", password.expose())?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error: std::io::Error| {
        CommandError::failed(format!("cannot write {}", path.display()), "choose another --dir")
            .because(error)
    })
}
