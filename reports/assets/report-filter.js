/* ---- search and filter: by node, object, process, error, fault and words ---- */
const filters = {node: '', key: '', process: '', error: '', fault: '', words: ''}, filterBar = document.getElementById('filters'), fields = {};
const filtering = () => Object.values(filters).some(Boolean);
const errorOf = i => ERROR[i] ? D.points.errors[ERROR[i] - 1] : '', kindOf = e => D.points.kinds[D.points.errors.indexOf(e)] || e;
function passes(i) {
  if (filters.node && D.nodes[NODE[i]] !== filters.node) return false;
  if (filters.key && KEY[i] !== +filters.key + 1) return false;
  if (filters.process && PROCESS[i] !== +filters.process + 1) return false;
  if (filters.error && kindOf(errorOf(i)) !== filters.error) return false;
  if (filters.fault && !faultsAt(T[i]).some(f => String(f.id) === filters.fault)) return false;
  return !filters.words || said_(i).includes(filters.words.toLowerCase());
}
const said_ = i => `${lineOf(i)} ${errorOf(i)} ${D.nodes[NODE[i]] || ''} client ${CLIENT[i]} process ${PROCESS[i] - 1} ${D.terms.key} ${KEY[i] - 1}`.toLowerCase();
/* Counts and latencies a step of what passes, where every operation is there. */
function counted_() {
  const rate = {}, at = [];
  for (let i = 0; i < N; i++) if (PASS[i] && !marked.has(i)) {
    const s = Math.floor((T[i] + Math.max(0, L[i]) / 1000) / D.step), f = D.ops[OP[i]], kind = D.outcomes[KIND[i]];
    ((rate[f] ||= {})[kind] ||= new Array(steps).fill(0))[Math.min(steps - 1, s)]++; (at[s] ||= []).push(i);
  }
  return {rate, spread(i, j) {
    const seen = []; for (let s = i; s < j; s++) for (const one of at[s] || []) if (L[one] >= 0 && visible(one)) seen.push(L[one]);
    seen.sort((a, b) => a - b); const q = share => seen.length ? seen[Math.max(0, Math.ceil(share * seen.length) - 1)] : null;
    return {p50: q(.5), p99: q(.99), max: q(1)};
  }};
}
const exampleFits = i => {
  const about_ = JSON.parse(examples[i].dataset.about);
  return ['node', 'key', 'process', 'error', 'fault'].every(name => !filters[name] || (about_[name] || []).map(one => name === 'error' ? kindOf(one) : one).includes(filters[name])) && (!filters.words || examples[i].textContent.toLowerCase().includes(filters.words.toLowerCase()));
};
let fitting = examples.map((_, i) => i);
function filtered() {
  const on = filtering(); let found = 0;
  for (let i = 0; i < N; i++) { PASS[i] = !on || passes(i) ? 1 : 0; if (PASS[i] && !marked.has(i)) found++; }
  mine = on && whole ? counted_() : null;
  fitting = examples.map((_, i) => i).filter(exampleFits);
  filterBar.querySelector('.clear').hidden = !on;
  filterBar.querySelector('.found').textContent = !on ? '' : `${group(found)} operations${examples.length ? ` and ${fitting.length} examples` : ''} match${whole ? '' : '; counts and quantiles are of all'}`;
  if (examples.length) fitting.length && !fitting.includes(chosen) ? show(fitting[0]) : fits();
  redraw(); logged(); listed(); remember();
}
function field(name, label, control) {
  const l = el('label', '', label); control.id = `filter-${name}`; l.append(control); fields[name] = control; filterBar.insertBefore(l, filterBar.querySelector('.clear'));
  control.addEventListener(control.tagName === 'SELECT' ? 'change' : 'input', () => { filters[name] = control.value.trim(); filtered(); });
  remembered.set(name, [() => filters[name], said => { control.value = said; filters[name] = control.value; if (said !== filters[name]) filters[name] = ''; }]);
}
function choice(name, label, options, least = 2) { /* [value, words] each; one error or fault is worth a choice, one node is not */
  if (options.length < least) return;
  const select = el('select'); select.append(el('option', '', 'any')); select.options[0].value = '';
  for (const [value, words_] of options) { const option = el('option', '', words_.length > 60 ? words_.slice(0, 59) + '…' : words_); option.value = value; select.append(option); }
  field(name, label, select);
}
if (filterBar && N) {
  filterBar.hidden = false;
  const distinct = column_ => [...new Set(column_)].sort((a, b) => a - b), nodes_ = new Set(NODE);
  choice('node', 'node ', D.nodes.filter((_, i) => nodes_.has(i)).map(n => [n, n]));
  choice('key', `${D.terms.key} `, distinct(KEY).filter(Boolean).map(k => [String(k - 1), String(k - 1)]));
  const processes = distinct(PROCESS).filter(Boolean);
  if (processes.length > 1) { const input = el('input'); input.type = 'text'; input.inputMode = 'numeric'; input.size = 5; input.placeholder = 'any'; field('process', 'process ', input); }
  choice('error', 'error ', [...new Set(D.points.kinds)].map(e => [e, e]), 1);
  choice('fault', 'fault ', D.faults.map(f => [String(f.id), `${f.id} ${f.name}`]), 1);
  const search = el('input'); search.type = 'search'; search.placeholder = 'value, word, …'; field('words', 'search ', search);
  filterBar.querySelector('.clear').addEventListener('click', () => { for (const name in fields) fields[name].value = filters[name] = ''; filtered(); fields.words.focus(); });
}

