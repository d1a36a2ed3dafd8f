/* ---- what the page shows, in its address: a link leads to the same zoom, filter and selection ---- */
const remembered = new Map(); /* name → [what to write, what to do with what was written, '' for nothing] */
let pending = 0, recalling = false;
const addressOf = () => [...remembered].map(([name, [said]]) => [name, said()]).filter(([, said]) => said).map(([name, said]) => `${name}=${encodeURIComponent(said).replace(/%(2F|2C|3A)/g, decodeURIComponent)}`).join('&');
function write() {
  clearTimeout(pending); pending = 0;
  const said = addressOf(); if (!said && !location.hash.includes('=')) return;
  try { history.replaceState(null, '', said ? '#' + said : location.href.split('#')[0]); } catch { /* a page inside another one may not */ }
}
const remember = () => { if (!recalling && !pending) pending = setTimeout(write, 150); };
function recall() {
  if (!location.hash.includes('=')) { reveal(location.hash.slice(1)); return; }
  const said = new Map(location.hash.slice(1).split('&').map(part => part.split('='))); recalling = true;
  for (const [name, [, act]] of remembered) try { act(decodeURIComponent(said.get(name) ?? '')); } catch { /* a link that was cut */ }
  filtered(); recalling = false; redraw();
}
const hiddenOf = (all, shown, names) => all.filter(one => shown.has(one) === (one === REFUSED)).map(names).join();
const hide = (all, shown, names, said) => { const off = new Set(said.split(',')); for (const one of all) off.has(String(names(one))) === (one === REFUSED) ? shown.add(one) : shown.delete(one); };
remembered.set('at', [() => from > 0 || to < D.end ? `${+from.toFixed(4)}-${+to.toFixed(4)}` : '', said => { const [a, b] = said.split('-').map(Number); a < b ? zoom(a, b) : zoom(0, D.end); }]);
remembered.set('outcomes', [() => hiddenOf(kindsSeen, shownKinds, k => D.outcomes[k]), said => { hide(kindsSeen, shownKinds, k => D.outcomes[k], said); pressedAgain(); }]);
remembered.set('without', [() => hiddenOf(opWords, shownOps, f => f), said => { hide(opWords, shownOps, f => f, said); pressedAgain(); }]);
remembered.set('clock', [() => utc ? 'utc' : '', said => { if (D.utc_ms != null) tell(said === 'utc'); }]);
remembered.set('operation', [() => picked >= 0 && aimed < 0 ? String(picked) : '', said => { if (said && +said < N) { picked = +said; aimed = -1; } }]);

