//! A real client of the tools, over HTTP and over standard input and output.

use std::process::Stdio;

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion, Tool};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, ServiceError, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::Value;
use tokio::process::{Child, Command};
use windlass_api::permission::Permission;

use crate::harness::{ALL, Installation, Life, Person};

/// The permissions of `windlass token create --for mcp`.
pub(super) const PROPOSES: &[Permission] =
    &[Permission::GitopsRead, Permission::GitopsWrite, Permission::GitopsSync, Permission::FleetRead];

/// A connected client.
pub(super) struct Tools {
    client: RunningService<RoleClient, ()>,
    process: Option<Child>,
}

/// The transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolTransport {
    Http,
    /// HTTP as of 2026-07-28: no handshake, and every request is self-contained.
    HttpWithoutHandshake,
    Stdio,
}

pub(super) const SIGNING_METHODS: [ToolTransport; 3] =
    [ToolTransport::Http, ToolTransport::HttpWithoutHandshake, ToolTransport::Stdio];

impl Tools {
    /// Connects with a token that has all permissions.
    pub(super) async fn with_all_permissions(installation: &Installation, transport: ToolTransport) -> Tools {
        let admin = installation.admin().await;
        Tools::with_permissions(installation, &admin, &ALL, transport).await
    }

    /// Connects with a new token of a person.
    pub(super) async fn with_permissions(
        installation: &Installation,
        person: &Person,
        permissions: &[Permission],
        transport: ToolTransport,
    ) -> Tools {
        let token = installation.api_token(person, permissions, Life::Good).await;
        Tools::connect(installation, &token.secret, transport).await
    }

    pub(super) async fn connect(
        installation: &Installation,
        secret: &str,
        transport: ToolTransport,
    ) -> Tools {
        if transport == ToolTransport::Stdio {
            return Tools::start(installation, secret).await;
        }
        let config = StreamableHttpClientTransportConfig::with_uri(format!("{}/mcp", installation.base));
        let http = StreamableHttpClientTransport::from_config(config.auth_header(secret));
        let client = match transport {
            ToolTransport::HttpWithoutHandshake => {
                let mode =
                    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
                ().serve_with_lifecycle(http, mode).await.unwrap()
            }
            _ => ().serve(http).await.unwrap(),
        };
        Tools { client, process: None }
    }

    /// Starts `windlass mcp` as clients do.
    async fn start(installation: &Installation, secret: &str) -> Tools {
        let mut process = Command::new(env!("CARGO_BIN_EXE_windlass"))
            .arg("mcp")
            .env("WINDLASS_SERVER", &installation.base)
            .env("WINDLASS_TOKEN", secret)
            .env("XDG_CONFIG_HOME", installation.directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipes = (process.stdout.take().unwrap(), process.stdin.take().unwrap());
        let client = serve_client((), pipes).await.unwrap();
        Tools { client, process: Some(process) }
    }

    pub(super) async fn all(&self) -> Vec<Tool> {
        self.client.list_all_tools().await.unwrap()
    }

    pub(super) async fn names(&self) -> Vec<String> {
        self.all().await.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    pub(super) async fn ask(&self, tool: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        self.client.call_tool(params).await
    }

    /// Runs a tool that succeeds. Checks that the three forms of its result agree.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let result = self.ask(tool, arguments).await.unwrap();
        assert_eq!(result.is_error, Some(false), "{tool}: {result:?}");
        let texts: Vec<&str> =
            result.content.iter().map(|block| block.as_text().unwrap().text.as_str()).collect();
        let value = result.structured_content.clone().unwrap();
        assert!(!texts[0].is_empty() && !texts[0].contains('\n') && texts[0].len() < 300, "{texts:?}");
        assert_eq!(serde_json::from_str::<Value>(texts[1]).unwrap(), value);
        value
    }

    /// Runs a tool that refuses, and returns the error.
    pub(super) async fn refused(&self, tool: &str, arguments: Value) -> Value {
        let result = self.ask(tool, arguments).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{tool}: {result:?}");
        result.structured_content.unwrap()["error"].clone()
    }

    /// Disconnects; a started process must exit by itself with success.
    pub(super) async fn disconnect(self) {
        self.client.cancel().await.unwrap();
        if let Some(mut process) = self.process {
            assert!(process.wait().await.unwrap().success());
        }
    }
}
