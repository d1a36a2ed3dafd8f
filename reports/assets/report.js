'use strict';
/* Draws the panels: one canvas, one time axis, one cursor. What is drawn was computed before; nothing is fetched. */
(() => {
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

/* ---- drawing helpers ---- */
const canvas = el('canvas'), g = canvas.getContext('2d');
canvas.setAttribute('aria-hidden', 'true');
function text(s, x, y, align = 'left', colour = 'mute') { g.fillStyle = css(colour); g.textAlign = align; g.fillText(s, x, y); }
function fitted(s, room) { if (g.measureText(s).width <= room) return s; return ''; }
function clip(p, draw) { g.save(); g.beginPath(); g.rect(gutter, p.y, plotWidth(), p.h); g.clip(); draw(); g.restore(); }
function rule(y) { g.strokeStyle = css('line'); g.lineWidth = 1; g.beginPath(); g.moveTo(gutter, Math.round(y) + .5); g.lineTo(gutter + plotWidth(), Math.round(y) + .5); g.stroke(); }
function hatch(colour) {
  const c = el('canvas'); c.width = c.height = 6; const h = c.getContext('2d');
  h.globalAlpha = .25; h.fillStyle = colour; h.fillRect(0, 0, 6, 6); h.globalAlpha = 1; h.strokeStyle = colour; h.lineWidth = 1.4;
  h.beginPath(); for (const d of [-6, 0, 6]) { h.moveTo(d - 1, 7); h.lineTo(d + 7, -1); } h.stroke();
  return g.createPattern(c, 'repeat');
}
function line(points, colour, dash, wide = 1.5) {
  g.strokeStyle = css(colour); g.lineWidth = wide; g.setLineDash(dash); g.lineJoin = 'round'; g.beginPath(); let pen = false;
  for (const [x, y] of points) { if (y == null) pen = false; else if (pen) g.lineTo(x, y); else { g.moveTo(x, y); pen = true; } }
  g.stroke(); g.setLineDash([]);
}
function bins() { /* steps in view, several to a bin where they are narrower than a pixel */
  const a = Math.max(0, Math.floor(from / D.step) - 1), b = Math.min(steps || D.unread.length || 0, Math.ceil(to / D.step) + 1);
  const per = Math.max(1, Math.ceil((b - a) / plotWidth() * 1.2)), out = [];
  for (let i = a - a % per; i < b; i += per) out.push([i, Math.min(i + per, b)]);
  return out;
}
function counts(i, j) { /* operations a second by outcome over steps i..j */
  const sums = {2: 0, 3: 0, 4: 0, 5: 0};
  for (const f of shownOps) for (const k of kindsSeen) { const row = (D.rate[f] || {})[D.outcomes[k]]; if (row) for (let s = i; s < j; s++) sums[k] += row[s] || 0; }
  for (const k in sums) sums[k] /= (j - i) * D.step;
  return sums;
}
function over(row, i, j, how) { const seen = row.slice(i, j).filter(v => v != null); return seen.length ? how(seen) : null; }
const most = v => Math.max(...v), middle = v => v.sort((a, b) => a - b)[v.length >> 1];

/* ---- panels: label, height, draw(p), tips(t) → [y, text] ---- */
function stateAt(strip, t) { const s = strip.intervals.find(v => v[0] <= t && t < v[1]); return s ? words(s) : 'not observed'; }
const words = s => s[3] + (s[2] === 'stale' ? ', superseded' : '');
const faultPanel = { label: 'fault', h: () => lane.rows * 20 + 4,
  draw(p) {
    const lanes = Array.from({length: lane.rows}, () => []);
    for (const f of D.faults) lanes[lane.get(f.id)].push(f);
    clip(p, () => lanes.forEach((row, at) => row.forEach((f, i) => {
      const y = p.y + 3 + at * 20, a = X(f.start), b = Math.max(a + 2, X(f.end)), whole = X(f.healed);
      g.fillStyle = css('fault-' + f.colour); g.globalAlpha = .45; g.fillRect(b, y, Math.max(0, whole - b), 16); g.globalAlpha = 1; g.fillRect(a, y, b - a, 16);
      if (!f.proven) { g.strokeStyle = css('bad'); g.setLineDash([3, 2]); g.lineWidth = 1.5; g.strokeRect(a + 1, y + 1, b - a - 2, 14); g.setLineDash([]); }
      const start = Math.max(a, gutter) + 5, next = row[i + 1] ? X(row[i + 1].start) : gutter + plotWidth(), room = Math.min(next, gutter + plotWidth()) - start - 6;
      const name = f.id + ' ' + f.name;
      if (b > gutter && a < gutter + plotWidth()) text(fitted(name + (f.proven ? '' : ' (unproven)'), room) || fitted(name, room) || fitted(String(f.id), room), start, y + 12, 'left', 'fg');
    })));
  },
  tips(t, p) { const now = D.faults.filter(f => f.start <= t && t < f.healed); return now.length ? [[p.y + 2, now.map(f => `${f.id} ${f.name}${t >= f.end ? ', healing' : ''}: ${f.targets.join(' ')}`).join('\n')]] : []; } };
const phasePanel = { label: 'phase', h: () => 18,
  draw(p) { clip(p, () => D.phases.forEach((f, i) => {
    const a = X(f.start), b = X(f.end); g.fillStyle = css(i % 2 ? 'soft' : 'follow'); g.fillRect(a, p.y + 2, b - a - 1, 14);
    const start = Math.max(a, gutter) + 5; text(fitted(f.name + (f.ok ? '' : ' (not ended)'), Math.min(b, gutter + plotWidth()) - start - 3), start, p.y + 13, 'left', f.ok ? 'mute' : 'warn');
  })); },
  tips: () => [] };
const rolePanel = { label: 'role', h: () => D.strips.length * ROW + 6,
  draw(p) {
    const down = hatch(css('fail'));
    D.strips.forEach((strip, row) => {
      const y = p.y + 4 + row * ROW;
      text(strip.name, gutter - 10, y + 10, 'right', strip.node ? 'fg' : 'mute');
      clip(p, () => {
        for (const [a, b, tone, label] of strip.intervals) {
          const x0 = X(a), x1 = X(b); if (x1 < gutter || x0 > gutter + plotWidth()) continue;
          g.fillStyle = tone === 'silent' ? down : css(tone); g.globalAlpha = tone === 'follow' ? .75 : 1; g.fillRect(x0, y, Math.max(1.5, x1 - x0 - 1), 13); g.globalAlpha = 1;
          if (tone !== 'follow') { const start = Math.max(x0, gutter) + 5; text(fitted(words([a, b, tone, label]), Math.min(x1, gutter + plotWidth()) - start - 3) || fitted(label, x1 - start - 3), start, y + 10, 'left', 'fg'); }
        }
        for (const f of D.faults) if (f.targets.includes(strip.node)) { g.fillStyle = css('fault-' + f.colour); g.fillRect(X(f.start), y + 13, X(f.end) - X(f.start), 2.5); }
      });
    });
  },
  tips: (t, p) => [[p.y + 3, D.strips.map(s => stateAt(s, t)).join('\n')]] };
const latencyY = (p, v) => { const top = p.y + (silent ? 20 : 6); return p.y + p.h - 6 - (Math.log(v) - Math.log(lo)) / (Math.log(hi) - Math.log(lo)) * (p.y + p.h - 6 - top); };
const pointY = (p, i) => L[i] < 0 ? p.y + 9 + (i % 5 - 2) : latencyY(p, Math.max(lo, L[i]));
const latencyPanel = { label: 'latency', h: () => 220,
  draw(p) {
    for (let v = 10 ** Math.ceil(Math.log10(lo)); v <= hi; v *= 10) { rule(latencyY(p, v)); text(v >= 1000 ? v / 1000 + ' s' : v >= 1 ? v + ' ms' : v * 1000 + ' µs', gutter - 10, latencyY(p, v) + 4, 'right'); }
    if (silent) { rule(p.y + 18); text(gutter > 100 ? 'no answer' : 'none', gutter - 10, p.y + 13, 'right'); }
    const a = Math.max(0, first(from) - 1), b = Math.min(N, first(to) + 1);
    clip(p, () => {
      const dense = b - a, alpha = Math.min(.75, Math.max(.13, 9000 / Math.max(1, dense) * .3));
      if (shownKinds.has(2)) { g.fillStyle = css('ok'); g.globalAlpha = alpha; const r = dense > 20000 ? 1.5 : 2; for (let i = a; i < b; i++) if (KIND[i] === 2 && shownOps.has(D.ops[OP[i]])) g.fillRect(X(T[i]) - r / 2, pointY(p, i) - r / 2, r, r); }
      if (shownKinds.has(3)) { /* many refusals must not hide what succeeded: then small, thin and up to 20 000 each stroked alone, so that they shade */
        let many = 0; for (let i = a; i < b; i++) if (KIND[i] === 3) many++;
        const r = many > 800 ? 1.7 : 2.4; g.globalAlpha = many > 800 ? Math.max(.22, Math.min(.9, 500 / many)) : .9; g.strokeStyle = css('fail'); g.lineWidth = many > 800 ? 1 : 1.2; g.beginPath();
        for (let i = a; i < b; i++) if (KIND[i] === 3 && shownOps.has(D.ops[OP[i]])) { const x = X(T[i]), y = pointY(p, i); g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x + r, y - r); g.lineTo(x - r, y + r); if (many > 800 && many <= 20000) { g.stroke(); g.beginPath(); } }
        g.stroke();
      }
      g.globalAlpha = .9;
      if (shownKinds.has(4)) { g.fillStyle = css('info'); g.beginPath(); for (let i = a; i < b; i++) if (KIND[i] === 4 && shownOps.has(D.ops[OP[i]])) { const x = X(T[i]), y = pointY(p, i); g.moveTo(x, y - 3.2); g.lineTo(x + 3, y + 2.2); g.lineTo(x - 3, y + 2.2); } g.fill(); }
      g.globalAlpha = 1;
      for (const [word, dash, how] of [['p50', [], middle], ['p99', [5, 3], most], ['max', [1, 3], most]]) {
        if (!D.quantiles[word]) continue;
        g.globalAlpha = word === 'max' ? .45 : .8;
        line(bins().map(([i, j]) => { const v = over(D.quantiles[word], i, j, how); return [X((i + j) / 2 * D.step), v == null ? null : latencyY(p, Math.max(lo, v))]; }), 'fg', dash, 1.1);
      }
      g.globalAlpha = 1;
    });
  },
  tips(t, p) { const s = Math.floor(t / D.step), q = D.quantiles; return q.p50 ? [[p.y + p.h - 21, `p50 ${ms(q.p50[s])}   p99 ${ms((q.p99 || [])[s])}   max ${ms((q.max || [])[s])}`]] : []; } };
const ratePanel = { label: 'operations/s', narrow: 'op/s', h: () => 96,
  draw(p) {
    const all = bins().map(([i, j]) => [i, j, counts(i, j)]);
    const top = Math.max(1, ...all.map(r => r[2][2] + r[2][3] + r[2][4] + r[2][5])) * 1.06;
    clip(p, () => { for (const [i, j, c] of all) { let y = p.y + p.h; const x0 = X(i * D.step), w = X(j * D.step) - x0;
      for (const k of kindsSeen) if (shownKinds.has(k)) { const h = c[k] / top * (p.h - 6); g.fillStyle = css(TONE[k]); g.fillRect(x0, y - h, Math.max(.6, w - (w > 3 ? .6 : 0)), h); y -= h; } } });
    text(group(Math.round(top / 1.06)), gutter - 10, p.y + 13, 'right'); text('0', gutter - 10, p.y + p.h - 2, 'right');
  },
  tips(t, p) { const s = Math.floor(t / D.step); if (s >= steps) return []; const c = counts(s, s + 1); return [[p.y + 3, kindsSeen.map(k => `${WORDS[k].split(' ')[0]} ${group(Math.round(c[k]))}`).join('   ')]]; } };
const lagPanel = { label: 'offset lag', narrow: 'offset lag (acknowledged − replica)', h: () => 120,
  draw(p) {
    const scale = (p.h - 32) / (lagMost + lagAhead), zero = p.y + 10 + lagAhead * scale, Y = v => zero + v * scale;
    rule(zero); text('acked', gutter - 10, zero + 4, 'right'); text('−' + group(lagMost), gutter - 10, Y(lagMost) + 4, 'right');
    if (lagAhead * scale > 12) text('+' + group(lagAhead), gutter - 10, Y(-lagAhead) + 4, 'right');
    clip(p, () => lagNames.forEach((n, i) => line(D.lag[n].map(([t, v]) => [X(t), v == null ? null : Y(v)]), HUES[i % 6], DASHES[i % 6])));
    let x = gutter + 8;
    lagNames.forEach((n, i) => { line([[x, p.y + p.h - 8], [x + 20, p.y + p.h - 8]], HUES[i % 6], DASHES[i % 6], 2); text(n, x + 25, p.y + p.h - 4, 'left', HUES[i % 6]); x += 40 + g.measureText(n).width; });
  },
  tips(t, p) { const now = lagNames.map(n => { const rows = D.lag[n]; let a = 0, b = rows.length; while (a < b) { const m = (a + b) >> 1; if (rows[m][0] <= t) a = m + 1; else b = m; } const v = a ? rows[a - 1][1] : null; return `${n} ${v == null ? '—' : v > 0 ? '−' + group(v) : v < 0 ? '+' + group(-v) : '0'}`; }); return [[p.y + p.h - 38, now.join('   ')]]; } };
const unreadPanel = { label: 'acked, unread', narrow: 'acknowledged and not yet read', h: () => 64,
  draw(p) {
    const Y = v => p.y + p.h - 3 - v / unreadMost * (p.h - 12);
    clip(p, () => {
      const points = bins().map(([i, j]) => [X(j * D.step), Y(over(D.unread, i, j, most) ?? 0)]);
      if (points.length) { g.fillStyle = css('r3'); g.globalAlpha = .18; g.beginPath(); g.moveTo(points[0][0], p.y + p.h); points.forEach(([x, y]) => g.lineTo(x, y)); g.lineTo(points.at(-1)[0], p.y + p.h); g.fill(); g.globalAlpha = 1; line(points, 'r3', [], 1.4); }
    });
    text(group(unreadMost), gutter - 10, p.y + 13, 'right'); text('0', gutter - 10, p.y + p.h - 2, 'right');
    const left = D.unread.at(-1);
    text(left ? group(left) + ' unread at the end' : 'all read at the end', gutter + plotWidth() - 6, left ? p.y + 14 : p.y + p.h - 8, 'right', left ? 'bad' : 'good');
  },
  tips(t, p) { const v = D.unread[Math.floor(t / D.step)]; return v == null ? [] : [[p.y + 20, group(v) + ' unread']]; } };
const axisPanel = { label: '', h: () => 20, bare: true,
  draw(p) {
    const want = (to - from) / Math.max(2, plotWidth() / 88), step = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200].find(s => s >= want) || 14400;
    const digits = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9; i++) { const x = X(i * step), edge = x > width - 26; text(secs(i * step, digits), edge ? width - 2 : x, p.y + 14, edge ? 'right' : 'center'); g.fillStyle = css('mute'); g.fillRect(Math.round(x), p.y, 1, 3); }
  },
  tips: () => [] };

