"use strict";
// All text of the run is inserted as text nodes, never as markup.
const run = JSON.parse(document.getElementById("data").textContent);
const byId = new Map(run.candidates.map((c) => [c.id, c]));
const at = (id) => document.getElementById(id);
const kOrigins = ["main", "fork", "harvest"];

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
function draw(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const digits = (x) => (x === 0 ? "0" : Math.abs(x) >= 100 ? x.toFixed(0) : x.toPrecision(3));
const times = (x) => digits(x) + "×";
function count(n) {
  const size = Math.abs(n);
  if (size >= 1e6) return digits(n / 1e6) + " M";
  return size >= 1e4 ? digits(n / 1e3) + " k" : String(Math.round(n));
}
function span(seconds) {
  if (seconds >= 3600) return Math.floor(seconds / 3600) + " h " + Math.round((seconds % 3600) / 60) + " min";
  if (seconds >= 60) return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  return seconds >= 1 || seconds === 0 ? digits(seconds) + " s" : digits(1000 * seconds) + " ms";
}
const percent = (share) => digits(100 * share) + " %";

function tip(event, text) {
  const hint = at("tip");
  hint.textContent = text;
  hint.style.display = text ? "block" : "none";
  hint.style.left = Math.max(0, Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8)) + "px";
  hint.style.top = event.clientY + 16 + "px";
}

// --- the head of the page
at("state").textContent = { ended: "ended: " + run.why, interrupted: "interrupted, can be resumed", running: "running" }[run.state];
at("lead").textContent = run.lead;
at("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
function card(figure, text, kind) {
  at("cards").append(make("div", { class: "card " + (kind || "") }, make("b", {}, figure), make("span", {}, text)));
}
for (const task of run.tasks.slice(0, 4)) {
  card(task.best ? times(task.best.speedup.median) : "–", task.name + ", best against baseline", "hero");
}
card(percent(run.ledger.ended_early.share), "of iterations stopped early");
card(span(run.ledger.saved.seconds), "of reasoning saved" + (run.ledger.shadows.count ? ", measured" : ", estimated"));
card(count(run.tokens.main + run.tokens.forks + run.tokens.other), "tokens spent");
card(percent(run.utilization), "of device time in use");
card(span(run.wall_s), "wall time");
for (const problem of run.problems) at("problems").append(make("p", { class: "fault" }, "Problem: " + problem));

// --- speedup over time
function ticks(low, high, count) {
  const step = [1, 2, 5].map((m) => m * 10 ** Math.floor(Math.log10((high - low) / count || 1)))
    .concat(10 ** (Math.floor(Math.log10((high - low) / count || 1)) + 1)).find((s) => (high - low) / s <= count) || 1;
  const all = [];
  for (let x = Math.ceil(low / step - 1e-9) * step; x <= high + step * 1e-9; x += step) all.push(x);
  return all;
}
function timeTicks(end, count) {
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];
  const step = steps.find((s) => end / s <= count) || Math.ceil(end / count / 86400) * 86400;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}
