'use strict';
/* Tables of runs: sorted by any column, filtered together by values, verdict and words. */
(() => {
const bar = document.getElementById('filters'), chosen = new Map();
if (!bar) { document.body.dataset.done = 1; return; }
const tables = bar.dataset.tables.split(' ').map(id => document.getElementById(id)), axes = JSON.parse(bar.dataset.axes);
const lists = tables.map(table => [...table.tBodies[0].rows]), all = lists.flat();
const el = (tag, text) => { const e = document.createElement(tag); if (text != null) e.textContent = text; return e; };
let words = '';
function filter() {
  const wanted = words.split(/\s+/);
  for (const row of all) row.hidden = !([...chosen].every(([at, value]) => !value || row.dataset[at] === value) && wanted.every(word => row.textContent.toLowerCase().includes(word)));
  tables.forEach((table, i) => {
    const said = document.querySelector(`[data-counts=${table.id}]`), rows = lists[i], shown = rows.filter(row => !row.hidden).length;
    said.textContent = shown === rows.length ? `${rows.length} ${said.dataset.noun}` : `${shown} of ${rows.length} ${said.dataset.noun}`;
  });
}
function choice(name, at, values) {
  const label = el('label', name + ' '), select = el('select'); select.append(el('option', 'all'));
  select.firstChild.value = ''; for (const value of values) select.append(el('option', value));
  select.addEventListener('change', () => { chosen.set(at, select.value); filter(); }); label.append(select); bar.append(label);
}
axes.forEach(([name, values], i) => { if (values.length) choice(name, 'a' + i, values); });
choice('verdict', 'verdict', [...new Set(all.map(row => row.dataset.verdict))]);
const label = el('label', 'words '), input = el('input'); input.type = 'search';
input.addEventListener('input', () => { words = input.value.trim().toLowerCase(); filter(); }); label.append(input); bar.append(label);
tables.forEach((table, i) => [...table.tHead.rows[0].cells].forEach((head, at) => {
  const button = el('button', head.textContent); button.type = 'button'; button.className = 'plain'; head.replaceChildren(button);
  const key = row => { const cell = row.cells[at], k = cell.dataset.k; return k == null ? cell.textContent : k === '' ? Infinity : +k; };
  button.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down > 0 ? 'ascending' : 'descending');
    lists[i].sort((a, b) => { const x = key(a), y = key(b); return down * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x === y ? 0 : x < y ? -1 : 1); });
    table.tBodies[0].append(...lists[i]);
  });
}));
function target() { /* a link from a table leads to its run whatever is filtered */
  if (!all.find(row => row.id && '#' + row.id === location.hash)?.hidden) return;
  chosen.clear(); words = input.value = ''; bar.querySelectorAll('select').forEach(select => { select.value = ''; }); filter();
  document.getElementById(location.hash.slice(1)).scrollIntoView();
}
window.addEventListener('hashchange', target);
filter();
document.body.dataset.done = 1;
})();
