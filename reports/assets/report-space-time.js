/* ---- who asked whom around one occurrence: clients above, nodes below, a line to the node that answered and back ---- */
const SVG = 'http://www.w3.org/2000/svg', MOST_BESIDE = 150, ROW_CLIENT = 30, ROW_NODE = 30;
function drawn(tag, attributes, words, inside) {
  const e = document.createElementNS(SVG, tag); for (const name in attributes) e.setAttribute(name, attributes[name]);
  if (words != null) e.textContent = words; if (inside) inside.append(e); return e;
}
const wordsWidth = words => { g.font = FONT; return g.measureText(words).width; };
const TYPES = {[OK]: 'ok', [FAIL]: 'fail', [INFO]: 'info', [UNSENT]: 'not-sent', [REFUSED]: 'fail'};
/* Operations of other clients, and other ones of these, in a stretch; of many evenly some, so that no time looks idle. */
function beside(acts, a, b) {
  const found = [], own = i => acts.some(act => act.client === CLIENT[i] && (act.end == null ? L[i] < 0 && Math.abs(T[i] - act.start) < .05 : L[i] >= 0 && Math.abs(T[i] + L[i] / 1000 - act.end) < .0015));
  for (let i = first(a - 30), last = first(b); i < last; i++)
    if (!marked.has(i) && !own(i) && KIND[i] !== UNSENT && (KIND[i] !== REFUSED || shownKinds.has(REFUSED)) && (L[i] < 0 ? T[i] >= a : T[i] + L[i] / 1000 >= a)) found.push(i);
  const every = Math.max(1, found.length / MOST_BESIDE);
  return {of: found.length, others: found.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every)).map(i => ({number: 0, start: T[i], end: L[i] < 0 ? null : T[i] + L[i] / 1000, client: CLIENT[i] === 65535 ? -1 : CLIENT[i], node: NODE[i] === 255 ? -1 : NODE[i], type: TYPES[KIND[i]], guilty: false, words: lineOf(i)}))};
}
const actsOf = mark => mark.scene.acts.map(([number, start, end, client, node, type, guilty, words]) => ({number, start, end, client, node, type, guilty, words}));
function lanesOf(acts, others, a, b, wide) {
  const own = [...new Set(acts.map(act => act.client))], rest = [...new Set(others.map(act => act.client))].filter(c => !own.includes(c));
  const clients = [...own, ...rest.slice(0, Math.max(0, (wide ? 8 : 5) - own.length))].sort((x, y) => x - y);
  const involved = D.nodes.map((name, i) => acts.some(act => act.node === i) || D.faults.some(f => f.start < b && f.healed > a && f.targets.includes(name)) || D.strips.some(s => s.node === name && s.intervals.some(v => v[0] < b && v[1] > a && v[2] !== 'follow')));
  const nodes = D.nodes.map((_, i) => i).filter(i => D.nodes.length <= 9 || involved[i]).slice(0, 12);
  return {clients, nodes};
}
function scene(mark, a, b, room) {
  const wide = room >= 720, acts = actsOf(mark), {of, others} = beside(acts, a, b), {clients, nodes} = lanesOf(acts, others, a, b, wide);
  const faults = D.faults.filter(f => f.start < b && f.healed > a).slice(0, 4), clientName = c => c < 0 ? 'client' : `client ${c}`;
  const left = 14 + Math.max(...clients.map(c => wordsWidth(clientName(c))), ...nodes.map(i => wordsWidth(D.nodes[i])), 30), right = room - 10;
  const x = t => left + (Math.min(b, Math.max(a, t)) - a) / (b - a) * (right - left);
  const top = faults.length * 20 + 10, clientY = new Map(clients.map((c, i) => [c, top + i * ROW_CLIENT + 22]));
  const under = top + clients.length * ROW_CLIENT + 22, nodeY = new Map(nodes.map((n, i) => [n, under + i * ROW_NODE + 18]));
  const bottom = under + nodes.length * ROW_NODE + 6, height = bottom + 20;
  const svg = drawn('svg', {class: 'scene', viewBox: `0 0 ${room} ${height}`, width: room, height, role: 'img', 'aria-label': `Clients and nodes from ${secs(a)} to ${secs(b)}: ${acts.length} operations of this example and ${others.length} others, which lead to the node that answered and back`});
  faults.forEach((f, i) => {
    const x0 = x(f.start), x1 = Math.max(x0 + 1.5, x(f.end)), name = `fault ${f.id} ${f.name}`, said = [name, `fault ${f.id}`, `${f.id}`].find(w => x0 + wordsWidth(w) + 12 < right) || '';
    drawn('rect', {class: `f-${f.colour} veil`, x: x0, y: i * 20 + 2, width: x1 - x0, height: bottom - i * 20 - 2}, null, svg);
    drawn('rect', {class: `f-${f.colour}`, x: x0, y: i * 20 + 2, width: x1 - x0, height: 16}, null, svg);
    drawn('text', {class: 'label', x: x0 + 5, y: i * 20 + 14}, said, svg);
    for (const node of nodes) if (f.targets.includes(D.nodes[node])) drawn('rect', {class: `f-${f.colour}`, x: x0, y: nodeY.get(node) + 5, width: x1 - x0, height: 4}, null, svg);
  });
  for (const [c, y] of clientY) { drawn('text', {x: 0, y: y + 4}, clientName(c), svg); drawn('line', {class: 'lane', x1: left, x2: right, y1: y, y2: y}, null, svg); }
  const late = []; /* words that stand on the lines */
  for (const [n, y] of nodeY) {
    drawn('text', {x: 0, y: y + 4}, D.nodes[n], svg); drawn('line', {class: 'lane', x1: left, x2: right, y1: y, y2: y}, null, svg);
    for (const strip of D.strips) if (strip.node === D.nodes[n]) for (const v of strip.intervals) {
      const x0 = x(v[0]), x1 = x(v[1]); if (v[1] <= a || v[0] >= b) continue;
      drawn('rect', {class: `state ${v[2]}`, x: x0, y: y - 5, width: Math.max(1, x1 - x0), height: 10}, null, svg);
      const said = [words(v), v[3]].find(w => wordsWidth(w) + 8 < x1 - x0); if (said && v[2] !== 'follow') late.push([x0 + 4, y - 8, said]);
    }
  }
  const seen = others.filter(act => clientY.has(act.client)), inView = acts.filter(act => act.start < b && (act.end ?? act.start) >= a);
  for (const act of [...seen, ...inView]) {
    const y = clientY.get(act.client), to = nodeY.get(act.node), x0 = x(act.start), x1 = act.end == null ? Math.min(right, x0 + 34) : x(act.end), middle = (x0 + x1) / 2, group_ = drawn('g', {class: `act ${act.type}${act.guilty ? ' guilty' : act.number ? '' : ' other'}`}, null, svg);
    drawn('title', {}, `${act.words}, ${secs(act.start, 4)}${act.end == null ? ', no answer' : ` to ${secs(act.end, 4)}`}`, group_);
    drawn('rect', {x: x0, y: y - 4, width: Math.max(2, x1 - x0), height: 8}, null, group_);
    if (to == null) drawn('line', {class: 'lost', x1: x0, x2: x0 + 8, y1: y, y2: y + 16}, null, group_);
    else { drawn('line', {class: act.end == null ? 'lost' : '', x1: x0, x2: middle, y1: y, y2: to}, null, group_); if (act.end != null) drawn('line', {x1: middle, x2: x1, y1: to, y2: y}, null, group_); drawn('circle', {cx: middle, cy: to, r: act.number ? 3 : 1.6}, null, group_); }
  }
  for (const [x0, y, said] of late) drawn('text', {class: 'label', x: x0, y}, said, svg);
  for (const [c, y] of clientY) {
    const own = inView.filter(act => act.client === c), step_ = Math.min(18, (right - left) / Math.max(1, own.length)); let last = -Infinity;
    const places = own.map(act => last = Math.max(x(act.start), last + step_)); for (let i = places.length - 1, most_ = right - 8; i >= 0; i--, most_ = places[i + 1] - step_) places[i] = Math.min(places[i], most_);
    if (step_ === 18) own.forEach((act, i) => { const n = drawn('g', {class: `number${act.guilty ? ' guilty' : ''}`}, null, svg); drawn('circle', {cx: places[i], cy: y - 13, r: 8}, null, n); drawn('text', {x: places[i], y: y - 9.5, 'text-anchor': 'middle'}, act.number, n); });
  }
  const least = (b - a) / Math.max(1, (right - left) / (wordsWidth(secs(b, 3)) + 30)), step_ = STEPS.find(one => one >= least) || 14400, digits = step_ < 1 ? Math.ceil(-Math.log10(step_) - 1e-9) : 0;
  for (let i = Math.ceil(a / step_), t; (t = i * step_) <= b; i++) { const half = wordsWidth(secs(t, digits)) / 2; if (x(t) + half < right) drawn('text', {x: x(t), y: bottom + 15, 'text-anchor': 'middle'}, secs(t, digits), svg); }
  return {svg, said: [`From ${secs(a)} to ${secs(b)}. A line leads from a client to the node that answered and back; when the node acted in between is not known.`, inView.length < acts.length && `${acts.length - inView.length} of the ${acts.length} operations of this example are outside this stretch.`, seen.length && `Thin lines: ${seen.length < of ? `${seen.length} of the ${group(of)}` : `the ${of}`} other operations of this time.`].filter(Boolean).join(' ')};
}
