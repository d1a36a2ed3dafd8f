/* Draws the panels: one canvas, one time axis, one cursor. What is drawn was computed before; nothing is fetched. */
const D = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement, box = document.getElementById('panels'), legend = document.getElementById('legend');
const readout = document.getElementById('readout');
const FONT = '11px system-ui,-apple-system,"Segoe UI",sans-serif', ROW = 17, CAPTION = 16, MAX_LANES = 6;
const OK = 2, FAIL = 3, INFO = 4, UNSENT = 5, REFUSED = 6;
const TONE = {[OK]: 'ok', [FAIL]: 'fail', [INFO]: 'info', [UNSENT]: 'unsent', [REFUSED]: 'unsent'};
const WORDS = {[OK]: 'ok', [FAIL]: 'failed for certain', [INFO]: 'unknown outcome', [UNSENT]: 'not sent', [REFUSED]: 'refused by design'};
const HUES = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'], DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]];
const el = (tag, className, text) => { const e = document.createElement(tag); if (className) e.className = className; if (text != null) e.textContent = text; return e; };

/* ---- operations: columns of numbers laid out byte by byte, then their lines (reports/page/latency_points.py) ---- */
async function unpacked() {
  const text = document.getElementById('points').textContent.trim();
  if (!text) return new Uint8Array();
  if (!window.DecompressionStream) { box.before(el('p', 'box', 'This browser cannot unpack the operations of this page: a newer one draws them.')); return null; }
  const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer());
}
const raw = await unpacked(), N = raw ? D.points.count : 0;
let read = 0;
function column(width) {
  const out = new Uint32Array(N);
  for (let place = 0; place < width; place++, read += N) for (let i = 0; i < N; i++) out[i] += raw[read + i] * 2 ** (8 * place);
  return out;
}
const T = new Float64Array(N), L = new Float64Array(N);
{
  let ticks = 0; column(4).forEach((delta, i) => { ticks += delta; T[i] = ticks / D.points.ticks; });
  column(2).forEach((code, i) => { L[i] = code ? D.points.floor * Math.expm1((code - 1) / D.points.steps) : -1; });
}
const CLIENT = column(2), KEY = column(4), KIND = column(1), OP = column(1), NODE = column(1), ERROR = column(2), PROCESS = column(4);
let lines = null;
const texts = () => lines ||= raw?.length ? JSON.parse(new TextDecoder().decode(raw.subarray(read))) : {lines: {}, logs: []};
const lineOf = i => texts().lines[i] || D.ops[OP[i]];
const first = t => { let a = 0, b = N; while (a < b) { const m = (a + b) >> 1; if (T[m] < t) a = m + 1; else b = m; } return a; };
const faultsAt = t => D.faults.filter(f => f.start <= t && t < f.healed);

/* ---- what there is to draw ---- */
const opWords = [...new Set([...Object.keys(D.rate), ...Array.from(new Set(OP), code => D.ops[code])])];
const kindCodes = Object.keys(D.outcomes).map(Number);
const kindsSeen = kindCodes.filter(k => k !== UNSENT && k !== REFUSED || opWords.some(f => (D.rate[f] || {})[D.outcomes[k]]?.some(n => n)));
const shownOps = new Set(opWords), shownKinds = new Set(kindsSeen.filter(k => k !== REFUSED));
const PASS = new Uint8Array(N).fill(1); /* what the filters let through (report-filter.js) */
let mine = null; /* with filters: operations a step, and their latencies, of what passes */
const visible = i => PASS[i] && shownKinds.has(KIND[i]) && shownOps.has(D.ops[OP[i]]);
const marked = new Map(D.marks.map((mark, number) => [mark.point, number]));
const whole = N - D.marks.filter(mark => mark.point >= 0).length >= D.operations; /* every operation of the load is drawn by itself */
/* Quantiles of what is shown, over steps i..j: from counts by bucket of latency; older results have those of ok ones alone. */
const QUANTILES = {p50: .5, p99: .99, max: 1}, counted = D.bucket_ms.length > 0;
function latencies(i, j) {
  const sums = new Map(); let total = 0;
  for (const f of shownOps) for (const k of shownKinds) {
    const rows = (D.latencies[f] || {})[D.outcomes[k]];
    if (rows) for (let s = i; s < j; s++) { const row = rows[s] || []; for (let n = 0; n < row.length; n += 2) { sums.set(row[n], (sums.get(row[n]) || 0) + row[n + 1]); total += row[n + 1]; } }
  }
  const out = {p50: null, p99: null, max: null}, buckets = [...sums].sort((a, b) => a[0] - b[0]);
  let seen = 0;
  for (const [bucket, n] of buckets) { seen += n; for (const word in QUANTILES) if (out[word] == null && seen >= Math.max(1, Math.ceil(QUANTILES[word] * total))) out[word] = D.bucket_ms[bucket]; }
  return out;
}
const steps = Math.max(0, ...opWords.flatMap(f => Object.values(D.rate[f] || {}).map(r => r.length)));
const silent = L.some(v => v < 0);
let lo = Infinity, hi = 0;
for (let i = 0; i < N; i++) if (L[i] > 0) { if (L[i] < lo) lo = L[i]; if (L[i] > hi) hi = L[i]; }
for (const row of Object.values(D.quantiles)) for (const v of row) if (v > 0) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
for (const kinds of Object.values(D.latencies)) for (const rows of Object.values(kinds)) for (const row of rows) for (let n = 0; n < row.length; n += 2) { const v = D.bucket_ms[row[n]]; if (v < lo) lo = v; if (v > hi) hi = v; }
if (!(hi > 0)) { lo = 1; hi = 1000; }
lo = Math.max(lo * .8, hi / 1e6); hi *= 1.25;
const lane = new Map(); /* the row of each fault */
const lagNames = Object.keys(D.lag);
const lagAll = lagNames.flatMap(n => D.lag[n].map(p => p[1] ?? 0)), lagMost = lagAll.reduce((a, b) => Math.max(a, b), 1), lagAhead = -lagAll.reduce((a, b) => Math.min(a, b), 0);
const unreadMost = D.unread.reduce((a, b) => Math.max(a, b), 1);

/* ---- state ---- */
let from = 0, to = D.end, cursor = null, picked = -1, width = 0, height = 0, gutter = 124, panels = [], colours = {}, queued = false, printing = false, narrow = false;
const PAGE = 703; /* pixels of an A4 page between its margins */
const css = name => colours[name] ||= getComputedStyle(root).getPropertyValue('--' + name).trim();
const plotWidth = () => width - gutter - 8;
const X = t => gutter + (t - from) / (to - from) * plotWidth();
const timeAt = x => Math.min(to, Math.max(from, from + (x - gutter) / plotWidth() * (to - from)));
const group = n => Math.abs(n) < 1e4 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const ms = v => v == null ? '—' : v >= 1000 ? (v / 1000).toFixed(v >= 1e4 ? 0 : 2) + ' s' : v.toFixed(v < 10 ? 1 : 0) + ' ms';
/* A time on the clock that was chosen: seconds since the load began, or UTC. */
let utc = false;
function secs(t, digits = 3) {
  if (!utc) return t.toFixed(digits) + ' s';
  const step = 10 ** (3 - Math.min(3, digits)), whole = new Date(Math.round((D.utc_ms + t * 1000) / step) * step).toISOString();
  return whole.slice(11, digits ? 20 + Math.min(3, digits) : 19);
}
