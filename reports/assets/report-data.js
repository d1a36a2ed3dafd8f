const D = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement, box = document.getElementById('panels'), legend = document.getElementById('legend');
const readout = document.getElementById('readout');
const FONT = '11px system-ui,-apple-system,"Segoe UI",sans-serif', ROW = 17, CAPTION = 16, MAX_LANES = 6;
const TONE = {2: 'ok', 3: 'fail', 4: 'info', 5: 'unsent'}, WORDS = {2: 'ok', 3: 'failed for certain', 4: 'unknown outcome', 5: 'not sent'};
const HUES = ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'], DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4]];

/* ---- data ---- */
const raw = Uint8Array.from(atob(document.getElementById('points').textContent.trim()), c => c.charCodeAt(0)).buffer;
const N = raw.byteLength / 13, T = new Float32Array(raw, 0, N), L = new Float32Array(raw, 4 * N, N);
const CLIENT = new Uint16Array(raw, 8 * N, N), KIND = new Uint8Array(raw, 10 * N, N), OP = new Uint8Array(raw, 11 * N, N), NODE = new Uint8Array(raw, 12 * N, N);
const opCode = Object.fromEntries(Object.entries(D.ops).map(([code, word]) => [word, +code]));
const opWords = [...new Set([...Object.keys(D.rate), ...Array.from(new Set(OP), code => D.ops[code])])];
const kindCodes = Object.keys(D.outcomes).map(Number);
const kindsSeen = kindCodes.filter(k => k !== 5 || opWords.some(f => (D.rate[f] || {})[D.outcomes[5]]?.some(n => n)));
const shownOps = new Set(opWords), shownKinds = new Set(kindsSeen);
const steps = Math.max(0, ...opWords.flatMap(f => Object.values(D.rate[f] || {}).map(r => r.length)));
const silent = L.some(v => v < 0);
let lo = Infinity, hi = 0;
for (let i = 0; i < N; i++) if (L[i] > 0) { if (L[i] < lo) lo = L[i]; if (L[i] > hi) hi = L[i]; }
for (const row of Object.values(D.quantiles)) for (const v of row) if (v > 0) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
if (!(hi > 0)) { lo = 1; hi = 1000; }
lo = Math.max(lo * .8, hi / 1e6); hi *= 1.25;
const lane = new Map();
{
  const ends = [];
  for (const f of D.faults) {
    let at = ends.findIndex(end => end <= f.start);
    if (at < 0) at = ends.length < MAX_LANES ? ends.length : MAX_LANES - 1;
    ends[at] = Math.max(ends[at] || 0, f.healed); lane.set(f.id, at);
  }
  lane.rows = Math.max(1, ends.length);
}
const lagNames = Object.keys(D.lag);
const lagAll = lagNames.flatMap(n => D.lag[n].map(p => p[1] ?? 0)), lagMost = lagAll.reduce((a, b) => Math.max(a, b), 1), lagAhead = -lagAll.reduce((a, b) => Math.min(a, b), 0);
const unreadMost = D.unread.reduce((a, b) => Math.max(a, b), 1);

/* ---- state ---- */
let from = 0, to = D.end, cursor = null, picked = -1, width = 0, height = 0, gutter = 124, panels = [], colours = {}, queued = false;
const css = name => colours[name] ||= getComputedStyle(root).getPropertyValue('--' + name).trim();
const plotWidth = () => width - gutter - 8;
const X = t => gutter + (t - from) / (to - from) * plotWidth();
const timeAt = x => Math.min(to, Math.max(from, from + (x - gutter) / plotWidth() * (to - from)));
const group = n => Math.abs(n) < 1e4 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
const ms = v => v == null ? '—' : v >= 1000 ? (v / 1000).toFixed(v >= 1e4 ? 0 : 2) + ' s' : v.toFixed(v < 10 ? 1 : 0) + ' ms';
const secs = (t, digits = 3) => t.toFixed(digits) + ' s';
const first = t => { let a = 0, b = N; while (a < b) { const m = (a + b) >> 1; if (T[m] < t) a = m + 1; else b = m; } return a; };
const el = (tag, className, text) => { const e = document.createElement(tag); if (className) e.className = className; if (text != null) e.textContent = text; return e; };

