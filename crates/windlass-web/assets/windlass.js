// The script of the web app. Every page works without it; with it pages are live, quick to use and keyboard-friendly.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);

  // Theme: the server reads the cookie, so that no page flashes in the wrong colours.
  const themes = ["system", "light", "dark"];
  const themeButton = one("[data-theme-switch]");
  const nameTheme = () => {
    const theme = document.documentElement.dataset.theme || "system";
    const label = one("[data-theme-name]");
    if (label) label.textContent = theme[0].toUpperCase() + theme.slice(1);
    if (themeButton) themeButton.setAttribute("aria-label", `Theme: ${theme}`);
  };
  if (themeButton) {
    themeButton.hidden = false;
    nameTheme();
    themeButton.addEventListener("click", () => {
      const root = document.documentElement;
      root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
      const secure = location.protocol === "https:" ? "; Secure" : "";
      document.cookie = `windlass_theme=${root.dataset.theme}; Path=/; SameSite=Strict; Max-Age=31536000${secure}`;
      nameTheme();
    });
  }

  // Times that tick.
  const lasting = (seconds) =>
    seconds < 60 ? `${seconds} s` : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
      : seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} days`;
  const tick = () => {
    for (const time of all("time[datetime]:not([data-still])")) {
      const at = Date.parse(time.dateTime);
      if (Number.isNaN(at)) continue;
      const past = Math.floor((Date.now() - at) / 1000);
      const text = Math.abs(past) < 5 ? "just now" : past > 0 ? `${lasting(past)} ago` : `in ${lasting(-past)}`;
      if (time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(tick, 5000);

  // Selecting.
  const picks = () => all('input[name="pick"]:not(:disabled)');
  const chosen = () => picks().filter((box) => box.checked);
  const show = (box, boxes) => {
    const count = boxes.filter((each) => each.checked).length;
    box.checked = count > 0 && count === boxes.length;
    box.indeterminate = count > 0 && count < boxes.length;
    box.disabled = boxes.length === 0;
  };
  const below = (box) => {
    const place = box.matches("[data-pick-all]") ? box.closest("section") : box.closest("tr");
    return all('input[name="pick"]:not(:disabled)', place);
  };
  const refresh = () => {
    for (const box of all("[data-pick-all], [data-pick-same]")) {
      box.closest("label").hidden = false;
      show(box, below(box));
    }
    const told = one("[data-selected]");
    if (told) {
      const count = chosen().length;
      told.parentElement.classList.toggle("idle", count === 0);
      told.textContent = count === 0 ? "Select changes to review" : `${count} selected`;
    }
  };
  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.matches("[data-pick-all], [data-pick-same]")) {
      for (const each of below(box)) each.checked = box.checked;
    }
    if (box.matches("[data-pick-all], [data-pick-same], input[name=pick]")) refresh();
  });

  // Questions before much is changed at once.
  const confirmDialog = one("#confirm");
  // The question is the title, what else there is to know the text; the button says what it does.
  const ask = (text, action, yes) => {
    const end = text.indexOf("?") + 1;
    one("[data-confirm-title]", confirmDialog).textContent = end ? text.slice(0, end) : action + "?";
    one("[data-confirm-text]", confirmDialog).textContent = text.slice(end).trim();
    const button = one("[data-confirm-yes]", confirmDialog);
    button.textContent = action;
    button.onclick = () => { confirmDialog.close(); yes(); };
    one("[data-confirm-no]", confirmDialog).onclick = () => confirmDialog.close();
    confirmDialog.showModal();
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-decide]") || form.dataset.sure || event.submitter?.dataset.ask) return;
    const boxes = chosen();
    if (boxes.length === 0) return;
    const reject = event.submitter && event.submitter.value === "reject";
    const destroys = boxes.filter((box) => one(".change-destroy", box.closest("tr"))).length;
    if (!reject && destroys === 0 && boxes.length < 10) return;
    event.preventDefault();
    const what = boxes.length === 1 ? "1 change" : `${boxes.length} changes`;
    const which = destroys === boxes.length ? (destroys === 1 ? "It deletes" : "All of them delete")
      : destroys === 1 ? "One of them deletes" : `${destroys} of them delete`;
    const note = !reject && destroys > 0 ? ` ${which} something.` : "";
    const submitter = event.submitter;
    const verb = reject ? "Reject" : "Approve";
    ask(`${verb} ${what}?${note}`, `${verb} ${boxes.length}`, () => {
      form.dataset.sure = "yes";
      form.requestSubmit(submitter);
    });
  });

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.defaultPrevented || !button) return;
    if (button.dataset.ask && !button.dataset.sure) {
      event.preventDefault();
      ask(button.dataset.ask, button.textContent.trim(), () => { button.dataset.sure = "yes"; button.form.requestSubmit(button); });
    } else if (button.dataset.busy) {
      button.textContent = button.dataset.busy;
      button.setAttribute("aria-busy", "true");
    }
  });

  // A menu closes when one looks elsewhere.
  const closeMenus = (except) => {
    for (const menu of all("details.menu[open]")) if (!except || !menu.contains(except)) menu.open = false;
  };
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeMenus(null); });

  // Which credential the address that is typed needs.
  const address = one("[data-url]");
  if (address) {
    const shapeOf = (url) => /^https?:\/\//.test(url) ? "https" : /^ssh:\/\/|^[^/]+@[^/]+:(?!\/\/)/.test(url) ? "ssh"
      : url.startsWith("file://") ? "file" : "";
    const fit = () => {
      const shape = shapeOf(address.value.trim());
      for (const part of all("[data-shape]")) part.hidden = shape ? part.dataset.shape !== shape : part.dataset.shape === "file";
    };
    address.addEventListener("input", fit);
    fit();
  }
  for (const button of all("[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "Copied";
    });
  }

  // What is shown only once does not come back when a browser restores the page.
  window.addEventListener("pagehide", () => { for (const part of all(".once")) part.remove(); });

  // Filtering as one types. The address stays what a link to the same list would be.
  const filter = one("[data-filter]");
  let typing;
  if (filter) {
    one("[data-filter-button]", filter).hidden = true;
    const apply = () => {
      const query = new URLSearchParams([...new FormData(filter)].filter(([, value]) => value !== ""));
      const url = query.size > 0 ? `${filter.action}?${query}` : filter.action;
      if (url === location.href) return;
      history.replaceState(null, "", url);
      look();
    };
    filter.addEventListener("input", (event) => {
      clearTimeout(typing);
      typing = setTimeout(apply, event.target.matches("select") ? 0 : 200);
    });
    filter.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); apply(); });
  }

  // Live: when something happened, the page is asked for again, and what is marked in it is exchanged.
  const keyOf = (box) => `${box.name}=${box.value}`;
  const exchange = (old, fresh) => {
    if (old.innerHTML === fresh.innerHTML) return;
    // Someone is typing here: what they typed is worth more than what is new.
    if ("liveIfIdle" in old.dataset && all("input:not([type=hidden]), textarea", old).some((field) =>
      field === document.activeElement || (field.type !== "checkbox" && field.value !== field.defaultValue))) return;
    const checked = new Set(all("input[type=checkbox]:checked[name]", old).map(keyOf));
    const open = new Set(all("details[open] > summary", old).map((summary) => summary.textContent));
    const at = one("tr[data-at] [data-open]", old)?.getAttribute("href");
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const focus = active && (active.id ? `#${CSS.escape(active.id)}`
      : active.matches("input[type=checkbox][name]") ? `input[value="${CSS.escape(active.value)}"]`
        : active.matches("a[href]") ? `a[href="${CSS.escape(active.getAttribute("href"))}"]` : null);
    old.replaceChildren(...fresh.childNodes);
    for (const box of all("input[type=checkbox][name]", old)) if (checked.has(keyOf(box))) box.checked = true;
    for (const summary of all("details > summary", old)) if (open.has(summary.textContent)) summary.parentElement.open = true;
    if (at) one(`[data-open][href="${CSS.escape(at)}"]`, old)?.closest("tr").setAttribute("data-at", "");
    if (focus) one(focus, old)?.focus({ preventScroll: true });
  };
  // A list that can be paused: while it is, new rows are counted and not shown.
  const pauseButton = one("[data-pause]");
  const isPaused = () => pauseButton?.getAttribute("aria-pressed") === "true";
  const newestOf = (list) => Math.max(0, ...all("[data-seq]", list).map((row) => Number(row.dataset.seq)));
  const nameLive = (missed) => {
    one("[data-live-state]").textContent = !isPaused() ? "Live" : missed > 0 ? `Paused, ${missed} new` : "Paused";
    one("[data-live-state]").classList.toggle("paused", isPaused());
    one("[data-pause-name]").textContent = isPaused() ? "Resume" : "Pause";
  };
  const renew = (old, fresh) => {
    if (!old.matches("[data-pausable]")) { exchange(old, fresh); return; }
    const newest = newestOf(old);
    const isNew = (row) => Number(row.dataset.seq) > newest;
    if (isPaused()) { nameLive(all("[data-seq]", fresh).filter(isNew).length); return; }
    exchange(old, fresh);
    for (const row of all("[data-seq]", old)) if (newest > 0 && isNew(row)) row.classList.add("fresh");
  };
  if (pauseButton) {
    for (const part of [pauseButton, one("[data-live-state]")]) part.hidden = false;
    pauseButton.addEventListener("click", () => {
      pauseButton.setAttribute("aria-pressed", String(!isPaused()));
      nameLive(0);
      if (!isPaused()) look();
    });
  }
  let looking = null;
  const look = async () => {
    looking?.abort();
    const mine = (looking = new AbortController());
    try {
      const answer = await fetch(location.href, { signal: mine.signal, headers: { accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname === "/app/sign-in") { location.reload(); return; }
      if (!answer.ok) { lookLater(); return; }
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const scroll = window.scrollY;
      for (const part of all("[data-live][id]")) {
        const other = fresh.getElementById(part.id);
        if (other) renew(part, other);
      }
      if (Math.abs(window.scrollY - scroll) > 1) window.scrollTo(0, scroll);
      refresh();
      tick();
      lookLater();
    } catch (error) {
      if (error.name === "AbortError") return;
      console.warn("could not look again", error.message);
      lookLater();
    }
  };
  // Nodes report without an event: a page that shows them moving is looked at again after a while.
  let later;
  const lookLater = () => {
    clearTimeout(later);
    const every = Number(one("[data-live-every]")?.dataset.liveEvery);
    if (every > 0) later = setTimeout(() => (document.hidden ? lookLater() : look()), every * 1000);
  };
  lookLater();
  let seen = document.body.dataset.seen;
  let source = null;
  let waiting;
  const listen = () => {
    if (source || seen === undefined) return;
    source = new EventSource(`/app/live?after=${encodeURIComponent(seen)}`);
    source.onmessage = (event) => {
      seen = event.lastEventId;
      clearTimeout(waiting);
      waiting = setTimeout(look, 250);
    };
  };
  const hush = () => { source?.close(); source = null; };
  // Browsers keep few connections to one place: a page nobody looks at does not hold one.
  document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
  window.addEventListener("pagehide", hush);
  window.addEventListener("pageshow", (event) => { if (event.persisted) look(); listen(); });

  // Keys.
  const help = one("#help");
  for (const button of all("[data-help]")) { button.hidden = false; button.addEventListener("click", () => help.showModal()); }
  const rows = () => all("tr[data-row]");
  const current = () => one("tr[data-at]");
  const move = (step) => {
    const list = rows();
    if (list.length === 0) return;
    const now = list.indexOf(current());
    const next = list[Math.max(0, Math.min(list.length - 1, now + step))];
    current()?.removeAttribute("data-at");
    next.setAttribute("data-at", "");
    next.scrollIntoView({ block: "nearest" });
    (one("[data-open]:not(details:not([open]) *)", next) || one("input:not(:disabled), summary", next))?.focus({ preventScroll: true });
  };
  const press = (key) => {
    const target = one(`[data-key="${key}"]:not(:disabled)`);
    if (!target) return;
    if (target.matches("details")) {
      target.open = true;
      one("textarea, input:not([type=hidden])", target)?.focus();
    } else if (target.form?.matches("[data-decide]") && chosen().length === 0) {
      const box = current() && one('input[name="pick"]:not(:disabled)', current());
      if (!box) return;
      below(box).forEach((each) => { each.checked = true; });
      refresh();
      target.click();
    } else {
      target.click();
    }
  };
  // Who speaks to their machine, or whose hand is not steady, can switch single keys off.
  const keysWanted = () => localStorage.getItem("windlass-keys") !== "off";
  const keysSwitch = one("[data-keys-switch]");
  if (keysSwitch) {
    keysSwitch.checked = keysWanted();
    keysSwitch.addEventListener("change", () => localStorage.setItem("windlass-keys", keysSwitch.checked ? "on" : "off"));
  }
  let going = 0;
  const keys = {
    j: () => move(1), k: () => move(-1),
    x: () => {
      const box = current() && one("[data-pick-same], input[name=pick]", current());
      if (box && !box.disabled) box.click();
    },
    a: () => press("a"), r: () => press("r"), p: () => press("p"),
    e: () => {
      const link = current() && one("[data-open]", current());
      if (one('[data-key="e"]')) press("e"); else if (link?.pathname.startsWith("/app/proposals/")) location.assign(`${link.pathname}/edit`);
    },
    o: () => one("[data-open]", current() || document.createElement("p"))?.click(),
    "/": () => one("[data-search]")?.focus(),
    "?": () => help.showModal(),
    g: () => { going = Date.now(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    const field = event.target;
    const typingHere = field.matches("textarea, select, input:not([type=checkbox])");
    // A search field would be emptied, and the list with it.
    if (event.key === "Escape" && typingHere) { event.preventDefault(); field.blur(); return; }
    if (typingHere) return;
    if (keysWanted() && Date.now() - going < 1500) {
      going = 0;
      const link = one(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const action = help && keysWanted() && keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  // On a phone the entry one is at may be out of sight.
  for (const here of all(".nav [aria-current], .tabs [aria-current]")) {
    const list = here.parentElement;
    list.scrollLeft = here.offsetLeft - list.offsetLeft - (list.clientWidth - here.offsetWidth) / 2;
  }

  refresh();
  tick();
  if (!document.hidden) listen();
})();
