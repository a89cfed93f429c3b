//! Simulated agents against a server, and the real agent beside `ansible-playbook` on one host.

mod fan_out;
mod fleet;
mod one_host;
mod simulator;
mod usage;

use serde::Serialize;
use windlass_testkit::servers::Postgres;

use crate::table::Table;
use crate::{Outcome, say};
use fan_out::FanOutRow;
use one_host::OneHost;

/// The numbers of agents unless told.
pub(crate) const COUNTS: [usize; 3] = [1_000, 5_000, 10_000];

/// The measurements of agents.
#[derive(Debug, Default, Serialize)]
pub(super) struct AgentsReport {
    fan_out: Vec<FanOutRow>,
    one_host: Option<OneHost>,
}

/// Measures a server with so many agents, on both databases, and the agent of one host.
pub(super) async fn measure(report: &mut AgentsReport, counts: &[usize]) -> Outcome<()> {
    let postgres = Postgres::start();
    for count in counts {
        simulator::allow_connections(*count)?;
        report.fan_out.push(fan_out::measure(*count, "SQLite", None).await?);
        match &postgres {
            Some(postgres) => {
                let database = Some(postgres.fresh_database());
                report.fan_out.push(fan_out::measure(*count, "PostgreSQL", database).await?);
            }
            None => say("  PostgreSQL is not installed: skipped"),
        }
    }
    report.one_host = Some(one_host::measure().await?);
    Ok(())
}

impl AgentsReport {
    /// The tables; nothing if nothing was measured.
    pub(super) fn text(&self) -> String {
        let fan_out = match self.fan_out.is_empty() {
            true => String::new(),
            false => format!("\n{}\n{}\n{}", self.joining(), self.spreading(), self.using()),
        };
        let one_host = self.one_host.as_ref().map(|host| format!("\n{}", host.text()));
        fan_out + &one_host.unwrap_or_default()
    }

    fn joining(&self) -> String {
        let mut table = Table::new(&[
            "agents, database",
            "enrol all, s",
            "a second",
            "connect all and take the first assignment, s",
            "load before",
        ]);
        for row in &self.fan_out {
            table.row(vec![
                row.name(),
                format!("{:.1}", row.enrol_seconds),
                format!("{:.0}", row.agents as f64 / row.enrol_seconds),
                format!("{:.1}", row.connect_seconds),
                row.load_before.clone(),
            ]);
        }
        table.text()
    }

    fn spreading(&self) -> String {
        let mut table = Table::new(&[
            "approval → agents, s",
            "assignment p50",
            "p99",
            "last",
            "content p50",
            "p99",
            "last",
            "reported p50",
            "last",
        ]);
        for row in &self.fan_out {
            let [assignment, content, reported] = &row.stages;
            let shown = |seconds: f64| format!("{seconds:.2}");
            table.row(vec![
                row.name(),
                shown(assignment.p50),
                shown(assignment.p99),
                shown(assignment.last),
                shown(content.p50),
                shown(content.p99),
                shown(content.last),
                shown(reported.p50),
                shown(reported.last),
            ]);
        }
        table.text()
    }

    fn using(&self) -> String {
        let mut table = Table::new(&[
            "server",
            "at rest, MiB",
            "CPU, % of a core",
            "peak in fan-out, MiB",
            "CPU in fan-out, s",
            "simulator's CPU, s",
            "simulator, MiB",
        ]);
        for row in &self.fan_out {
            let mib = |kib: u64| format!("{:.0}", kib as f64 / 1024.0);
            table.row(vec![
                row.name(),
                mib(row.rest_kib),
                format!("{:.1}", row.rest_percent),
                mib(row.peak_kib),
                format!("{:.1}", row.server_seconds),
                format!("{:.1}", row.simulator_seconds),
                mib(row.simulator_kib),
            ]);
        }
        table.text()
    }
}