function clock(seconds) {
  if (seconds < 60) return digits(seconds) + " s";
  const minutes = Math.floor(seconds / 60), rest = Math.round(seconds % 60);
  if (minutes < 60) return minutes + " min" + (rest ? " " + rest + " s" : "");
  return Math.floor(minutes / 60) + " h" + (minutes % 60 ? " " + (minutes % 60) + " min" : "");
}
function speedupChart(task, number) {
  const width = 1100, height = 260, left = 46, right = 14, top = 12, bottom = 28;
  // A tuned candidate is drawn twice: before and after tuning.
  const known = run.candidates.filter((c) => c.task === number && c.speedup && !c.shadow).flatMap((c) => !c.tuned ? [c] :
    [{ ...c, speedup: c.tuned.before }, { ...c, judged: c.tuned.at, trigger: "tuned: " + tunablesOf(run.evaluations[c.evaluation] || {}) }]);
  const end = Math.max(run.wall_s, 1e-3), highest = Math.max(1.1, ...known.map((c) => c.speedup.high)) * 1.05;
  const x = (s) => left + ((width - left - right) * s) / end;
  const y = (v) => height - bottom - ((height - top - bottom) * v) / highest;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  for (const v of ticks(0, highest, 6)) {
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v) }),
      draw("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, Number(v.toPrecision(3)) + "×"));
  }
  for (const s of timeTicks(end, 9)) {
    svg.append(draw("text", { x: x(s), y: height - 8, "text-anchor": "middle" }, clock(s)));
  }
  svg.append(draw("line", { x1: left, x2: width - right, y1: y(1), y2: y(1), stroke: "var(--faint)", "stroke-dasharray": "4 4" }));
  let best = 0, path = "";
  for (const c of [...known].sort((a, b) => a.judged - b.judged)) {
    if (c.verdict !== "ok" || c.speedup.median <= best) continue;
    path += path ? `H${x(c.judged)}V${y(c.speedup.median)}` : `M${x(c.judged)} ${y(0)}V${y(c.speedup.median)}`;
    best = c.speedup.median;
  }
  if (path) svg.append(draw("path", { d: path + `H${x(end)}`, fill: "none", stroke: "var(--best)", "stroke-width": 2, opacity: 0.75 }));
  for (const c of known) {
    if (known.length <= 400) {
      svg.append(draw("line", { x1: x(c.judged), x2: x(c.judged), y1: y(c.speedup.low), y2: y(c.speedup.high),
        stroke: `var(--${c.origin})`, "stroke-width": 1.5, opacity: 0.5 }));
    }
    svg.append(draw("circle", {
      class: "dot", cx: x(c.judged), cy: y(c.speedup.median), r: known.length > 400 ? 3 : 4.5, fill: `var(--${c.origin})`, "fill-opacity": 0.85,
      onclick: () => show(c.id),
      onmousemove: (event) => tip(event, `c${c.id} · ${c.origin}${c.trigger ? " (" + c.trigger + ")" : ""}\n` +
        `${times(c.speedup.median)} (${digits(c.speedup.low)} to ${digits(c.speedup.high)})\nat ${span(c.judged)}`),
      onmouseleave: (event) => tip(event, ""),
    }));
  }
  const legend = make("div", { class: "legend" });
  for (const origin of kOrigins) {
    legend.append(make("span", {}, make("i", { style: `background: var(--${origin})` }), origin));
  }
  legend.append(make("span", {}, "line: best so far"), make("span", {}, "dashed: the baseline"));
  return make("div", { class: "panel" }, make("h3", {}, task.name), legend, make("div", { class: "scroll" }, svg));
}
// Instead of an empty chart: why there is no kernel yet, and what to do.
function emptyPanel(task) {
  return make("div", { class: "panel" }, make("h3", {}, task.name), make("p", { class: "empty" },
    make("b", {}, "No result: "), task.no_result.reason + ".", make("br"), make("b", {}, "What to do: "), task.no_result.advice + "."));
}
run.tasks.forEach((task, number) => at("speedups").append(task.no_result ? emptyPanel(task) : speedupChart(task, number)));

