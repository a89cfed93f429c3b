//! The networks of an account.

use askama::Template;
use windlass_api::types::ResourceInfo;

use crate::frame::{Frame, NavEntry};
use crate::{link, words};

/// A network with the number of its members.
#[derive(Clone, Debug)]
pub struct NetworkSummary {
    /// The network.
    pub network: ResourceInfo,
    /// The number of peers.
    pub peers: usize,
    /// The number of virtual IPs.
    pub virtual_ips: usize,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "networks.html")]
pub struct NetworksPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The accepted networks.
    pub networks: Vec<NetworkSummary>,
    /// Networks that are only proposed: name and proposal.
    pub proposed: Vec<(String, String)>,
    /// Where the list goes on.
    pub next: Option<String>,
}

impl NetworkSummary {
    pub(crate) fn url(&self) -> String {
        link::network(&self.network.name)
    }

    fn text(&self, field: &str) -> &str {
        self.network.spec.get(field).and_then(serde_json::Value::as_str).unwrap_or_default()
    }

    pub(crate) fn description(&self) -> &str {
        self.text("description")
    }

    pub(crate) fn routing(&self) -> &str {
        self.text("routing_mode")
    }

    pub(crate) fn cidr(&self) -> String {
        let allocated = self.network.allocated.get("cidr");
        allocated.or_else(|| self.network.spec.get("cidr")).map(words::value).unwrap_or_default()
    }
}
