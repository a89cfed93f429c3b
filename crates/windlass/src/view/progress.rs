//! Where something is while one waits: a spinner on a terminal, plain lines elsewhere, always on standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::sanitize_for_terminal;

/// Fast enough to look alive, slow enough to cost nothing.
const TICK: Duration = Duration::from_millis(120);

/// A wait that is shown.
pub(crate) struct WaitIndicator {
    spinner: Option<ProgressBar>,
    told: String,
}

impl WaitIndicator {
    /// Begins to wait.
    pub(crate) fn start() -> WaitIndicator {
        let spinner = io::stderr().is_terminal().then(|| {
            let spinner = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
                spinner.set_style(style);
            }
            spinner.enable_steady_tick(TICK);
            spinner
        });
        WaitIndicator { spinner, told: String::new() }
    }

    /// Says what is waited for; once, as long as it stays the same.
    pub(crate) fn tell(&mut self, text: &str) -> io::Result<()> {
        let text = sanitize_for_terminal(text);
        if text == self.told {
            return Ok(());
        }
        match &self.spinner {
            Some(spinner) => spinner.set_message(text.clone()),
            None => writeln!(io::stderr(), "… {text}")?,
        }
        self.told = text;
        Ok(())
    }
}

impl Drop for WaitIndicator {
    fn drop(&mut self) {
        if let Some(spinner) = &self.spinner {
            spinner.finish_and_clear();
        }
    }
}
