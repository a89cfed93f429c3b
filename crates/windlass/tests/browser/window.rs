//! A browser window: what a person sees and does in it.

use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};
use windlass_testkit::servers::Chromium;

use crate::harness::{Installation, Person};

/// Anything that takes longer is a failure.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The number of concurrent browsers: each is a dozen processes.
static BROWSERS: Semaphore = Semaphore::const_new(4);

/// The theme of the person's system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Light,
    Dark,
}

impl Look {
    pub(crate) const BOTH: [Look; 2] = [Look::Light, Look::Dark];

    pub(crate) fn slug(self) -> &'static str {
        match self {
            Look::Light => "light",
            Look::Dark => "dark",
        }
    }
}

/// A window of a browser of its own.
pub(crate) struct Window {
    client: Client,
    base: String,
    _turn: SemaphorePermit<'static>,
}

/// A command of Chromium's driver that is not in the standard.
#[derive(Debug)]
struct Beyond {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Beyond {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, <Url as std::str::FromStr>::Err> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}

impl Window {
    /// A new window; `None`, with a message, if no browser is installed.
    pub(crate) async fn open(installation: &Installation) -> Option<Window> {
        let chromium = Chromium::shared()?;
        let turn = BROWSERS.acquire().await.unwrap();
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(chromium.capabilities());
        let client = builder.connect(chromium.url()).await.unwrap();
        let window = Window { client, base: installation.base.clone(), _turn: turn };
        window.resize(1280, 900).await;
        window.set_color_scheme(Look::Light).await;
        Some(window)
    }

    /// A new window of a signed-in person.
    pub(crate) async fn of(installation: &Installation, person: &Person) -> Option<Window> {
        let window = Window::open(installation).await?;
        let cookie = json!({"name": "windlass_session", "value": person.token, "url": window.base,
            "httpOnly": true, "sameSite": "Strict"});
        window.devtools("Network.setCookie", cookie).await;
        Some(window)
    }

    /// Closes the browser.
    pub(crate) async fn close(self) {
        self.client.close().await.unwrap();
    }

    /// Sends a DevTools command.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.client.issue_cmd(Beyond { path: "goog/cdp/execute", body }).await.unwrap()
    }

    /// Sets the size of the page.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Emulates a light or dark system theme, and reduced motion.
    pub(crate) async fn set_color_scheme(&self, look: Look) {
        let features = json!([{"name": "prefers-color-scheme", "value": look.slug()},
            {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
    }

    /// Opens a page and waits until it is loaded.
    pub(crate) async fn goto(&self, path: &str) {
        self.client.goto(&format!("{}{path}", self.base)).await.unwrap();
    }

    /// The value of an expression in the page.
    pub(crate) async fn value(&self, expression: &str) -> Value {
        self.client.execute(&format!("return {expression};"), Vec::new()).await.unwrap()
    }

    /// Runs a script in the page.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script in the page that calls `done` with its result.
    pub(crate) async fn run_until_done(&self, script: &str) -> Value {
        let whole = format!("const done = arguments[arguments.length - 1]; {script}");
        self.client.execute_async(&whole, Vec::new()).await.unwrap()
    }

    /// Waits until an expression is true in the page, even across navigation.
    pub(crate) async fn until(&self, expression: &str) {
        let script = format!(
            "const done = arguments[arguments.length - 1]; const look = () => {{ let is; \
             try {{ is = Boolean({expression}); }} catch {{ is = false; }} \
             if (is) done(true); else setTimeout(look, 20); }}; look();"
        );
        let begun = Instant::now();
        // A navigation aborts the script: it is started again in the next page.
        while self.client.execute_async(&script, Vec::new()).await.is_err() {
            if begun.elapsed() > TIMEOUT {
                let seen = self.value("`${location.href}\\n${document.body.innerText}`").await;
                panic!("waited in vain for {expression} in {}", seen.as_str().unwrap_or_default());
            }
        }
    }

    /// Waits until the page contains a text.
    pub(crate) async fn wait_for_text(&self, text: &str) {
        self.until(&format!("document.querySelector('main').innerText.includes({})", json!(text))).await;
    }

    /// Clicks the first element that a selector matches.
    pub(crate) async fn click(&self, selector: &str) {
        let begun = Instant::now();
        loop {
            self.until(&format!("document.querySelector({})", json!(selector))).await;
            let clicked = async { self.client.find(Locator::Css(selector)).await?.click().await };
            match clicked.await {
                // A live update replaced the element meanwhile.
                Err(error)
                    if (error.is_stale_element_reference() || error.is_no_such_element())
                        && begun.elapsed() < TIMEOUT => {}
                clicked => return clicked.unwrap(),
            }
        }
    }

    /// Replaces the text of a field by typing.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.until(&format!("document.querySelector({})", json!(selector))).await;
        let field = self.client.find(Locator::Css(selector)).await.unwrap();
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Presses keys in the focused element.
    pub(crate) async fn press(&self, keys: &str) {
        self.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// A screenshot of the page.
    pub(crate) async fn screenshot(&self) -> Vec<u8> {
        self.client.screenshot().await.unwrap()
    }

    /// The browser's messages since the last call: errors of scripts, of loading, of the content security policy.
    pub(crate) async fn browser_messages(&self) -> Vec<String> {
        let command = Beyond { path: "se/log", body: json!({"type": "browser"}) };
        let entries = self.client.issue_cmd(command).await.unwrap();
        let is_bad = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        entries.as_array().unwrap().iter().filter(is_bad).map(|entry| entry["message"].to_string()).collect()
    }

    /// Closes the window; fails if the browser reported an error.
    pub(crate) async fn close_without_errors(self) {
        assert_eq!(self.browser_messages().await, [""; 0]);
        self.close().await;
    }
}
