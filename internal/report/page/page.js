"use strict";
// The data: one JSON document, and packed instruction records (see packWaves in html.go).
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const el = (tag, text, cls) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; if (cls) e.className = cls; return e; };
const num = (n) => n.toLocaleString("en-US");
const plural = (n, what) => `${num(n)} ${what}${n === 1 ? "" : "s"}`;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Theme: the system's, or the reader's choice.
const root = document.documentElement;
root.classList.toggle("dark", matchMedia("(prefers-color-scheme: dark)").matches);
$("theme").onclick = () => { root.classList.toggle("dark"); draw(); };

// Tabs.
for (const b of document.querySelectorAll("nav button")) b.onclick = () => show(b.dataset.tab);
function show(tab) {
  for (const b of document.querySelectorAll("nav button")) b.setAttribute("aria-selected", b.dataset.tab === tab);
  for (const s of document.querySelectorAll("section")) s.classList.toggle("on", s.id === tab);
  if (tab === "timeline") draw();
}

// Hot spots. A site is an instruction as the waves of one kernel ran it; groups join sites.
const columns = [["share", "%"], ["cycles", "cycles"], ["stall", "stall"], ["idle", "idle"], ["issue", "issue"], ["exposed", "exposed"], ["hits", "hits"]];
const parts = ["cycles", "stall", "idle", "issue", "exposed", "hits"];
const place = (s) => s.address ? s.object + ":" + s.address : s.text; // an instruction whose address is not known goes by what it is
let order = "cycles", falling = true;
function groups(by) {
  const map = new Map(), same = new Map();
  for (const s of data.sites) {
    if (!s.hits && !s.cycles) continue; // it never ran to its end
    const name = { insn: s.text, line: s.source, function: s.function, kernel: s.kernel, class: s.class, branch: data.branches[s.branch] }[by];
    const key = by === "insn" ? place(s) : by === "kernel" || by === "class" ? name : by === "branch" ? s.branch : s.object + ":" + name;
    let g = map.get(key);
    if (!g) {
      map.set(key, g = { name, object: s.object, cycles: 0, stall: 0, idle: 0, issue: 0, exposed: 0, hits: 0, loads: 0, sum: 0, site: s, kernels: new Map(), waits: new Map() });
      same.set(name, (same.get(name) || 0) + 1);
    }
    for (const k of parts) g[k] += s[k];
    g.loads += s.loads || 0; g.sum += s.latency || 0;
    g.kernels.set(s.kernel, (g.kernels.get(s.kernel) || 0) + s.cycles);
    for (const [site, n] of s.waits || []) {
      const to = data.sites[site], had = g.waits.get(place(to)) || { site: to, cycles: 0 };
      had.cycles += n;
      g.waits.set(place(to), had);
    }
  }
  for (const g of map.values()) {
    const of = [...g.kernels].sort((a, b) => b[1] - a[1]).map((k) => k[0]);
    g.kernel = of.slice(0, 3).join(", ") + (of.length > 3 ? ` and ${of.length - 3} more` : "");
    g.source = by === "insn" ? g.site.source : by === "kernel" || by === "class" ? "" : g.kernel;
    if ((by === "line" || by === "function") && same.get(g.name) > 1) g.name += ` (${data.objects[g.object] || "-"})`;
    g.latency = g.loads ? Math.floor(g.sum / g.loads) : -1; // -1: no wait named it
    g.waited = [...g.waits.values()].sort((a, b) => b.cycles - a.cycles)[0];
  }
  return [...map.values()];
}
function hot() {
  const by = $("by").value, insn = by === "insn", filter = $("filter").value.toLowerCase();
  const rows = groups(by).filter((g) => [g.name, g.source, g.kernel, insn ? g.site.address : ""].join(" ").toLowerCase().includes(filter));
  for (const g of rows) g.share = data.cycles ? 100 * g.cycles / data.cycles : 0;
  rows.sort((a, b) => (falling ? -1 : 1) * (order === "name" ? -a.name.localeCompare(b.name) : a[order] - b[order]));
  const table = $("hottable"), head = el("tr");
  const heads = [...columns, ["latency", "latency"], ...(insn ? [["waits", "waits for"], ["address", "address"]] : []), ["name", insn ? "instruction" : by], ...(by === "kernel" || by === "class" ? [] : [["source", insn ? "where" : "kernel"]])];
  for (const [k, label] of heads) {
    const fixed = k === "source" || k === "waits" || k === "address", th = el("th", label + (k === order ? (falling ? " ▾" : " ▴") : ""), fixed || k === "name" ? "" : "n");
    if (!fixed) th.onclick = () => { falling = order === k ? !falling : true; order = k; hot(); };
    head.append(th);
  }
  const most = rows.reduce((n, g) => Math.max(n, g.cycles), 1), out = [head];
  for (const g of rows.slice(0, 2000)) {
    const tr = el("tr");
    for (const [k] of columns) tr.append(el("td", k === "share" ? g.share.toFixed(1) : num(g[k]), "n"));
    tr.firstChild.style.background = `linear-gradient(to left, rgba(var(--heat), .45) ${100 * g.cycles / most}%, transparent 0)`;
    tr.append(el("td", g.latency < 0 ? "–" : num(g.latency), "n"));
    if (insn) {
      const td = el("td", g.waited ? g.waited.site.address || "?" : "–", "code");
      if (g.waited) {
        td.title = `${g.waited.site.text}\n${g.waited.site.source}\n${num(g.waited.cycles)} cycles`;
        td.classList.add("link");
        td.onclick = (ev) => { ev.stopPropagation(); goto(g.waited.site); };
      }
      tr.append(td, el("td", g.site.address || "–", "code"));
    }
    tr.append(el("td", g.name, "code"));
    const text = data.text[g.site.source];
    if (heads[heads.length - 1][0] === "source") tr.append(el("td", g.source + (text && (insn || by === "line") ? "  " + text : ""), "code"));
    if (insn) tr.onclick = () => goto(g.site);
    out.push(tr);
  }
  table.replaceChildren(...out);
  $("hotcount").textContent = `${num(Math.min(rows.length, 2000))} of ${plural(rows.length, "row")}, ${num(rows.reduce((n, g) => n + g.cycles, 0))} wave cycles`;
}
$("by").onchange = $("filter").oninput = hot;