// --- the ledger
const ledger = run.ledger;
function bar(parts) {
  const total = parts.reduce((sum, part) => sum + part[1], 0) || 1;
  return make("div", { class: "bar" }, ...parts.map(([name, n, colour]) =>
    make("i", { style: `width: ${(100 * n) / total}%; background: ${colour}`, title: `${name}: ${n}` })));
}
function listOf(pairs) {
  const list = make("dl", { class: "facts" });
  for (const [name, value] of pairs) if (value !== null) list.append(make("dt", {}, name), make("dd", {}, String(value)));
  return list;
}
const early = ledger.ended_early;
at("ledger").append(
  make("div", { class: "panel" }, make("h3", {}, "How iterations ended"),
    bar([["stopped by harvest", early.harvest, "var(--harvest)"], ["stopped by a fork", early.fork, "var(--fork)"],
      ["answered", ledger.answered, "var(--main)"],
      ["abandoned", ledger.abandoned, "var(--faint)"], ["other", ledger.no_kernel + ledger.failed + ledger.interrupted, "var(--faint)"]]),
    listOf([["iterations", ledger.iterations], ["stopped early by harvest", early.harvest], ["stopped early by a fork", early.fork],
      ["reasoned to the end", ledger.answered], ["answered without a kernel", ledger.no_kernel], ["abandoned or restarted", ledger.abandoned],
      ["model failed", ledger.failed], ["interrupted or superseded", ledger.interrupted], ["feedback per 100 iterations", digits(ledger.feedback_per_100)],
      ["candidates profiled", ledger.profiled]])),
  make("div", { class: "panel" }, make("h3", {}, "Saved, paid, net"),
    bar([["main tokens", run.tokens.main, "var(--main)"], ["fork tokens", run.tokens.forks, "var(--fork)"],
      ["other tokens", run.tokens.other, "var(--faint)"], ["saved", Math.max(0, ledger.saved.tokens), "var(--harvest)"]]),
    listOf([["tokens of main generations", count(run.tokens.main)], ["tokens of forks (overhead)", count(run.tokens.forks)],
      ["tokens of other roles", count(run.tokens.other)], ["tokens saved", count(ledger.saved.tokens)],
      ["net tokens", (ledger.net_tokens >= 0 ? "+" : "") + count(ledger.net_tokens)],
      ["reasoning time saved", span(ledger.saved.seconds)], ["device time of speculation", span(ledger.overhead.device_s)],
      ["triggers that did not become forks", Object.entries(ledger.triggers_refused).filter(([, n]) => n)
        .map(([why, n]) => `${why.replaceAll("_", " ")}: ${n}`).join(", ") || "none"],
      ["possibly charged in addition", run.tokens.maybe_charged ? count(run.tokens.maybe_charged) : null],
      ["money", run.dollars ? "$" + run.dollars.toFixed(2) : null]])),
  make("div", { class: "panel" }, make("h3", {}, "Measured by shadows"),
    make("p", {}, ledger.shadows.count
      ? "Generations that were stopped but continued unused to their end: what stopping them saved, and the kernels it missed."
      : "No generation continued as a shadow (--shadow P): savings are estimates."),
    ledger.shadows.count ? listOf([["shadows", ledger.shadows.count], ["tokens, measured", count(ledger.shadows.tokens)],
      ["tokens, as estimated", count(ledger.shadows.tokens_estimated)], ["time, measured", span(ledger.shadows.seconds)],
      ["better kernels that were missed", ledger.shadows.forgone_better]]) : null),
  make("div", { class: "panel" }, make("h3", {}, "Where kernels came from"), originTable()));
function originTable() {
  const table = make("tbody", {}, make("tr", {}, ...["origin", "found", "ok", "profiled", "withdrawn", "best", "device time"]
    .map((name, i) => make("th", { class: i ? "n" : "" }, name))));
  for (const origin of kOrigins) {
    const o = ledger.origins[origin];
    table.append(make("tr", {}, make("td", { class: "origin " + origin }, origin),
      ...[o.found, o.ok, o.profiled, o.withdrawn, o.best ? times(o.best) : "–", span(o.device_s)]
        .map((value) => make("td", { class: "n" }, String(value)))));
  }
  return make("div", { class: "scroll" }, make("table", {}, table));
}

