/* ---- drawing helpers ---- */
const STEPS = [.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200]; /* seconds between ticks */
const canvas = el('canvas'), g = canvas.getContext('2d');
canvas.setAttribute('aria-hidden', 'true');
let taken = []; /* the boxes of all words that are drawn */
function text(s, x, y, align = 'left', colour = 'mute') {
  const w = s ? g.measureText(s).width : 0, left = align === 'right' ? x - w : align === 'center' ? x - w / 2 : x;
  if (!w || !takesRoom(taken, [left, y - 9, left + w, y + 2])) return;
  g.fillStyle = css(colour); g.textAlign = align; g.fillText(s, x, y);
}
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
  const sums = {2: 0, 3: 0, 4: 0, 5: 0, 6: 0};
  for (const f of shownOps) for (const k of kindsSeen) { const row = ((mine || D).rate[f] || {})[D.outcomes[k]]; if (row) for (let s = i; s < j; s++) sums[k] += row[s] || 0; }
  for (const k in sums) sums[k] /= (j - i) * D.step;
  return sums;
}
function over(row, i, j, how) { const seen = row.slice(i, j).filter(v => v != null); return seen.length ? how(seen) : null; }
/* The quantiles of a bin of steps. */
const spread = (i, j) => mine ? mine.spread(i, j) : counted ? latencies(i, j) : {p50: over(D.quantiles.p50 || [], i, j, middle), p99: over(D.quantiles.p99 || [], i, j, most), max: over(D.quantiles.max || [], i, j, most)};
const most = v => Math.max(...v), middle = v => v.sort((a, b) => a - b)[v.length >> 1];

/* ---- layout and drawing ---- */
function layout() {
  width = printing ? PAGE : Math.max(280, box.clientWidth); narrow = !printing && width < 720; gutter = narrow ? 52 : printing ? 108 : 124;
  const wanted = [faultPanel, D.marks.length && markPanel, D.phases.length && phasePanel, D.strips.length && rolePanel, N && latencyPanel, steps && ratePanel, errorNames.length && errorPanel, nodeNames.length && nodePanel, lagNames.length && lagPanel, D.unread.length && unreadPanel, axisPanel];
  let y = 0; panels = [];
  for (const p of wanted.filter(Boolean)) { if (narrow && !p.bare) y += CAPTION; panels.push(Object.assign(p, {y, height: p.h()})); p.h_ = p.h(); y += p.h_ + (p.bare ? 0 : 4); }
  height = y;
  const dpr = Math.max(printing ? 3 : 1, window.devicePixelRatio || 1);
  canvas.width = width * dpr; canvas.height = height * dpr; canvas.style.height = printing ? 'auto' : height + 'px';
  g.setTransform(dpr, 0, 0, dpr, 0, 0);
}
function draw() {
  queued = false; colours = {}; taken = []; layout();
  g.clearRect(0, 0, width, height); g.font = FONT; g.textBaseline = 'alphabetic';
  const bottom = panels.at(-1).y;
  g.save(); g.beginPath(); g.rect(gutter, 0, plotWidth(), bottom); g.clip();
  for (const f of D.faults) { g.fillStyle = css('fault-' + f.colour); g.globalAlpha = .3; g.fillRect(X(f.start), 0, Math.max(1, X(f.end) - X(f.start)), bottom); g.globalAlpha = .12; g.fillRect(X(f.end), 0, X(f.healed) - X(f.end), bottom); }
  g.restore(); g.globalAlpha = 1;
  for (const p of panels) {
    const view = {y: p.y, h: p.h_};
    if (!p.bare) { g.strokeStyle = css('line'); g.lineWidth = 1; g.strokeRect(gutter + .5, p.y + .5, plotWidth() - 1, p.h_ - 1); }
    if (p.label) narrow ? text(p.narrow || p.label, 0, p.y - 4) : text(p.label, 0, p.y + 13);
    p.draw(view);
  }
  hover(); ring();
  box.dataset.panels = JSON.stringify(panels.map(p => [p.label, p.y, p.h_]));
  box.dataset.labels = JSON.stringify(taken);
  box.dataset.from = from; box.dataset.to = to; box.dataset.width = width; box.dataset.drawn = 1 + (+box.dataset.drawn || 0);
}
function redraw() { if (!queued) { queued = true; requestAnimationFrame(draw); } }

