//! The report as tables.

use crate::loaders::Found;
use crate::report::Report;
use crate::sample::Sample;
use crate::table::Table;

/// All tables, with captions.
pub(crate) fn report(report: &Report) -> String {
    let head = format!(
        "{} cores, up to {} runs each, times in ms as best / median, factors and ratios of the best",
        report.cores, report.runs
    );
    let parts = [
        head,
        format!("A. Stages in process\n\n{}", stages(report)),
        format!("A. Growth: time ratio divided by byte ratio, 1.0 is linear\n\n{}", growth(report)),
        format!("B. windlass plan --format json, a fresh process each time\n\n{}", processes(report)),
        format!("C. The 8,000-node file merely loaded elsewhere\n\n{}", loaders(report)),
    ];
    parts.join("\n\n")
}

fn stages(report: &Report) -> String {
    let mut table = Table::new(&[
        "fleet",
        "bytes",
        "resources",
        "read",
        "assemble",
        "plan all",
        "plan 1 %",
        "print all",
        "cold total",
        "known total",
    ]);
    for row in &report.stages {
        let times = [row.read, row.assemble, row.plan_all, row.plan_few, row.print_all, row.cold, row.known];
        let mut cells = vec![row.fleet.to_owned(), thousands(row.bytes), thousands(row.resources)];
        cells.extend(times.iter().map(both));
        table.row(cells);
    }
    table.text()
}

fn growth(report: &Report) -> String {
    let mut table =
        Table::new(&["step", "bytes", "read", "assemble", "plan all", "cold total", "known total"]);
    for row in &report.growth {
        let mut cells = vec![format!("{} to {}", row.from, row.to), format!("x {:.1}", row.bytes_ratio)];
        let factors = [row.read, row.assemble, row.plan_all, row.cold, row.known];
        cells.extend(factors.map(|factor| format!("{factor:.2}")));
        table.row(cells);
    }
    table.text()
}

fn processes(report: &Report) -> String {
    let mut table = Table::new(&["fleet", "from", "wall", "peak memory"]);
    for row in &report.processes {
        let memory = format!("{:.1} MiB", row.peak_kib as f64 / 1024.0);
        table.row(vec![row.fleet.to_owned(), row.from.to_owned(), both(&row.wall), memory]);
    }
    table.text()
}

fn loaders(report: &Report) -> String {
    let mut table =
        Table::new(&["loader", "version", "load alone", "/ our cold total", "/ our whole process"]);
    for row in &report.loaders {
        let ratio = report.ratios.iter().find(|ratio| ratio.loader == row.loader);
        let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        let (version, load) = match &row.found {
            Found::Loaded { version, load_ms } => (version.clone(), format!("{load_ms:.1}")),
            Found::Skipped { reason } => (format!("not present: skipped ({reason})"), "-".to_owned()),
        };
        let ratios = [ratio.map(|ratio| ratio.of_cold), ratio.map(|ratio| ratio.of_process)];
        let [of_cold, of_process] = ratios.map(shown);
        table.row(vec![row.loader.to_owned(), version, load, of_cold, of_process]);
    }
    table.text()
}

fn both(sample: &Sample) -> String {
    format!("{} / {}", short(sample.best_ms), short(sample.median_ms))
}

/// A number with three significant digits.
fn short(ms: f64) -> String {
    match ms {
        ms if ms < 1.0 => format!("{ms:.3}"),
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => format!("{ms:.0}"),
    }
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