// --- candidates
const kPage = 100;
let shownRows = kPage, order = "id", upwards = true, open = new Set();
const filter = { text: "", task: "", origin: "", verdict: "" };
const columns = [
  ["id", "candidate", (c) => c.id, true], ["task", "task", (c) => run.tasks[c.task].name],
  ["origin", "origin", (c) => c.origin], ["verdict", "verdict", (c) => c.verdict],
  ["speedup", "speedup", (c) => (c.speedup ? c.speedup.median : -1), true], ["peak", "peak", (c) => c.peak || -1, true],
  ["found", "found at", (c) => c.found, true], ["iteration", "iteration", (c) => c.iteration, true],
];
function matches(c) {
  if (filter.task && run.tasks[c.task].name !== filter.task) return false;
  if (filter.origin && c.origin !== filter.origin) return false;
  if (filter.verdict && c.verdict !== filter.verdict) return false;
  if (!filter.text) return true;
  const needle = filter.text.toLowerCase();
  return ["c" + c.id, c.evidence, c.trigger, run.sources[c.source] || ""].some((text) => text.toLowerCase().includes(needle));
}
function choice(name, values) {
  const select = make("select", { "aria-label": name, onchange: () => { filter[name] = select.value; refresh(true); } },
    make("option", { value: "" }, "any " + name), ...values.map((value) => make("option", { value }, value)));
  return select;
}
const search = make("input", { type: "search", placeholder: "search sources and evidence",
  oninput: () => { filter.text = search.value; refresh(true); } });
const counted = make("span", { class: "count" });
const verdicts = [...new Set(run.candidates.map((c) => c.verdict))].sort();
at("tools").append(search, run.tasks.length > 1 ? choice("task", run.tasks.map((t) => t.name)) : "",
  choice("origin", kOrigins), choice("verdict", verdicts), counted);
at("head").append(make("tr", {}, ...columns.map(([key, title, , isNumber]) => make("th", { class: "sort" + (isNumber ? " n" : ""),
  onclick: () => { upwards = order === key ? !upwards : key !== "speedup"; order = key; refresh(true); } }, title)),
  make("th", {}, "evidence")));
at("more").addEventListener("click", () => { shownRows += 5 * kPage; refresh(false); });