/* ---- layout and drawing ---- */
function layout() {
  width = Math.max(280, box.clientWidth); gutter = width < 720 ? 52 : 124;
  const wanted = [faultPanel, D.phases.length && phasePanel, D.strips.length && rolePanel, N && latencyPanel, steps && ratePanel, lagNames.length && lagPanel, D.unread.length && unreadPanel, axisPanel];
  let y = 0; panels = [];
  for (const p of wanted.filter(Boolean)) { if (width < 720 && !p.bare) y += CAPTION; panels.push(Object.assign(p, {y, height: p.h()})); p.h_ = p.h(); y += p.h_ + (p.bare ? 0 : 4); }
  height = y;
  const dpr = Math.max(1, window.devicePixelRatio || 1);
  canvas.width = width * dpr; canvas.height = height * dpr; canvas.style.height = height + 'px';
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
}
function draw() {
  queued = false; colours = {}; layout();
  g.clearRect(0, 0, width, height); g.font = FONT; g.textBaseline = 'alphabetic';
  const bottom = panels.at(-1).y;
  g.save(); g.beginPath(); g.rect(gutter, 0, plotWidth(), bottom); g.clip();
  for (const f of D.faults) { g.fillStyle = css('fault-' + f.colour); g.globalAlpha = .3; g.fillRect(X(f.start), 0, Math.max(1, X(f.end) - X(f.start)), bottom); g.globalAlpha = .12; g.fillRect(X(f.end), 0, X(f.healed) - X(f.end), bottom); }
  g.restore(); g.globalAlpha = 1;
  for (const p of panels) {
    const view = {y: p.y, h: p.h_};
    if (!p.bare) { g.strokeStyle = css('line'); g.lineWidth = 1; g.strokeRect(gutter + .5, p.y + .5, plotWidth() - 1, p.h_ - 1); }
    if (p.label) width < 720 ? text(p.narrow || p.label, 0, p.y - 4) : text(p.label, 0, p.y + 13);
    p.draw(view);
  }
  hover(); ring();
  box.dataset.panels = JSON.stringify(panels.map(p => [p.label, p.y, p.h_]));
  box.dataset.from = from; box.dataset.to = to; box.dataset.drawn = 1 + (+box.dataset.drawn || 0);
}
function redraw() { if (!queued) { queued = true; requestAnimationFrame(draw); } }