/* ---- the operations of the stretch that is shown, one by one ---- */
const oplist = document.getElementById('oplist'), oplines = el('div', 'scroll loglines'), opcount = el('p', 'hint'), ROWS = 200;
function listed() {
  if (!oplist?.open) return;
  const found = []; let all = 0;
  for (let i = first(from), last = first(to + 1e-9); i < last; i++) if (visible(i) && (KIND[i] !== REFUSED || shownKinds.has(REFUSED)) && !(marked.has(i) && !D.marks[marked.get(i)].example)) { all++; if (found.length < ROWS) found.push(i); }
  opcount.textContent = `${found.length < all ? `The first ${found.length} of ${group(all)}` : group(all)} operations that are drawn between ${secs(from, 2)} and ${secs(to, 2)}. Zoom or filter above for fewer.`;
  const table = el('table', 'mono'), head = el('tr'); for (const name of ['time', 'took', 'process', D.terms.key, 'operation', 'outcome', 'node', 'error']) head.append(el('th', name === 'took' || name === 'time' ? 'n' : '', name)); table.append(head);
  for (const i of found) {
    const row = el('tr'), at = el('td', 'n'), b = el('button', 'plain', secs(T[i])); b.type = 'button'; b.title = 'show on the time axis'; b.addEventListener('click', () => { picked = i; aimed = -1; cursor = null; hover(); ring(); remember(); document.getElementById('happened').scrollIntoView({block: 'start'}); box.focus({preventScroll: true}); });
    at.append(b); row.append(at, el('td', 'n', L[i] < 0 ? 'no answer' : ms(L[i])), el('td', '', PROCESS[i] ? PROCESS[i] - 1 : ''), el('td', '', KEY[i] ? KEY[i] - 1 : ''), el('td', '', lineOf(i)), el('td', 'name', WORDS[KIND[i]] || '?'), el('td', '', D.nodes[NODE[i]] || ''), el('td', '', errorOf(i))); table.append(row);
  }
  oplines.replaceChildren(table);
}
if (oplist) {
  oplist.hidden = !N; oplines.tabIndex = 0; oplines.setAttribute('role', 'region'); oplines.setAttribute('aria-label', 'Operations one by one');
  oplist.append(opcount, oplines); oplist.addEventListener('toggle', listed);
}

/* ---- many faults or errors: those that say most, until all are asked for ---- */
document.querySelectorAll('.unfold').forEach(b => {
  const table = b.closest('section').querySelector('table'), folded = b.textContent, turn = on => { on ? table.dataset.folded = '' : delete table.dataset.folded; b.textContent = on ? folded : 'show fewer'; b.setAttribute('aria-expanded', String(!on)); };
  b.hidden = false; turn(true); b.addEventListener('click', () => turn(!('folded' in table.dataset)));
});

/* ---- the contents mark where the reader is ---- */
const entries_ = [...document.querySelectorAll('.contents a')], headings_ = entries_.map(a => document.getElementById(a.hash.slice(1)));
function here() {
  const bar = document.querySelector('.contents').offsetHeight; let at = 0;
  headings_.forEach((h, i) => { if (h.getBoundingClientRect().top < bar + 60) at = i; });
  entries_.forEach((a, i) => { if (i === at) a.setAttribute('aria-current', 'true'); else a.removeAttribute('aria-current'); });
}
if (entries_.length) { root.style.setProperty('--bar', document.querySelector('.contents').offsetHeight + 'px'); addEventListener('scroll', here, {passive: true}); here(); }
