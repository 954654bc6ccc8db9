// Refreshes live parts, copies commands, checks confirmations, and serves keyboard shortcuts.
const $ = (selector, from = document) => from.querySelector(selector);

// Theme.
$("#theme")?.addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).getPropertyValue("--scheme").trim() === "dark";
  const theme = dark ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("seriatim-theme", theme);
  document.dispatchEvent(new CustomEvent("theme"));
});

// Refresh. Pages without a selector do not refresh.
const refresh = $("#refresh");
let timer = 0;
const busy = () => document.hidden || $("#live input:checked") || !getSelection().isCollapsed || $("dialog[open]") || $("#live")?.contains(document.activeElement?.closest("input, textarea, select"));
const schedule = () => {
  clearInterval(timer);
  const every = Number(refresh.value);
  document.documentElement.dataset.live = every ? "on" : "off";
  if (every) timer = setInterval(() => { if (!busy()) document.body.dispatchEvent(new CustomEvent("live")); }, every);
};
if (refresh) {
  const kept = localStorage.getItem("seriatim-refresh");
  if (kept && [...refresh.options].some((o) => o.value === kept)) refresh.value = kept;
  refresh.addEventListener("change", () => { localStorage.setItem("seriatim-refresh", refresh.value); schedule(); });
  schedule();
}
// Errors keep the last good content.
document.body.addEventListener("htmx:before:swap", (event) => {
  const status = event.detail?.ctx?.response?.status;
  if (status >= 400) {
    event.preventDefault();
    document.documentElement.dataset.stale = "on";
    if (status === 401) location.reload();
  } else {
    delete document.documentElement.dataset.stale;
  }
});

// The live part refreshes with the filter that the page shows now.
document.body.addEventListener("htmx:config:request", (event) => {
  const ctx = event.detail?.ctx;
  if (ctx?.sourceElement?.id === "live" && ctx.request) ctx.request.action = location.pathname + location.search;
});

// Columns that a reader hides stay hidden, in every list and after a refresh.
const menu = $("[data-columns]");
if (menu) {
  const boxes = [...menu.querySelectorAll("input")];
  const apply = (hidden) => { document.documentElement.dataset.hide = hidden.join(" "); };
  const kept = (localStorage.getItem("seriatim-columns") ?? "").split(" ");
  for (const box of boxes) box.checked = !kept.includes(box.value);
  apply(kept);
  menu.addEventListener("change", (event) => {
    event.stopPropagation(); // the list itself stays
    const hidden = boxes.filter((box) => !box.checked).map((box) => box.value);
    localStorage.setItem("seriatim-columns", hidden.join(" "));
    apply(hidden);
  });
}

// Kept filters of messages: links in the browser, for the filters of this reader.
const kept = $("[data-kept-filters]");
if (kept) {
  const key = `seriatim-filters ${location.pathname}`;
  const read = () => JSON.parse(localStorage.getItem(key) ?? "[]");
  const show = () => {
    kept.replaceChildren(...read().flatMap((query) => {
      const link = Object.assign(document.createElement("a"), { href: query, className: "button quiet" });
      link.textContent = [...new URLSearchParams(query)].filter(([, v]) => v).map(([k, v]) => `${k}: ${v}`).join(", ");
      const drop = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
      drop.setAttribute("aria-label", `Forget the filter ${link.textContent}`);
      drop.addEventListener("click", () => { localStorage.setItem(key, JSON.stringify(read().filter((q) => q !== query))); show(); });
      return [link, drop];
    }));
    kept.hidden = !read().length;
  };
  const keep = $("[data-keep-filter]");
  keep.hidden = !location.search;
  keep.addEventListener("click", () => {
    const query = new URLSearchParams(location.search);
    for (const [name, value] of [...query]) if (!value || name === "after" || name === "from") query.delete(name);
    const list = read().filter((q) => q !== `?${query}`);
    localStorage.setItem(key, JSON.stringify([...list, `?${query}`].slice(-10)));
    show();
  });
  show();
}

// Copy buttons.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = (button.closest(".cli, .snippet") ?? document).querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
});

// A form that needs a name typed can be sent only with it. The server checks it, too.
for (const input of document.querySelectorAll("input[data-confirm]")) {
  const button = input.closest("form").querySelector("button");
  const check = () => { button.disabled = input.value !== input.dataset.confirm; };
  input.addEventListener("input", check);
  check();
}

// Keyboard.
const help = $("#help");
$("#help-open")?.addEventListener("click", () => help.showModal());
const places = { o: "/", q: "/queues", t: "/topics", d: "/dlqs", c: "/cluster", a: "/access", l: "/audit" };
let went = 0;
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select, [contenteditable]") || event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (Date.now() - went < 1500 && places[event.key]) {
    location.assign(places[event.key]);
    return;
  }
  went = 0;
  if (event.key === "/") { event.preventDefault(); $("#search")?.focus(); }
  else if (event.key === "?") help.showModal();
  else if (event.key === "g") went = Date.now();
  else if (event.key === "p" && refresh) {
    refresh.value = refresh.value === "0" ? "5000" : "0";
    refresh.dispatchEvent(new Event("change"));
  }
});