function refresh(fromStart) {
  if (fromStart) shownRows = kPage;
  const value = columns.find((column) => column[0] === order)[2];
  const found = run.candidates.filter(matches).sort((a, b) => {
    const x = value(a), y = value(b);
    return (x < y ? -1 : x > y ? 1 : a.id - b.id) * (upwards ? 1 : -1);
  });
  counted.textContent = `${found.length} of ${run.candidates.length}`;
  at("more").style.display = found.length > shownRows ? "" : "none";
  at("rows").replaceChildren(...found.slice(0, shownRows).flatMap(rowsOf));
}
// The details have all of it.
const shortened = (text) => (text.length > 300 ? text.slice(0, 300) + " …" : text);
function rowsOf(c) {
  const ok = c.verdict === "ok";
  const row = make("tr", { class: "row" + (run.tasks[c.task].best_id === c.id ? " best" : ""), id: "c" + c.id,
    onclick: () => {
      if (open.delete(c.id)) return row.nextSibling.remove();
      open.add(c.id);
      row.after(detailOf(c));
    } },
    make("td", { class: "n" }, "c" + c.id), make("td", {}, run.tasks[c.task].name),
    make("td", { class: "nowrap" }, make("span", { class: "origin " + c.origin }, c.origin),
      c.trigger ? make("span", { class: "soft" }, " " + c.trigger) : "", c.shadow ? make("span", { class: "soft" }, " shadow") : ""),
    make("td", { class: ok ? "ok" : c.judged === null || c.verdict === "withdrawn" ? "soft" : "fault" }, c.verdict),
    make("td", { class: "n" }, c.speedup ? `${times(c.speedup.median)} (${digits(c.speedup.low)}–${digits(c.speedup.high)})` : "–"),
    make("td", { class: "n" }, c.peak ? percent(c.peak) : "–"), make("td", { class: "n" }, span(c.found)),
    make("td", { class: "n" }, "i" + c.iteration), make("td", {}, make("div", { class: "evidence" }, shortened(c.evidence))));
  return open.has(c.id) ? [row, detailOf(c)] : [row];
}
function detailOf(c) {
  const evaluation = run.evaluations[c.evaluation] || {};
  const profile = evaluation.profile || {};
  const body = make("div", {});
  const source = run.sources[c.source];
  const parent = byId.get(c.parent);
  const tabs = make("div", { class: "tabs" });
  function tab(name, fill) {
    const button = make("button", { onclick: () => {
      for (const other of tabs.children) other.classList.remove("on");
      button.classList.add("on");
      body.replaceChildren(fill());
    } }, name);
    tabs.append(button);
    return button;
  }
  const first = source !== undefined ? tab("source", () => sourceOf(source)) : null;
  const changes = c.diff && parent ? tab("diff to c" + c.parent, () => diffOf(run.sources[parent.source], source, c.diff)) : null;
  if (Object.keys(evaluation).length) tab("evaluation", () => make("pre", {}, make("div", {}, JSON.stringify(evaluation, null, 2))));
  const cell = make("td", { colspan: columns.length + 1 },
    listOf([["origin", c.origin + (c.trigger ? ", trigger " + c.trigger : "") + (c.prefix ? `, after ${count(c.prefix)} tokens of reasoning` : "")],
      ["evidence", c.evidence || null], ["limited by", profile.limit ? `${profile.limit}, ${percent(profile.peak_fraction || 0)} of what it allows` : null],
      ["profile", profile.text || null], ["tunables", tunablesOf(evaluation)],
      ["tuned", c.tuned ? `from ${times(c.tuned.before.median)}, ${span(c.tuned.at)} after the run began (${c.tuned.stages})` : null],
      ["judged", c.judged === null ? "not yet" : `${span(c.judged)} after the run began${c.repeated ? ", same as an earlier one" : ""}`],
      ["stages", c.stages || null], ["source", c.source]]), tabs, body);
  (changes || first || { click() {} }).click();
  const row = make("tr", { class: "detail" }, cell);
  cell.addEventListener("click", (event) => event.stopPropagation());
  return row;
}
function tunablesOf(evaluation) {
  const all = Object.entries(evaluation.tunables || {});
  return all.length ? all.map(([name, value]) => `${name} = ${value}`).join(", ") : null;
}
const linesOf = (text) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
function sourceOf(text) {
  return make("pre", {}, ...linesOf(text).map((line) => make("div", {}, line)));
}
// `runs`: [kind, lines], kinds " ", "-", "+"; unchanged lines far from any change are left out.
function diffOf(before, after, runs) {
  const from = linesOf(before), to = linesOf(after), pre = make("pre", {});
  const context = 4;
  let x = 0, y = 0;
  runs.forEach(([kind, lines], index) => {
    for (let i = 0; i < lines; ++i) {
      const near = i < context && index > 0 || i >= lines - context && index < runs.length - 1;
      if (kind === " " && !near) {
        if (i === (index > 0 ? context : 0)) pre.append(make("div", { class: "gap" }, "⋯"));
      } else {
        pre.append(make("div", { class: kind === "+" ? "added" : kind === "-" ? "removed" : "" },
          kind + " " + (kind === "+" ? to[y] : from[x])));
      }
      if (kind !== "+") ++x;
      if (kind !== "-") ++y;
    }
  });
  return pre;
}
function show(id) {
  for (const key of Object.keys(filter)) filter[key] = "";
  open.add(id);
  order = "id";
  upwards = true;
  shownRows = Math.max(kPage, run.candidates.findIndex((c) => c.id === id) + kPage);
  refresh(false);
  at("c" + id).scrollIntoView({ behavior: "smooth", block: "start" });
}
refresh(true);

// --- the manifest
function addManifest(prefix, value) {
  if (value !== null && typeof value === "object") {
    for (const [key, member] of Object.entries(value)) addManifest(prefix ? prefix + "." + key : key, member);
  } else {
    at("manifest").append(make("tr", {}, make("td", { class: "soft" }, prefix), make("td", { class: "evidence" }, String(value))));
  }
}
addManifest("", run.manifest || { manifest: "none" });