// Code.
for (const [i, f] of data.code.entries()) $("function").append(new Option(`${f.name} (${num(f.cycles)} cycles)`, i));
$("function").onchange = $("ran").onchange = code;
const byPlace = new Map(groups("insn").map((g) => [place(g.site), g]));
function code() {
  const f = data.code[$("function").value || 0], out = [];
  if (!f) return;
  const head = el("tr");
  for (const [, label] of columns) head.append(el("th", label, "n"));
  head.append(el("th", "address"), el("th", "instruction"));
  out.push(head);
  let last = "";
  for (const [address, text, source] of f.lines) {
    const s = byPlace.get(place({ object: f.object, address }));
    if (!s && $("ran").checked) continue;
    if (source && source !== last) {
      last = source;
      const tr = el("tr", undefined, "src"), td = el("td", "; " + source + (data.text[source] ? "  " + data.text[source] : ""), "code");
      td.colSpan = columns.length + 2;
      tr.append(td);
      out.push(tr);
    }
    const tr = el("tr");
    tr.id = "i" + f.object + ":" + address;
    const share = s && data.cycles ? 100 * s.cycles / data.cycles : 0;
    for (const [k] of columns) tr.append(el("td", s ? (k === "share" ? share.toFixed(1) : num(s[k])) : "", "n"));
    if (share > .05) tr.style.background = `rgba(var(--heat), ${Math.min(.6, share / 25)})`;
    tr.append(el("td", address, "code"), el("td", text, "code"));
    out.push(tr);
  }
  $("codetable").replaceChildren();
  for (const row of out) $("codetable").append(row); // a call takes no list of any length
}
function goto(site) {
  if (!site.address) return;
  const i = data.code.findIndex((f) => f.object === site.object && f.lines.some((l) => l[0] === site.address));
  if (i < 0) return;
  $("function").value = i;
  code();
  show("code");
  const tr = $("i" + site.object + ":" + site.address);
  if (tr) { tr.classList.add("pick"); tr.scrollIntoView({ block: "center" }); }
}

