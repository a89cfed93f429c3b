//! A connection to systemd: the calls that the agent makes, and waiting for jobs.
//!
//! Messages of zbus are asynchronous; each connection has a small runtime of its own, which runs only during a call.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use windlass_core::secret;
use zbus::message::{Body, Message, Type};
use zbus::zvariant::{DynamicType, OwnedObjectPath, OwnedValue, Value};
use zbus::{Connection, MatchRule, MessageStream};

use crate::target::host::command;

/// How long systemd may take to answer a call. Reading all unit files again takes seconds on a large, busy machine.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Signals that wait while a call is under way. A package upgrade ends a few jobs at once.
const MAX_QUEUED: usize = 4096;

/// The lines of the journal that an error shows.
const SHOWN_LINES: &str = "10";

/// How long the journal may be searched for them.
const JOURNAL_LIMIT: Duration = Duration::from_secs(10);

const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE: &str = "org.freedesktop.systemd1.Service";

/// The socket of systemd itself, for machines without a message bus.
const PRIVATE_SOCKET: &str = "/run/systemd/private";
const BUS_SOCKETS: &[&str] = &["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"];

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BusError {
    /// There is no connection, or it broke.
    #[error("cannot talk to systemd: {0}")]
    Connection(String),
    /// systemd refused.
    #[error("{message}")]
    Refused {
        /// The name of the error.
        name: String,
        message: String,
    },
    /// systemd did not answer in time.
    #[error("systemd did not answer within {} s", .0.as_secs())]
    Silence(Duration),
}

impl From<zbus::Error> for BusError {
    fn from(error: zbus::Error) -> BusError {
        match error {
            zbus::Error::MethodError(name, message, _) => {
                let message = message.unwrap_or_else(|| name.to_string());
                BusError::Refused { name: name.to_string(), message }
            }
            other => BusError::Connection(other.to_string()),
        }
    }
}

/// What systemd says about a unit.
#[derive(Debug)]
pub(super) struct UnitState {
    pub(super) active: String,
    pub(super) sub: String,
    /// The state of the unit file; `None` if there is no such file.
    pub(super) file: Option<String>,
}

/// One element of the answer of `ListUnitsByNames`.
type ListedUnit =
    (String, String, String, String, String, String, OwnedObjectPath, u32, String, OwnedObjectPath);