/* ---- cursor, brush, selection ---- */
const rule_ = el('div', 'line'), brush = el('div', 'brush'), ring_ = el('div', 'ring'), card = el('div', 'card'), time = el('div', 'tip time');
const tips = [];
function hover() {
  const on = cursor != null && cursor >= from && cursor <= to;
  rule_.style.display = time.style.display = on ? 'block' : 'none';
  const wanted = on ? panels.flatMap(p => p.tips(cursor, {y: p.y, h: p.h_})) : [];
  while (tips.length < wanted.length) { const tip = el('div', 'tip'); tips.push(tip); box.append(tip); }
  tips.forEach((tip, i) => { tip.style.display = i < wanted.length ? 'block' : 'none'; });
  if (!on) { readout.textContent = ''; return; }
  const x = X(cursor), left = x > gutter + plotWidth() * .62;
  rule_.style.left = x + 'px'; rule_.style.height = panels.at(-1).y + 'px';
  const place = (e, y) => { e.style.top = y + 'px'; e.style.left = left ? 'auto' : x + 7 + 'px'; e.style.right = left ? width - x + 7 + 'px' : 'auto'; };
  wanted.forEach(([y, s], i) => { tips[i].textContent = s; place(tips[i], y); });
  time.textContent = secs(cursor, to - from < 20 ? 3 : 1); time.style.top = panels.at(-1).y + 2 + 'px'; time.style.left = Math.min(width - 60, Math.max(0, x - 24)) + 'px';
  readout.textContent = secs(cursor) + '. ' + wanted.map(w => w[1].replace(/\n/g, ', ')).join('. ');
}
function zoom(a, b) {
  const least = Math.min(.01, D.end), middle = (a + b) / 2, half = Math.max(b - a, least) / 2;
  from = Math.max(0, middle - half); to = Math.min(D.end, middle + half);
  if (to - from < least) { from = Math.max(0, to - least); to = from + least; }
  reset.hidden = from <= 0 && to >= D.end; reset.textContent = `${secs(from, 2)} to ${secs(to, 2)} · show everything`;
  redraw();
}
function ring() {
  const p = panels.find(q => q === latencyPanel), on = p && picked >= 0 && T[picked] >= from && T[picked] <= to;
  ring_.style.display = card.style.display = on ? 'block' : 'none';
  if (!on) return;
  const x = X(T[picked]), y = pointY({y: p.y, h: p.h_}, picked), under = D.faults.filter(f => f.start <= T[picked] && T[picked] < f.healed);
  ring_.style.left = x + 'px'; ring_.style.top = y + 'px';
  const rows = [['operation', D.ops[OP[picked]]], ['outcome', WORDS[KIND[picked]] || '?'], ['at', secs(T[picked])], ['latency', L[picked] < 0 ? 'never answered' : ms(L[picked])],
    ['client', CLIENT[picked]], ['node', NODE[picked] === 255 ? 'unknown' : D.nodes[NODE[picked]]], ['fault', under.map(f => `${f.id} ${f.name}`).join(', ') || 'none']];
  const list = el('dl'); for (const [k, v] of rows) list.append(el('dt', '', k), el('dd', '', v)); card.replaceChildren(list);
  const left = x > width * .6; card.style.left = left ? 'auto' : x + 14 + 'px'; card.style.right = left ? width - x + 14 + 'px' : 'auto'; card.style.top = Math.max(0, y - 20) + 'px';
  readout.textContent = rows.map(r => r.join(' ')).join(', ');
}
const visible = i => shownKinds.has(KIND[i]) && shownOps.has(D.ops[OP[i]]);
function pick(x, y) {
  const p = panels.find(q => q === latencyPanel); picked = -1;
  if (p && y >= p.y && y <= p.y + p.h_) {
    let best = 12 ** 2; const reach = 12 / plotWidth() * (to - from);
    for (let i = first(timeAt(x) - reach), last = first(timeAt(x) + reach); i < last; i++) if (visible(i)) {
      const d = (X(T[i]) - x) ** 2 + (pointY({y: p.y, h: p.h_}, i) - y) ** 2; if (d < best) { best = d; picked = i; }
    }
  }
  ring();
}
function step(direction) { /* to the next operation that was not ok */
  let i = picked >= 0 ? picked + direction : first(cursor ?? from) - (direction < 0 ? 1 : 0);
  while (i >= 0 && i < N && (KIND[i] === 2 || !visible(i))) i += direction;
  if (i < 0 || i >= N) return;
  picked = i; cursor = null; hover();
  if (T[i] < from || T[i] > to) { const half = (to - from) / 2; zoom(T[i] - half, T[i] + half); } else ring();
}
let pressed = null;
const where = e => { const r = box.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
box.addEventListener('pointermove', e => {
  if (card.contains(e.target)) return;
  const [x] = where(e); cursor = x >= gutter - 4 ? timeAt(x) : null; hover();
  if (pressed != null) { const a = Math.max(gutter, Math.min(pressed, x)), b = Math.min(gutter + plotWidth(), Math.max(pressed, x)); Object.assign(brush.style, {display: b - a > 4 ? 'block' : 'none', left: a + 'px', width: b - a + 'px', height: panels.at(-1).y + 'px'}); }
});
box.addEventListener('pointerdown', e => { if (e.button === 0 && !card.contains(e.target)) { [pressed] = where(e); if (e.pointerType !== 'touch') box.setPointerCapture(e.pointerId); } });
box.addEventListener('pointerup', e => {
  if (pressed == null) return;
  const [x, y] = where(e), a = pressed; pressed = null; brush.style.display = 'none';
  if (Math.abs(x - a) > 5) zoom(timeAt(Math.min(a, x)), timeAt(Math.max(a, x))); else pick(x, y);
});
box.addEventListener('pointercancel', () => { pressed = null; brush.style.display = 'none'; });
box.addEventListener('pointerleave', () => { if (pressed == null) { cursor = null; hover(); } });
box.addEventListener('dblclick', () => { picked = -1; zoom(0, D.end); });
box.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const span = to - from, at = cursor ?? (picked >= 0 ? T[picked] : (from + to) / 2), go = t => { cursor = Math.min(D.end, Math.max(0, t)); if (cursor < from || cursor > to) zoom(cursor - span / 2, cursor + span / 2); else hover(); };
  const keys = { ArrowLeft: () => go(at - span / (e.shiftKey ? 10 : 100)), ArrowRight: () => go(at + span / (e.shiftKey ? 10 : 100)), Home: () => go(from), End: () => go(to),
    '+': () => zoom(at - span / 4, at + span / 4), '=': () => zoom(at - span / 4, at + span / 4), '-': () => zoom(at - span, at + span), n: () => step(1), p: () => step(-1),
    Escape: () => { picked = -1; cursor = null; zoom(0, D.end); } };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

/* ---- legend ---- */
const NS = 'http://www.w3.org/2000/svg';
function glyph(kind) {
  const svg = document.createElementNS(NS, 'svg'), shape = document.createElementNS(NS, 'path'); svg.setAttribute('width', 10); svg.setAttribute('height', 10); svg.setAttribute('aria-hidden', 'true');
  const d = {2: 'M2 2h6v6h-6z', 3: 'M1.5 1.5l7 7M8.5 1.5l-7 7', 4: 'M5 1l4.5 8h-9z', 5: 'M2 2h6v6h-6z'}[kind];
  shape.setAttribute('d', d); shape.setAttribute('style', kind === 3 ? 'stroke:var(--fail);stroke-width:2;fill:none' : `fill:var(--${TONE[kind]})`); svg.append(shape); return svg;
}
function toggle(set, value, label, icon) {
  const b = el('button'); b.type = 'button'; b.setAttribute('aria-pressed', 'true'); if (icon) b.append(icon); b.append(label);
  b.addEventListener('click', () => { set.has(value) ? set.delete(value) : set.add(value); b.setAttribute('aria-pressed', String(set.has(value))); redraw(); });
  legend.append(b);
}
function dashKey(word, dash, opacity) {
  const svg = document.createElementNS(NS, 'svg'), l = document.createElementNS(NS, 'line'), s = el('span', 'key'); svg.setAttribute('width', 22); svg.setAttribute('height', 8); svg.setAttribute('aria-hidden', 'true');
  for (const [k, v] of Object.entries({x1: 0, x2: 22, y1: 4, y2: 4, style: `stroke:var(--fg);stroke-width:1.4;stroke-dasharray:${dash};opacity:${opacity}`})) l.setAttribute(k, v);
  svg.append(l); s.append(svg, word); legend.append(s);
}
if (N || steps) { kindsSeen.forEach(k => toggle(shownKinds, k, WORDS[k], glyph(k))); legend.append(el('span', 'gap')); }
if (opWords.length > 1) { opWords.forEach(f => toggle(shownOps, f, f)); legend.append(el('span', 'gap')); }
if (D.quantiles.p50) { dashKey('p50', 'none', .8); dashKey('p99', '5 3', .8); dashKey('max', '1 3', .45); }
if (D.strips.length) {
  if (legend.children.length) legend.append(el('span', 'gap'));
  const tones = new Set(D.strips.flatMap(s => s.node ? s.intervals.map(v => v[2]) : []));
  for (const [tone, word] of [['lead', 'leads'], ['stale', 'leads in a superseded epoch'], ['silent', 'no answer']]) if (tones.has(tone)) {
    const s = el('span', 'key'), i = el('i', 'sw ' + tone); s.append(i, word); legend.append(s);
  }
}
const reset = el('button', 'reset'); reset.type = 'button'; reset.hidden = true; reset.addEventListener('click', () => { picked = -1; zoom(0, D.end); }); legend.append(reset);

/* ---- the rest of the page ---- */
document.querySelectorAll('.jump').forEach(b => b.addEventListener('click', () => {
  const a = +b.dataset.from, z = +b.dataset.to, margin = Math.max((z - a) * .25, .02);
  zoom(a - margin, z + margin); document.getElementById('happened').scrollIntoView({block: 'start'}); box.focus({preventScroll: true});
}));
document.querySelectorAll('.copy').forEach(b => b.addEventListener('click', async () => {
  const code = b.previousElementSibling;
  try { await navigator.clipboard.writeText(code.textContent); b.textContent = 'copied'; setTimeout(() => { b.textContent = 'copy'; }, 1500); }
  catch { getSelection().selectAllChildren(code); }
}));
let closed = [];
window.addEventListener('beforeprint', () => { closed = [...document.querySelectorAll('details:not([open]):not(.ops)')]; closed.forEach(d => { d.open = true; }); root.dataset.print = ''; cursor = null; draw(); });
window.addEventListener('afterprint', () => { closed.forEach(d => { d.open = false; }); delete root.dataset.print; draw(); });
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
box.append(canvas, brush, rule_, time, ring_, card);
let lastWidth = box.clientWidth;
new ResizeObserver(() => { if (box.clientWidth !== lastWidth) { lastWidth = box.clientWidth; redraw(); } }).observe(box);
draw();
document.body.dataset.done = 1;
})();