// Records: a varint stream, gzip in base64; packWaves in html.go says what it holds.
let waves = [], streams = [], sums = [];
async function unpack() {
  const bin = Uint8Array.from(atob($("records").textContent.trim()), (c) => c.charCodeAt(0));
  const b = new Uint8Array(await new Response(new Blob([bin]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
  let at = 0;
  const next = () => { let v = 0, s = 1; for (;;) { const c = b[at++]; v += (c & 127) * s; if (c < 128) return v; s *= 128; } };
  for (let n = next(); n > 0; n--) {
    const o = { stream: streams.length, waves: next(), most: next(), steps: [] };
    let t = 0;
    for (let k = next(); k > 0; k--) o.steps.push([t += next(), next(), next() / 100]);
    streams.push(o);
  }
  if (next() === 1) {
    for (let n = next(); n > 0; n--) {
      const o = { stream: next(), from: next(), per: next(), cells: next(), rows: [] };
      for (let k = next(); k > 0; k--) {
        const r = { key: next() * 4096 + next() * 64 + next(), sums: new Float64Array(3 * o.cells) };
        for (let i = 0; i < r.sums.length; i++) r.sums[i] = next();
        o.rows.push(r);
      }
      sums.push(o);
    }
    return;
  }
  for (let n = next(); n > 0; n--) {
    const w = { stream: next(), cu: next(), simd: next(), slot: next(), start: next() };
    w.stop = w.start + next();
    const count = next();
    w.site = new Uint32Array(count); w.time = new Float64Array(count); w.stall = new Uint32Array(count); w.dur = new Uint32Array(count);
    let end = w.start;
    for (let i = 0; i < count; i++) {
      w.site[i] = next(); w.time[i] = end + next(); w.stall[i] = next(); w.dur[i] = w.stall[i] + next();
      end = w.time[i] + w.dur[i];
    }
    waves.push(w);
  }
}

// Timeline: an occupancy graph over a row per slot.
let groupList = [], view = { from: 0, to: 1 };
const canvas = $("canvas"), graph = 70, rowHeight = 18, markHeight = 15, label = 190;
function pickGroup() {
  const g = groupList[$("group").value];
  if (!g) return;
  view = { from: g.from, to: g.to };
  draw();
}
function makeGroups() {
  const map = new Map();
  const group = (o) => {
    let g = map.get(o.stream);
    if (!g) map.set(o.stream, g = { stream: o.stream, from: Infinity, to: -Infinity, rows: new Map(), marks: new Map(), steps: [], most: 1, all: 0, traced: 0 });
    return g;
  };
  const row = (g, key) => {
    if (!g.rows.has(key)) g.rows.set(key, []);
    return g.rows.get(key);
  };
  for (const o of streams) {
    if (!o.waves) continue;
    const g = group(o);
    g.all += o.waves; g.most = Math.max(g.most, o.most); g.steps = o.steps;
    g.from = Math.min(g.from, o.steps[0][0]); g.to = Math.max(g.to, o.steps[o.steps.length - 1][0]);
  }
  for (const w of waves) {
    const g = group(w);
    g.from = Math.min(g.from, w.start); g.to = Math.max(g.to, w.stop);
    g.traced++;
    row(g, w.cu * 4096 + w.simd * 64 + w.slot).push(w);
  }
  for (const o of sums) {
    const g = group(o);
    g.sums = o; g.traced = 1;
    g.from = Math.min(g.from, o.from); g.to = Math.max(g.to, o.from + o.per);
    for (const r of o.rows) g.rows.set(r.key, r);
  }
  for (const m of data.markers) {
    const g = group({ stream: m[0] }), key = m[1] * 4096 + m[2] * 64 + m[3];
    g.from = Math.min(g.from, m[4]); g.to = Math.max(g.to, m[5]);
    if (!g.rows.has(key)) g.rows.set(key, []);
    if (!g.marks.has(key)) g.marks.set(key, []);
    g.marks.get(key).push({ start: m[4], stop: m[5], depth: m[6], name: m[7] });
  }
  groupList = [...map.values()].sort((a, b) => (b.traced > 0) - (a.traced > 0) || a.stream - b.stream);
  for (const g of groupList) {
    g.to = Math.max(g.to, g.from + 1);
    g.order = [...g.rows.keys()].sort((a, b) => a - b);
    g.tops = []; // where each row begins: rows with markers are higher
    let y = graph + 24;
    for (const key of g.order) {
      g.tops.push(y);
      y += rowHeight + (g.marks.has(key) ? markHeight : 0);
    }
    g.height = y;
    for (const list of g.rows.values()) if (Array.isArray(list)) list.sort((a, b) => a.start - b.start);
    const what = g.sums ? "instructions in sums" : `${num(g.traced)} with instructions`, of = data.streams[g.stream];
    $("group").append(new Option(`${of.name}${of.kernel ? ": " + of.kernel : ""}: ${plural(g.all, "wave")}, ${what}, ${num(of.cycles)} cycles`, groupList.indexOf(g)));
  }
  $("group").onchange = pickGroup;
  const cycles = groupList.map((g) => data.streams[g.stream].cycles); // it opens where most of them went
  $("group").value = cycles.indexOf(Math.max(...cycles));
  pickGroup();
}
// lane names a row as the terminal does.
function lane(row) {
  const [array, unit] = data.units[Math.floor(row / 4096)] || ["?", "?"];
  return `array ${array} ${data.unit} ${unit} SIMD ${Math.floor(row / 64) % 64} slot ${row % 64}`;
}
function draw() {
  const g = groupList[$("group").value];
  if (!g || !$("timeline").classList.contains("on")) return;
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth || 800, height = g.height;
  canvas.style.height = height + "px";
  canvas.width = width * ratio; canvas.height = height * ratio;
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  c.clearRect(0, 0, width, height);
  c.font = "12px system-ui, sans-serif"; c.textBaseline = "middle";
  const x = (t) => label + (t - view.from) / (view.to - view.from) * (width - label);
  c.fillStyle = css("--dim");
  c.fillText(`waves on the engine (up to ${g.most})`, 4, graph / 2, label - 8);
  c.fillStyle = css("--wave");
  const px = Math.ceil(width - label), most = new Float64Array(px), mean = new Float64Array(px);
  for (let i = first(g.steps, view.from); i < g.steps.length && g.steps[i][0] <= view.to; i++) {
    const [t, m, n] = g.steps[i], end = i + 1 < g.steps.length ? g.steps[i + 1][0] : g.to;
    if (m) pixels(x(t), x(end), px, (p, part) => { most[p] = Math.max(most[p], m); mean[p] += n * part; });
  }
  for (let p = 0; p < px; p++) { // the most at once pale, the mean full
    c.globalAlpha = .45;
    bar(c, label + p, graph, most[p] / g.most * (graph - 6));
    c.globalAlpha = 1;
    bar(c, label + p, graph, Math.min(mean[p], most[p]) / g.most * (graph - 6));
  }
  c.fillStyle = css("--dim");
  const step = 10 ** Math.floor(Math.log10((view.to - view.from) / 4));
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    c.fillRect(x(t), graph, 1, 5);
    if (Math.round(t / step) % 2 === 0) {
      const text = num(Math.round(t));
      c.fillText(text, Math.min(x(t) + 3, width - c.measureText(text).width - 2), graph + 10); // the last one stays inside
    }
  }
  const colours = [css("--idle"), css("--stall"), css("--issue")];
  g.order.forEach((row, i) => {
    const y = g.tops[i];
    c.fillStyle = css("--fg");
    c.fillText(lane(row), 4, y + rowHeight / 2, label - 8);
    const what = g.rows.get(row);
    if (Array.isArray(what)) drawWaves(c, what, y + 2, rowHeight - 4, x, width, colours);
    else drawSums(c, g.sums, what.sums, y + 2, rowHeight - 4, x, width, colours);
    for (const m of g.marks.get(row) || []) if (m.stop >= view.from && m.start <= view.to) drawMark(c, m, y + rowHeight - 1, x, width);
  });
  $("range").textContent = `cycles ${num(Math.round(view.from))} to ${num(Math.round(view.to))}`;
}
// first is the index of the last step that begins before t.
function first(steps, t) {
  let lo = 0, hi = steps.length;
  while (lo < hi) { const m = lo + hi >> 1; if (steps[m][0] < t) lo = m + 1; else hi = m; }
  return Math.max(0, lo - 1);
}
// drawMark draws a span below its wave; those inside others cover them.
function drawMark(c, m, y, x, width) {
  const a = Math.max(x(m.start), label), b = Math.min(x(m.stop), width);
  if (b < label || a > width) return;
  c.fillStyle = `hsl(${(210 + m.name * 47) % 360} 50% 42%)`;
  const inset = Math.min(m.depth, 3) * 2;
  c.fillRect(a, y + inset / 2, Math.max(b - a, 2), markHeight - 2 - inset);
  if (b - a > 40) {
    c.fillStyle = "#fff";
    c.fillText(data.names[m.name], a + 3, y + (markHeight - 2) / 2, b - a - 6);
  }
}
// pixels calls f for each column of pixels right of the labels that a..b touches, with how much of it that is.
function pixels(a, b, px, f) {
  a = Math.max(a - label, 0); b = Math.min(b - label, px);
  for (let p = Math.floor(a); p < b; p++) f(p, Math.min(b, p + 1) - Math.max(a, p));
}
function bar(c, x, bottom, height) { if (height > 0) c.fillRect(x, bottom - height, 1, height); }
// drawSums draws a row of cells: each column of pixels is split by state, as high as it is filled.
function drawSums(c, o, sums, y, h, x, width, colours) {
  const lo = Math.max(0, Math.floor((view.from - o.from) / o.per)), hi = Math.min(o.cells - 1, Math.ceil((view.to - o.from) / o.per));
  const px = Math.ceil(width - label), n = [new Float64Array(px), new Float64Array(px), new Float64Array(px)];
  for (let i = lo; i <= hi; i++) {
    const a = x(o.from + i * o.per), b = x(o.from + (i + 1) * o.per);
    pixels(a, b, px, (p, part) => { for (let s = 0; s < 3; s++) n[s][p] += sums[3 * i + s] * part / (b - a); });
  }
  const per = (view.to - view.from) / (width - label); // cycles a pixel
  for (const s of [0, 1, 2]) {
    c.fillStyle = colours[s];
    for (let p = 0; p < px; p++) { // issue on top
      let bottom = y + h;
      for (let k = 0; k < s; k++) bottom -= Math.min(1, n[k][p] / per) * h;
      bar(c, label + p, bottom, Math.min(1, n[s][p] / per) * h);
    }
  }
}
// drawWaves draws a row of waves. A pixel takes the state of most of the wave cycles in it: every span is spread over the pixels that it touches.
function drawWaves(c, list, y, h, x, width, colours) {
  const px = Math.ceil(width - label), n = [new Float64Array(px), new Float64Array(px), new Float64Array(px)], ends = [];
  const add = (state, from, to) => { if (to > from) pixels(x(from), x(to), px, (p, part) => { n[state][p] += part; }); };
  for (const w of list) {
    if (w.stop < view.from || w.start > view.to) continue;
    let lo = 0, hi = w.time.length;
    while (lo < hi) { const m = lo + hi >> 1; if (w.time[m] + w.dur[m] < view.from) lo = m + 1; else hi = m; }
    let end = lo ? w.time[lo - 1] + w.dur[lo - 1] : w.start;
    for (let i = lo; i < w.time.length && end <= view.to; i++) {
      const ready = w.time[i], issue = ready + w.stall[i];
      add(0, end, ready); add(1, ready, issue); add(2, issue, end = ready + w.dur[i]);
    }
    if (end <= view.to) add(0, end, w.stop);
    if (w.stop === w.start) add(0, w.start, w.start + 1e-3); // it shows that it was there
    if (x(w.stop) - Math.max(x(w.start), label) > 3) ends.push(Math.floor(x(w.stop)) - 1);
  }
  const state = (p) => n[0][p] + n[1][p] + n[2][p] === 0 ? -1 : n[2][p] >= n[1][p] && n[2][p] >= n[0][p] ? 2 : n[1][p] >= n[0][p] ? 1 : 0;
  for (let p = 0; p < px;) { // runs of one state are one rectangle
    const s = state(p), from = p;
    do p++; while (p < px && state(p) === s);
    if (s < 0) continue;
    c.fillStyle = colours[s];
    c.fillRect(label + from, y, p - from, h);
  }
  c.fillStyle = css("--bg");
  for (const p of ends) if (p < width) c.fillRect(p, y, 1, h); // between one wave and the next
}
const time = (ev) => { const r = canvas.getBoundingClientRect(); return view.from + Math.max(0, ev.clientX - r.left - label) / (r.width - label) * (view.to - view.from); };
function clampView(g, from, to) {
  const span = Math.min(Math.max(to - from, 20), g.to - g.from);
  from = Math.min(Math.max(from, g.from), g.to - span);
  view = { from, to: from + span };
  draw();
}
canvas.addEventListener("wheel", (ev) => {
  const g = groupList[$("group").value];
  if (!g) return;
  ev.preventDefault();
  const t = time(ev), f = Math.exp(ev.deltaY * .0015);
  clampView(g, t - (t - view.from) * f, t + (view.to - t) * f);
}, { passive: false });
let drag = null;
canvas.onpointerdown = (ev) => { drag = { x: ev.clientX, ...view }; canvas.setPointerCapture(ev.pointerId); };
canvas.onpointerup = () => { drag = null; };
canvas.onpointermove = (ev) => {
  const g = groupList[$("group").value];
  if (!g) return;
  if (drag) {
    const d = (drag.x - ev.clientX) / (canvas.clientWidth - label) * (drag.to - drag.from);
    clampView(g, drag.from + d, drag.to + d);
    return;
  }
  const r = canvas.getBoundingClientRect(), y = ev.clientY - r.top, i = g.tops.findLastIndex((top) => top <= y), t = time(ev), tip = $("tip");
  const lines = i < 0 ? [] : about(g, g.order[i], t);
  tip.style.display = lines.length ? "block" : "none";
  tip.textContent = lines.join("\n");
  tip.style.left = Math.min(ev.clientX + 12, innerWidth - 380) + "px";
  tip.style.top = ev.clientY + 14 + "px";
};
// about says what a row held at a time.
function about(g, row, t) {
  const lines = [], what = g.rows.get(row);
  if (!Array.isArray(what)) {
    const i = Math.floor((t - g.sums.from) / g.sums.per);
    if (i >= 0 && i < g.sums.cells) lines.push(`cycles ${num(g.sums.from + i * g.sums.per)} to ${num(g.sums.from + (i + 1) * g.sums.per)}`, `issue ${num(what.sums[3 * i + 2])}, stall ${num(what.sums[3 * i + 1])}, idle ${num(what.sums[3 * i])}`);
  } else {
    const w = what.find((w) => w.start <= t && t <= w.stop);
    if (w) {
      lines.push(`wave ${num(w.start)} to ${num(w.stop)} (${num(w.stop - w.start)} cycles)`);
      const k = w.time.findLastIndex((s) => s <= t), s = k >= 0 ? data.sites[w.site[k]] : null;
      if (s) lines.push(s.text, `${s.address}  ${s.source}`, `ready ${num(w.time[k])}, stalled ${num(w.stall[k])}, ran ${num(w.dur[k] - w.stall[k])}`);
    }
  }
  for (const m of g.marks.get(row) || []) if (m.start <= t && t <= m.stop) lines.push(`${" ".repeat(m.depth)}▸ ${data.names[m.name]}: ${num(m.start)} to ${num(m.stop)} (${num(m.stop - m.start)} cycles)`);
  return lines;
}
canvas.onpointerleave = () => { $("tip").style.display = "none"; };
$("whole").onclick = pickGroup;
$("in").onclick = () => { const g = groupList[$("group").value], m = (view.to - view.from) / 4; if (g) clampView(g, view.from + m, view.to - m); };
$("out").onclick = () => { const g = groupList[$("group").value], m = (view.to - view.from) / 2; if (g) clampView(g, view.from - m, view.to + m); };
addEventListener("resize", draw);

// Advice and quality.
for (const a of data.advice) {
  const div = el("div", undefined, "advice"), p = el("p");
  p.append(el("b", a.rule), el("b", a.title));
  p.firstChild.className = "code rule";
  div.append(p, el("p", a.evidence));
  if (a.instruction) {
    const at = el("div", `${a.kernel}  ${a.address || ""}  ${a.instruction}  ${a.source}`, "code link"), site = data.sites.find((s) => s.address && s.address === a.address && s.text === a.instruction && s.kernel === a.kernel);
    if (site) at.onclick = () => goto(site);
    div.append(at);
  }
  $("advices").append(div);
}
if (!data.advice.length) $("advices").append(el("p", "No rule speaks: nothing stands out by its numbers."));
for (const [k, v] of data.quality) $("facts").append(el("dt", k), el("dd", v));
for (const n of data.notes) $("notes").append(el("li", n.text, n.level === "info" ? "" : "warning"));
if (data.coarse) { $("coarse").textContent = data.coarse; $("coarse").hidden = false; }
if (data.omitted) $("notes").append(el("li", `the timeline leaves out ${plural(data.omitted, "marker")}; rigprof waves --format json has them`, "warning"));
hot();
code();
show("hot");
unpack().then(makeGroups).then(() => { root.dataset.ready = "yes"; draw(); }, (err) => {
  root.dataset.ready = "no";
  $("range").textContent = "The timeline needs a browser with DecompressionStream: " + err;
});
