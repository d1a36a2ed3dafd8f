'use strict';
/* The table of runs: sorted by any column, filtered by values of the axes, verdict and words. */
(() => {
const table = document.getElementById('runtable'), bar = document.getElementById('filters'), rows = [...table.tBodies[0].rows];
const said = document.getElementById('filtered'), axes = JSON.parse(bar.dataset.axes), chosen = new Map();
const el = (tag, text) => { const e = document.createElement(tag); if (text != null) e.textContent = text; return e; };
let words = '';
function filter() {
  let shown = 0;
  for (const row of rows) {
    const fits = [...chosen].every(([at, value]) => !value || row.dataset[at] === value) && words.split(/\s+/).every(word => row.textContent.toLowerCase().includes(word));
    row.hidden = !fits; shown += fits;
  }
  said.textContent = shown === rows.length ? `${rows.length} runs` : `${shown} of ${rows.length} runs`;
}
function choice(name, at, values) {
  const label = el('label', name + ' '), select = el('select'); select.append(el('option', 'all'));
  select.firstChild.value = ''; for (const value of values) select.append(el('option', value));
  select.addEventListener('change', () => { chosen.set(at, select.value); filter(); }); label.append(select); bar.append(label);
}
axes.forEach(([name, values], i) => choice(name, 'a' + i, values));
choice('verdict', 'verdict', [...new Set(rows.map(row => row.dataset.verdict))]);
const label = el('label', 'words '), input = el('input'); input.type = 'search';
input.addEventListener('input', () => { words = input.value.trim().toLowerCase(); filter(); }); label.append(input); bar.append(label);
[...table.tHead.rows[0].cells].forEach((head, at) => {
  const button = el('button', head.textContent); button.type = 'button'; button.className = 'plain'; head.replaceChildren(button);
  const key = row => { const cell = row.cells[at], k = cell.dataset.k; return k == null ? cell.textContent : k === '' ? Infinity : +k; };
  button.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down > 0 ? 'ascending' : 'descending');
    rows.sort((a, b) => { const x = key(a), y = key(b); return down * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x === y ? 0 : x < y ? -1 : 1); });
    table.tBodies[0].append(...rows);
  });
});
function target() { /* a link from a table leads to its run whatever is filtered */
  if (!rows.find(row => '#' + row.id === location.hash)?.hidden) return;
  chosen.clear(); words = input.value = ''; bar.querySelectorAll('select').forEach(select => { select.value = ''; }); filter();
  document.getElementById(location.hash.slice(1)).scrollIntoView();
}
window.addEventListener('hashchange', target);
filter();
document.body.dataset.done = 1;
})();
