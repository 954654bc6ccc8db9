// Draws the history that /charts answers with uPlot. Colours come from the style sheet.
const box = document.querySelector("#charts");
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const kinds = {
  queue: [
    { title: "Messages by state", stacked: true, series: [["visible", "Visible", "c1"], ["inFlight", "In flight", "c2"], ["delayed", "Delayed", "c3"]] },
    { title: "Rates, per second", series: [["sent", "Sent", "c1"], ["received", "Received", "c2"], ["deleted", "Deleted", "c4"], ["duplicates", "Duplicates", "c5"]] },
    { title: "Oldest message, seconds", series: [["oldestSeconds", "Oldest", "c5"]] },
    { title: "Groups", series: [["groups", "Groups", "c1"], ["blockedGroups", "Held", "c5"]] },
    { title: "Deduplication ids", series: [["deduplicationIds", "Ids", "c3"]] },
    { title: "Empty receives, per second", series: [["emptyReceives", "Empty", "c6"], ["deadLettered", "Dead letters", "c5"]] },
  ],
  cluster: [
    { title: "Messages by state", stacked: true, series: [["visible", "Visible", "c1"], ["inFlight", "In flight", "c2"], ["delayed", "Delayed", "c3"]] },
    { title: "Rates, per second", series: [["sent", "Sent", "c1"], ["received", "Received", "c2"], ["deleted", "Deleted", "c4"], ["duplicates", "Duplicates", "c5"]] },
  ],
  nodes: [
    { title: "Commit, 99th percentile, ms", node: "commitP99Ms" },
    { title: "Disk sync, 99th percentile, ms", node: "syncP99Ms" },
    { title: "Entries behind", node: "applyLag" },
    { title: "Free disk, GiB", node: "diskFreeBytes", scale: 1 / 2 ** 30 },
    { title: "Requests, per second", node: "requests" },
    { title: "Request time, 99th percentile, ms", node: "requestP99Ms" },
  ],
};
let span = localStorage.getItem("seriatim-span") ?? "1h";
let plots = [];
let drawn = "";

const palette = ["c1", "c2", "c4", "c3", "c5", "c6"];
const short = (v) => (v == null ? "–" : Math.abs(v) >= 1e6 ? `${(v / 1e6).toFixed(1)}M` : Math.abs(v) >= 1e3 ? `${(v / 1e3).toFixed(1)}k` : `${Math.round(v * 100) / 100}`);

function lines(chart, data) {
  if (!chart.node) return chart.series.map(([key, label, hue]) => ({ label, hue, values: data.series?.[key] ?? [] }));
  return (data.nodes ?? []).map((node, i) => ({
    label: node.node, hue: palette[i % palette.length], values: (node.series?.[chart.node] ?? []).map((v) => (v == null ? null : v * (chart.scale ?? 1))),
  }));
}

// began returns the first step with a value, so that a young history fills the charts.
function began(data) {
  const all = [data.series ?? {}, ...(data.nodes ?? []).map((n) => n.series ?? {})].flatMap((s) => Object.values(s));
  const first = Math.min(...all.map((v) => { const at = v.findIndex((x) => x != null); return at < 0 ? Infinity : at; }));
  const longest = Math.max(0, ...all.map((v) => v.length));
  return Number.isFinite(first) ? Math.max(0, Math.min(first - 1, longest - 30)) : 0;
}

function draw(chart, data, figure) {
  const skip = began(data);
  const found = lines(chart, data).map((l) => ({ ...l, values: l.values.slice(skip) }));
  const longest = Math.max(0, ...found.map((l) => l.values.length));
  if (!longest) return null;
  const times = Array.from({ length: longest }, (_, i) => (data.fromMs + (i + skip) * data.stepMs) / 1000);
  let columns = found.map((l) => Array.from({ length: longest }, (_, i) => l.values[i] ?? null));
  const real = columns;
  if (chart.stacked) {
    const sum = new Array(longest).fill(0);
    columns = columns.map((c) => c.map((v, i) => { if (v == null) return null; sum[i] += v; return sum[i]; }));
  }
  const order = chart.stacked ? found.map((_, i) => found.length - 1 - i) : found.map((_, i) => i);
  const grid = { stroke: color("line"), width: 1 };
  const axis = { stroke: color("muted"), grid, ticks: grid, font: "11px system-ui" };
  return new uPlot({
    width: figure.clientWidth - 20 || 340, height: 180, cursor: { sync: { key: "seriatim" }, drag: { x: true, y: false } },
    legend: { live: true }, scales: { x: { time: true }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(1, (high ?? 1) * 1.1)] } },
    axes: [{ ...axis, size: 28, values: (_, all) => all.map((v) => new Date(v * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false })) }, { ...axis, size: 52, values: (_, all) => all.map(short) }],
    series: [{ value: (_, v) => (v == null ? "" : new Date(v * 1000).toLocaleTimeString([], { hour12: false })) }, ...order.map((i) => ({
      label: found[i].label, stroke: color(found[i].hue), width: 1.5, points: { show: false }, spanGaps: false,
      fill: chart.stacked ? color(`${found[i].hue}-fill`) : undefined, value: (_, v, __, at) => short(at == null ? null : real[i][at]),
    }))],
  }, [times, ...order.map((i) => columns[i])], figure);
}

const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) target.plot?.setSize({ width: Math.max(200, target.clientWidth - 20), height: 180 });
});

async function load() {
  const into = box.querySelector(".plots");
  const query = new URLSearchParams({ since: span });
  if (box.dataset.queue) query.set("queue", box.dataset.queue);
  let answer;
  try {
    answer = await fetch(`/charts?${query}`, { headers: { "HX-Request": "true" } });
  } catch {
    return;
  }
  if (!answer.ok) {
    if (!drawn) into.textContent = "The history is not available at the moment.";
    return;
  }
  const data = await answer.json();
  plots.forEach((p) => p?.destroy());
  into.replaceChildren();
  const figures = (kinds[box.dataset.charts] ?? []).map((chart) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = chart.title;
    figure.append(caption);
    into.append(figure);
    return { chart, figure };
  });
  observer.disconnect();
  plots = figures.map(({ chart, figure }) => {
    const plot = draw(chart, data, figure);
    if (plot) { figure.plot = plot; observer.observe(figure); }
    return plot;
  });
  if (!plots.some(Boolean)) into.textContent = "The history begins now: the first points appear within seconds.";
  if (data.missing?.length) into.append(`No answer from: ${data.missing.join(", ")}`);
  drawn = "yes";
}

if (box) {
  const press = () => box.querySelectorAll("[data-span]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.span === span)));
  box.addEventListener("click", (event) => {
    const button = event.target.closest("[data-span]");
    if (!button) return;
    span = button.dataset.span;
    localStorage.setItem("seriatim-span", span);
    press();
    load();
  });
  press();
  load();
  let last = Date.now();
  document.body.addEventListener("live", () => { if (Date.now() - last > 9000) { last = Date.now(); load(); } });
  document.addEventListener("theme", load);
}