/* ---- the anomalies, one occurrence at a time ---- */
const examples = [...document.querySelectorAll('.example')], explorer = document.getElementById('explorer');
let chosen = -1, spread_ = null;
const markOf = i => D.marks[+examples[i]?.dataset.mark] || null;
function stage() { /* the drawing of the occurrence that is shown */
  const mark = markOf(chosen), into = examples[chosen]?.querySelector('.around');
  if (!into || !mark?.scene) return;
  const [a, b] = spread_, room = Math.floor(into.clientWidth); if (room < 100) return;
  const made = scene(mark, a, b, room), buttons = el('p', 'tools'), widen = (label, factor) => {
    const button = el('button', '', label); button.type = 'button';
    button.addEventListener('click', () => { const half = (b - a) / 2 * factor; spread_ = [Math.max(-1, mark.at - half), Math.min(D.end + 1, mark.at + half)]; stage(); into.querySelectorAll('.tools button')[factor > 1 ? 0 : 1].focus(); }); buttons.append(button);
  };
  widen('wider', 2); widen('closer', .5);
  into.replaceChildren(el('h4', '', 'Clients and nodes around it'), made.svg, el('p', 'hint', made.said), buttons);
}
function show(i, {scroll = false} = {}) {
  if (!examples[i]) return;
  chosen = i; const mark = markOf(i); spread_ = mark?.scene ? [mark.scene.start, mark.scene.end] : null;
  examples.forEach((one, at) => { one.hidden = at !== i; });
  explorer.querySelector('select').selectedIndex = i; fits();
  stage(); reachable();
  if (scroll) bring(examples[i]);
}
/* Stepping scrolls only where an example would begin out of sight, and then at once: the buttons stay under the mouse. */
function bring(example) {
  const {top} = example.getBoundingClientRect();
  if (top < explorer.getBoundingClientRect().bottom || top > innerHeight * .7) example.scrollIntoView({block: 'start', behavior: 'instant'});
}
/* Where the shown one is among those that the filters let through. */
function fits() {
  const at = fitting.indexOf(chosen), many = fitting.length < examples.length;
  explorer.querySelector('.count').textContent = !fitting.length ? 'none matches the filter' : `${at + 1 || '—'} of ${fitting.length}${many ? ` that match, of ${examples.length}` : ''}`;
  explorer.querySelector('.before').disabled = !fitting.some(i => i < chosen); explorer.querySelector('.after').disabled = !fitting.some(i => i > chosen);
  explorer.querySelectorAll('option').forEach((option, i) => { option.disabled = !fitting.includes(i); });
}
/* What an anchor of an anomaly leads to is shown, whatever was shown before. */
function reveal(id) {
  const target = id ? document.getElementById(id) : null; if (!target?.closest('.anom')) return;
  const at = examples.findIndex(one => one === target || one.closest('.anom') === target);
  if (at >= 0 && examples[chosen]?.closest('.anom') !== target) show(at);
}
let told_ = false; /* whether somebody chose what is shown */
const choose = (i, options) => { told_ = true; show(i, options); remember(); };
if (explorer && examples.length) {
  explorer.hidden = false; const list = explorer.querySelector('select');
  let into = null;
  for (const one of examples) {
    if (into?.label !== one.dataset.name) { into = el('optgroup'); into.label = one.dataset.name; list.append(into); }
    into.append(el('option', '', `${one.dataset.name} ${one.dataset.number}`));
  }
  list.addEventListener('change', () => choose(list.selectedIndex, {scroll: true}));
  explorer.querySelector('.before').addEventListener('click', () => choose(fitting.findLast(i => i < chosen), {scroll: true}));
  explorer.querySelector('.after').addEventListener('click', () => choose(fitting.find(i => i > chosen), {scroll: true}));
  explorer.querySelector('.link').addEventListener('click', async e => {
    told_ = true; write(); const b = e.currentTarget;
    try { await navigator.clipboard.writeText(location.href); b.textContent = 'copied'; } catch { b.textContent = 'it is in the address now'; }
    setTimeout(() => { b.textContent = 'copy link'; }, 1500);
  });
  document.addEventListener('click', e => { const a = e.target.closest?.('a[href^="#"]'); if (a) reveal(a.hash.slice(1)); });
  remembered.set('anomaly', [() => told_ && chosen >= 0 ? `${examples[chosen].dataset.name}/${examples[chosen].dataset.number}` : '', said => {
    const at = examples.findIndex(one => `${one.dataset.name}/${one.dataset.number}` === said); if (at < 0) return;
    told_ = true; show(at); const mark = markOf(at); if (mark) { aimed = +examples[at].dataset.mark; picked = mark.point; }
    examples[at].scrollIntoView({block: 'start'});
  }]);
}

/* ---- lines of node logs right before and behind a moment ---- */
const BESIDE = 20;
function neighbours(t, what) {
  const all = texts().logs; let a = 0, b = all.length;
  while (a < b) { const m = (a + b) >> 1; if (all[m][0] < t) a = m + 1; else b = m; }
  const table = el('table', 'mono'), head = el('tr'); head.append(el('th', 'n', 'time'), el('th', '', 'node'), el('th', '', 'line')); table.append(head);
  const line_ = (at, node, said, tone) => { const row = el('tr', tone), cell = el('td', 'n'); cell.append(el('span', 'nowrap', secs(at))); row.append(cell, el('td', 'name', node), el('td', '', said)); table.append(row); };
  for (const [at, node, said] of all.slice(Math.max(0, a - BESIDE), a)) line_(at, D.nodes[node], said);
  line_(t, '', what, 'here');
  for (const [at, node, said] of all.slice(a, a + BESIDE)) line_(at, D.nodes[node], said);
  return table;
}
document.querySelectorAll('details.beside').forEach((one, i) => one.addEventListener('toggle', () => {
  if (!one.open) return;
  const lines_ = el('div', 'scroll loglines'); lines_.tabIndex = 0; lines_.setAttribute('role', 'region'); lines_.setAttribute('aria-label', `${one.querySelector('summary').textContent}, ${i + 1}`);
  for (const [at, what] of JSON.parse(one.dataset.moments)) lines_.append(neighbours(at, what));
  one.querySelector('.loglines')?.remove(); one.append(lines_); const here = lines_.querySelector('.here'); lines_.scrollTop = here.offsetTop - lines_.clientHeight / 2;
}));
window.addEventListener('hashchange', recall);
