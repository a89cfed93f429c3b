//! Options of `windlass node`: the machines and their agents.

use clap::Subcommand;

use super::enrolment::EnrolmentCommand;
use super::node_render::RenderOptions;
use super::node_status::NodeStatusCommand;

#[derive(Debug, Subcommand)]
pub(crate) enum NodeCommand {
    #[command(flatten)]
    Status(NodeStatusCommand),
    /// Show what a node shall be: every package, file and service, and where each comes from.
    ///
    /// For each item it names the module and its version, the template, assignment or dependency that brings the module to
    /// the node, and the settings that the item uses. Secrets are masked.
    Render(RenderOptions),
    #[command(flatten)]
    Enrolment(EnrolmentCommand),
}
