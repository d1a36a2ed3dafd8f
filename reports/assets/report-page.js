/* ---- legend ---- */
const NS = 'http://www.w3.org/2000/svg';
function glyph(kind) {
  const svg = document.createElementNS(NS, 'svg'), shape = document.createElementNS(NS, 'path'); svg.setAttribute('width', 10); svg.setAttribute('height', 10); svg.setAttribute('aria-hidden', 'true');
  const d = {2: 'M2 2h6v6h-6z', 3: 'M1.5 1.5l7 7M8.5 1.5l-7 7', 4: 'M5 1l4.5 8h-9z', 5: 'M2 2h6v6h-6z', 6: 'M3 3h4v4h-4z'}[kind];
  shape.setAttribute('d', d); shape.setAttribute('style', kind === 3 ? 'stroke:var(--fail);stroke-width:2;fill:none' : `fill:var(--${TONE[kind]})`); svg.append(shape); return svg;
}
const toggles = [];
function pressedAgain() { for (const [b, set, value] of toggles) b.setAttribute('aria-pressed', String(set.has(value))); }
function toggle(set, value, label, icon) {
  const b = el('button'); b.type = 'button'; b.setAttribute('aria-pressed', String(set.has(value))); if (icon) b.append(icon); b.append(label);
  b.addEventListener('click', () => { set.has(value) ? set.delete(value) : set.add(value); b.setAttribute('aria-pressed', String(set.has(value))); redraw(); remember(); });
  legend.append(b); toggles.push([b, set, value]);
}
function dashKey(word, dash, opacity) {
  const svg = document.createElementNS(NS, 'svg'), l = document.createElementNS(NS, 'line'), s = el('span', 'key'); svg.setAttribute('width', 22); svg.setAttribute('height', 8); svg.setAttribute('aria-hidden', 'true');
  for (const [k, v] of Object.entries({x1: 0, x2: 22, y1: 4, y2: 4, style: `stroke:var(--fg);stroke-width:1.4;stroke-dasharray:${dash};opacity:${opacity}`})) l.setAttribute(k, v);
  svg.append(l); s.append(svg, word); legend.append(s);
}
if (N || steps) { kindsSeen.forEach(k => { toggle(shownKinds, k, WORDS[k], glyph(k)); if (k === REFUSED) toggles[toggles.length - 1][0].title = 'refused to a client that stays on one node on purpose, by a node that must not serve: no error'; }); legend.append(el('span', 'gap')); }
if (opWords.length > 1) { opWords.forEach(f => toggle(shownOps, f, f)); legend.append(el('span', 'gap')); }
if (counted || D.quantiles.p50) { dashKey('p50', 'none', .8); dashKey('p99', '5 3', .8); dashKey('max', '1 3', .45); }
if (D.strips.length) {
  if (legend.children.length) legend.append(el('span', 'gap'));
  const tones = new Set(D.strips.flatMap(s => s.node ? s.intervals.map(v => v[2]) : []));
  for (const [tone, word] of [['lead', 'leads'], ['stale', 'leads, superseded'], ['silent', 'no answer']]) if (tones.has(tone)) {
    const s = el('span', 'key'), i = el('i', 'sw ' + tone); s.append(i, word); legend.append(s);
  }
}
const reset = el('button', 'reset'); reset.type = 'button'; reset.hidden = true; reset.addEventListener('click', () => { picked = aimed = -1; zoom(0, D.end); }); legend.append(reset);

/* ---- the clock of every time on the page ---- */
let tell = () => {};
if (D.utc_ms != null) {
  const bar = document.getElementById('clock'), timed = [...document.querySelectorAll('[data-s]')].map(e => [e, +e.dataset.s, (/\.(\d+)/.exec(e.textContent) || ['', ''])[1].length]);
  bar.setAttribute('role', 'group'); bar.setAttribute('aria-label', 'Clock of the times on this page');
  tell = on => {
    utc = on; bar.querySelectorAll('button').forEach((b, i) => b.setAttribute('aria-pressed', String(on === !!i)));
    for (const [e, t, digits] of timed) e.textContent = secs(t, digits);
    stage(); told(); redraw();
  };
  const turn = (word, on) => { const b = el('button', '', word); b.type = 'button'; b.setAttribute('aria-pressed', String(on === utc)); b.addEventListener('click', () => tell(on)); return b; };
  bar.append('Times in', turn('run seconds', false), turn('UTC', true), el('span', '', `0 s is ${new Date(D.utc_ms).toISOString().replace('T', ' ').replace('Z', ' UTC')}; sentences keep run seconds`));
}