/// A connection.
#[derive(Debug)]
pub(super) struct Bus {
    connection: Connection,
    /// `None` if the connection leads to systemd without a bus in between.
    destination: Option<&'static str>,
    /// Taken when the connection is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Bus {
    fn drop(&mut self) {
        // A runtime that waits for its end must not be dropped inside of another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Bus {
    pub(super) fn connect() -> Result<Bus, BusError> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| BusError::Connection(error.to_string()))?;
        let has_bus = BUS_SOCKETS.iter().any(|socket| Path::new(socket).exists());
        let destination = (has_bus || !Path::new(PRIVATE_SOCKET).exists()).then_some(SYSTEMD);
        let connecting = async {
            match destination {
                Some(_) => zbus::connection::Builder::system()?.build().await,
                None => {
                    let address = format!("unix:path={PRIVATE_SOCKET}");
                    zbus::connection::Builder::address(address.as_str())?.p2p().build().await
                }
            }
        };
        let connection = runtime.block_on(async { timeout(CALL_LIMIT, connecting).await });
        let connection = connection.map_err(|_| BusError::Silence(CALL_LIMIT))??;
        Ok(Bus { connection, destination, runtime: Some(runtime) })
    }

    /// Runs to the end, in at most this time.
    fn block_on<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, BusError>>,
    ) -> Result<T, BusError> {
        let runtime =
            self.runtime.as_ref().expect("the runtime is taken only when the connection is dropped");
        runtime.block_on(async { timeout(limit, work).await }).map_err(|_| BusError::Silence(limit))?
    }

    async fn call<B>(&self, method: &str, body: &B) -> Result<Body, BusError>
    where
        B: serde::Serialize + DynamicType,
    {
        let answer =
            self.connection.call_method(self.destination, MANAGER_PATH, Some(MANAGER), method, body).await?;
        Ok(answer.body())
    }

    /// The state of a unit.
    pub(super) fn unit(&self, unit: &str) -> Result<UnitState, BusError> {
        self.block_on(CALL_LIMIT, async {
            let body = self.call("ListUnitsByNames", &(vec![unit],)).await?;
            let listed: Vec<ListedUnit> = body.deserialize()?;
            let (name, _, _, active, sub, ..) = listed
                .into_iter()
                .next()
                .ok_or_else(|| BusError::Connection("the answer does not contain the unit".to_owned()))?;
            // The name of the unit itself: an alias has no state of its own.
            let file = match self.call("GetUnitFileState", &(name.as_str(),)).await {
                Ok(body) => Some(body.deserialize::<String>()?),
                Err(BusError::Refused { name, .. }) if is_missing_file(&name) => None,
                Err(error) => return Err(error),
            };
            Ok(UnitState { active, sub, file })
        })
    }

    /// The name of the unit itself, if the given name is an alias.
    async fn name_of(&self, unit: &str) -> Result<String, BusError> {
        let body = self.call("ListUnitsByNames", &(vec![unit],)).await?;
        let listed: Vec<ListedUnit> = body.deserialize()?;
        Ok(listed.into_iter().next().map_or_else(|| unit.to_owned(), |(name, ..)| name))
    }

    /// Lets a unit start with the host.
    pub(super) fn enable(&self, unit: &str) -> Result<(), BusError> {
        self.block_on(CALL_LIMIT, async {
            let unit = self.name_of(unit).await?;
            // Not only for this boot; links of others are not replaced.
            self.call("EnableUnitFiles", &(vec![unit.as_str()], false, false)).await?;
            self.call("Reload", &()).await.map(drop)
        })
    }

    /// Keeps a unit from starting with the host.
    pub(super) fn disable(&self, unit: &str) -> Result<(), BusError> {
        self.block_on(CALL_LIMIT, async {
            let unit = self.name_of(unit).await?;
            self.call("DisableUnitFiles", &(vec![unit.as_str()], false)).await?;
            self.call("Reload", &()).await.map(drop)
        })
    }

    /// Lets systemd read all unit files again.
    pub(super) fn reload(&self) -> Result<(), BusError> {
        self.block_on(CALL_LIMIT, async { self.call("Reload", &()).await.map(drop) })
    }

    /// Starts a job and waits for its end. Returns the result in systemd's word.
    pub(super) fn run_job(&self, unit: &str, method: &str, limit: Duration) -> Result<String, BusError> {
        self.block_on(limit, async {
            // systemd sends signals over the bus only while someone subscribes. Its own socket has them always.
            if self.destination.is_some() {
                self.call("Subscribe", &()).await?;
            }
            let rule = MatchRule::builder().msg_type(Type::Signal).path(MANAGER_PATH)?;
            let rule = rule.interface(MANAGER)?.member("JobRemoved")?.build();
            let mut signals = MessageStream::for_match_rule(rule, &self.connection, Some(MAX_QUEUED)).await?;
            let body = self.call(method, &(unit, "replace")).await?;
            let job: OwnedObjectPath = body.deserialize()?;
            while let Some(signal) = signals.next().await {
                if let Some(result) = result_of(&signal?, &job)? {
                    return Ok(result);
                }
            }
            Err(BusError::Connection("the connection ended".to_owned()))
        })
    }

    /// A problem of a unit, with what systemd and the unit's last lines in the journal say about it.
    pub(super) fn with_details(&self, unit: &str, problem: &str) -> String {
        let described = self.block_on(CALL_LIMIT, self.describe(unit));
        let (mut parts, invocation) = described.unwrap_or_default();
        parts.insert(0, problem.to_owned());
        if let Some(lines) = invocation.and_then(|invocation| last_lines(&invocation)) {
            parts.push(format!("its last lines: {lines}"));
        }
        parts.join("; ")
    }

    async fn describe(&self, unit: &str) -> Result<(Vec<String>, Option<String>), BusError> {
        let body = self.call("LoadUnit", &(unit,)).await?;
        let path: OwnedObjectPath = body.deserialize()?;
        let mut parts = Vec::new();
        // Units of other types have no such properties.
        if let Ok(result) = self.property(&path, SERVICE, "Result").await
            && let Ok(result) = String::try_from(result)
            && result != "success"
        {
            let status = self.property(&path, SERVICE, "ExecMainStatus").await.ok();
            let status = status.and_then(|status| i32::try_from(status).ok()).filter(|status| *status != 0);
            parts.push(status.map_or_else(|| result.clone(), |status| format!("{result} {status}")));
        }
        if let Ok(text) = self.property(&path, SERVICE, "StatusText").await
            && let Ok(text) = String::try_from(text)
            && !text.is_empty()
        {
            parts.push(secret::without_secrets(&text).into_owned());
        }
        let invocation = self.property(&path, UNIT, "InvocationID").await?;
        Ok((parts, hex(&invocation)))
    }

    async fn property(
        &self,
        path: &OwnedObjectPath,
        interface: &str,
        name: &str,
    ) -> Result<OwnedValue, BusError> {
        let properties = Some("org.freedesktop.DBus.Properties");
        let body = &(interface, name);
        let answer = self.connection.call_method(self.destination, path, properties, "Get", body).await?;
        Ok(answer.body().deserialize()?)
    }
}

/// The result of a job, if this signal is about it.
fn result_of(signal: &Message, job: &OwnedObjectPath) -> Result<Option<String>, BusError> {
    let is_removal = signal.header().member().is_some_and(|member| member.as_str() == "JobRemoved");
    if !is_removal {
        return Ok(None);
    }
    let body = signal.body();
    let (_, removed, _, result): (u32, OwnedObjectPath, String, String) = body.deserialize()?;
    Ok((removed == *job).then_some(result))
}

/// The names of errors of units without a file.
fn is_missing_file(error: &str) -> bool {
    ["FileNotFound", "NoSuchUnit", "ENOENT"].iter().any(|name| error.ends_with(name))
}

/// The id of one run of a unit, as the journal writes it.
fn hex(invocation: &OwnedValue) -> Option<String> {
    let Value::Array(bytes) = &**invocation else { return None };
    let digits = bytes.iter().map(|byte| u8::try_from(byte).ok().map(|byte| format!("{byte:02x}")));
    digits.collect::<Option<String>>().filter(|id| !id.is_empty())
}

/// What the unit wrote to the journal in this run, and what systemd wrote about it.
fn last_lines(invocation: &str) -> Option<String> {
    let (of_unit, about_unit) =
        (format!("_SYSTEMD_INVOCATION_ID={invocation}"), format!("INVOCATION_ID={invocation}"));
    let arguments =
        ["journalctl", "--no-pager", "-q", "-o", "cat", "-n", SHOWN_LINES, &of_unit, "+", &about_unit];
    let output = command::run(&arguments, JOURNAL_LIMIT).ok()?;
    let lines: Vec<&str> = output.shown.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    (output.succeeded && !lines.is_empty()).then(|| lines.join(" | "))
}
