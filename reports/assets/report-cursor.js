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
  time.textContent = secs(cursor, to - from < 20 ? 3 : 1); time.style.top = panels.at(-1).y + 2 + 'px'; time.style.left = Math.min(width - (utc ? 92 : 60), Math.max(0, x - (utc ? 40 : 24))) + 'px';
  readout.textContent = secs(cursor) + '. ' + wanted.map(w => w[1].replace(/\n/g, ', ')).join('. ');
}
function zoom(a, b) {
  const least = Math.min(.01, D.end), middle = (a + b) / 2, half = Math.max(b - a, least) / 2;
  from = Math.max(0, middle - half); to = Math.min(D.end, middle + half);
  if (to - from < least) { from = Math.max(0, to - least); to = from + least; }
  told(); redraw();
}
let aimed = -1; /* the occurrence of an anomaly that was chosen on the panels */
const ringed = () => aimed >= 0 ? aimed : picked >= 0 && marked.has(picked) ? marked.get(picked) : -1;
function about(i) { /* an operation in the words of its model: [name, value] */
  const under = faultsAt(T[i]), mark = D.marks[ringed()];
  return [['operation', lineOf(i)], KEY[i] && [D.terms.key, KEY[i] - 1], ['outcome', WORDS[KIND[i]] || '?'], ERROR[i] && ['error', D.points.errors[ERROR[i] - 1]], PROCESS[i] && ['process', PROCESS[i] - 1],
    ['at', secs(T[i])], ['latency', L[i] < 0 ? 'never answered' : ms(L[i])], CLIENT[i] < 65535 && ['client', CLIENT[i]], ['node', NODE[i] === 255 ? 'unknown' : D.nodes[NODE[i]]],
    ['fault', under.map(f => `${f.id} ${f.name}`).join(', ') || 'none'], mark && ['anomaly', mark.name, mark.anchor]].filter(Boolean);
}
function told() { /* what depends on the stretch that is shown, and on the clock */
  reset.hidden = from <= 0 && to >= D.end; reset.textContent = `${secs(from, 2)} to ${secs(to, 2)} · show everything`;
  logged(); listed(); remember();
}
function ring() {
  const p = panels.find(q => q === latencyPanel), on = p && picked >= 0 && T[picked] >= from && T[picked] <= to;
  ring_.style.display = card.style.display = on ? 'block' : 'none';
  if (!on) return;
  const x = X(T[picked]), y = pointY({y: p.y, h: p.h_}, picked), rows = about(picked), list = el('dl');
  ring_.style.left = x + 'px'; ring_.style.top = y + 'px';
  for (const [name, value, anchor] of rows) {
    const said = el('dd', '', anchor ? null : value);
    if (anchor) { const link = el('a', '', value); link.href = '#' + anchor; said.append(link); }
    list.append(el('dt', '', name), said);
  }
  card.replaceChildren(list);
  const left = x > width * .6; card.style.left = left ? 'auto' : x + 14 + 'px'; card.style.right = left ? width - x + 14 + 'px' : 'auto'; card.style.top = Math.max(0, y - 20) + 'px';
  readout.textContent = rows.map(r => r[0] + ' ' + r[1]).join(', ');
}
function pick(x, y) {
  const p = panels.find(q => q === latencyPanel); picked = aimed = -1;
  if (panels.includes(markPanel) && y >= markPanel.y && y <= markPanel.y + markPanel.h_) {
    const near = D.marks.map((mark, i) => [Math.abs(X(mark.at) - x), i]).filter(([d]) => d < 9).sort((a, b) => a[0] - b[0])[0];
    if (near) { go(near[1]); return; }
  }
  if (p && y >= p.y && y <= p.y + p.h_) {
    let best = 12 ** 2; const reach = 12 / plotWidth() * (to - from);
    for (let i = first(timeAt(x) - reach), last = first(timeAt(x) + reach); i < last; i++) if (visible(i)) {
      const d = (X(T[i]) - x) ** 2 + (pointY({y: p.y, h: p.h_}, i) - y) ** 2; if (d < best) { best = d; picked = i; }
    }
  }
  ring(); remember();
}
function step(direction) { /* to the next operation that was not ok; refusals by design are no news */
  let i = picked >= 0 ? picked + direction : first(cursor ?? from) - (direction < 0 ? 1 : 0);
  while (i >= 0 && i < N && (KIND[i] === OK || KIND[i] === REFUSED || !visible(i))) i += direction;
  if (i < 0 || i >= N) return;
  picked = i; aimed = -1; cursor = null; hover(); remember();
  if (T[i] < from || T[i] > to) { const half = (to - from) / 2; zoom(T[i] - half, T[i] + half); } else ring();
}
function go(number) { /* to an occurrence of an anomaly, with its fault in view */
  const mark = D.marks[number]; if (!mark) return;
  aimed = number; picked = mark.point; cursor = null; hover(); zoom(mark.start, mark.end);
  choose(examples.findIndex(one => one.id === mark.example));
}
function move(t) { /* the cursor to a time */
  const span = to - from; cursor = Math.min(D.end, Math.max(0, t));
  if (cursor < from || cursor > to) zoom(cursor - span / 2, cursor + span / 2); else hover();
}
const nextMark = direction => {
  const at = ringed() >= 0 ? D.marks[ringed()].at : picked >= 0 ? T[picked] : cursor ?? (direction > 0 ? -1 : Infinity), known = ringed();
  const order = D.marks.map((_, i) => i), from = known >= 0 ? known : direction > 0 ? order.findIndex(i => D.marks[i].at > at) - 1 : order.findLastIndex(i => D.marks[i].at < at) + 1;
  go(Math.min(D.marks.length - 1, Math.max(0, from + direction)));
};
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
box.addEventListener('dblclick', () => { picked = aimed = -1; zoom(0, D.end); });
box.addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const span = to - from, at = cursor ?? (picked >= 0 ? T[picked] : (from + to) / 2);
  const keys = { ArrowLeft: () => move(at - span / (e.shiftKey ? 10 : 100)), ArrowRight: () => move(at + span / (e.shiftKey ? 10 : 100)), Home: () => move(from), End: () => move(to),
    '+': () => zoom(at - span / 4, at + span / 4), '=': () => zoom(at - span / 4, at + span / 4), '-': () => zoom(at - span, at + span), n: () => step(1), p: () => step(-1),
    a: () => nextMark(1), A: () => nextMark(-1), Escape: () => { picked = aimed = -1; cursor = null; zoom(0, D.end); } };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