/* ---- node logs: the lines of the stretch that is shown ---- */
const loglist = document.getElementById('loglist'), loglines = el('div', 'scroll loglines'), logcount = el('p', 'hint'), silenced = new Set();
function logged() {
  if (!loglist?.open) return;
  const all = texts().logs, zoomed = !reset.hidden, shown = all.filter(([t, node, said]) => !silenced.has(node) && (!filters.node || D.nodes[node] === filters.node) && (!filters.words || said.toLowerCase().includes(filters.words.toLowerCase())) && (!zoomed || t >= from && t <= to));
  logcount.textContent = zoomed ? `${shown.length} of ${all.length} lines, from ${secs(from, 2)} to ${secs(to, 2)} as shown above.` : `${shown.length} of ${all.length} lines. Zoom above for a shorter stretch.`;
  const table = el('table', 'mono'), head = el('tr'); head.append(el('th', 'n', 'time'), el('th', '', 'node'), el('th', '', 'line')); table.append(head);
  for (const [t, node, said] of shown) {
    const row = el('tr'), at = el('td', 'n'), b = el('button', 'plain', secs(t)); b.type = 'button'; b.title = 'show on the time axis';
    b.addEventListener('click', () => { move(t); document.getElementById('happened').scrollIntoView({block: 'start'}); box.focus({preventScroll: true}); });
    at.append(b); row.append(at, el('td', 'name', D.nodes[node]), el('td', '', said)); table.append(row);
  }
  loglines.replaceChildren(table);
}
if (loglist) {
  const chosen = el('div', 'legend'); loglines.tabIndex = 0; loglines.setAttribute('role', 'region'); loglines.setAttribute('aria-label', 'Lines of node logs');
  for (const node of [...new Set(texts().logs.map(row => row[1]))].sort((a, b) => a - b)) {
    const b = el('button', '', D.nodes[node]); b.type = 'button'; b.setAttribute('aria-pressed', 'true'); chosen.append(b);
    b.addEventListener('click', () => { silenced.delete(node) || silenced.add(node); b.setAttribute('aria-pressed', String(!silenced.has(node))); logged(); });
  }
  loglist.append(chosen, logcount, loglines); loglist.addEventListener('toggle', logged);
}

/* ---- the rest of the page ---- */
document.querySelectorAll('.q, .term').forEach(a => a.addEventListener('click', () => { document.querySelector(a.hash).closest('details').open = true; }));
document.querySelectorAll('.jump').forEach(b => b.addEventListener('click', () => {
  if (b.dataset.mark) go(+b.dataset.mark);
  else { const a = +b.dataset.from, z = +b.dataset.to, margin = Math.max((z - a) * .25, .02); picked = aimed = -1; zoom(a - margin, z + margin); }
  document.getElementById('happened').scrollIntoView({block: 'start'}); box.focus({preventScroll: true});
}));
document.querySelectorAll('.copy').forEach(b => b.addEventListener('click', async () => {
  const code = b.previousElementSibling;
  try { await navigator.clipboard.writeText(code.textContent); b.textContent = 'copied'; setTimeout(() => { b.textContent = 'copy'; }, 1500); }
  catch { getSelection().selectAllChildren(code); }
}));
/* What scrolls sideways can be reached by keys. */
function reachable() {
  document.querySelectorAll('.scroll').forEach(e => {
    if (e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight || e.getAttribute('role') === 'region') return;
    e.tabIndex = 0; e.setAttribute('role', 'group'); e.setAttribute('aria-label', `${e.closest('section')?.querySelector('h2')?.textContent || 'Table'}, wider than the page`);
  });
}
document.addEventListener('toggle', reachable, true);
let closed = [];
window.addEventListener('beforeprint', () => { closed = [...document.querySelectorAll('details:not([open]):not(.ops)')]; closed.forEach(d => { d.open = true; }); examples.forEach((one, i) => { one.hidden = i !== chosen && one.dataset.number !== '1'; }); root.dataset.print = ''; cursor = null; picked = -1; printing = true; draw(); });
window.addEventListener('afterprint', () => { closed.forEach(d => { d.open = false; }); examples.forEach((one, i) => { one.hidden = i !== chosen; }); delete root.dataset.print; printing = false; draw(); });
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
box.append(canvas, brush, rule_, time, ring_, card);
let lastWidth = box.clientWidth;
new ResizeObserver(() => { if (box.clientWidth !== lastWidth) { lastWidth = box.clientWidth; redraw(); stage(); reachable(); } }).observe(box);
draw(); if (examples.length) show(0); recall(); reachable();
document.body.dataset.done = 1;
