/* ---- panels: label, height, draw(p), tips(t) → [y, text] ---- */
/* A number beside an axis, in at most six signs: the label of its panel stands before it. */
const onAxis = n => n >= 1e6 ? (n / 1e6).toFixed(1) + ' M' : n >= 1e5 ? Math.round(n / 1e3) + ' k' : group(n);
function stateAt(strip, t) { const s = strip.intervals.find(v => v[0] <= t && t < v[1]); return s ? words(s) : 'not observed'; }
const words = s => s[3] + (s[2] === 'stale' ? ', superseded' : '');
/* Rows of faults: in a row none begins before the one before it is whole again and has had room for its number. */
const numberRoom = f => wordsWidth(String(f.id)) + 8;
function setRows() {
  const ends = [], end = plotWidth(), px = end / D.end;
  for (const f of [...D.faults].sort((a, b) => a.start - b.start)) {
    const a = Math.min(f.start * px, end - numberRoom(f));
    let at = ends.findIndex(taken => taken <= a);
    if (at < 0) at = ends.length < MAX_LANES ? ends.length : ends.indexOf(Math.min(...ends));
    ends[at] = Math.max(f.healed * px, a + numberRoom(f)); lane.set(f.id, at);
  }
  return Math.max(1, ends.length);
}
const faultPanel = { label: 'fault', h: () => setRows() * 20 + 4,
  draw(p) {
    const right = gutter + plotWidth(), sides = f => [X(f.start), Math.max(X(f.start) + 2, X(f.end))], labels = [];
    clip(p, () => D.faults.forEach(f => {
      const y = p.y + 3 + lane.get(f.id) * 20, [a, b] = sides(f), whole = X(f.healed);
      g.fillStyle = css('fault-' + f.colour); g.globalAlpha = .45; g.fillRect(b, y, Math.max(0, whole - b), 16); g.globalAlpha = 1; g.fillRect(a, y, b - a, 16);
      if (!f.proven) { g.strokeStyle = css('bad'); g.setLineDash([3, 2]); g.lineWidth = 1.5; g.strokeRect(a + 1, y + 1, b - a - 2, 14); g.setLineDash([]); }
    }));
    clip(p, () => D.faults.forEach(f => {
      const row = lane.get(f.id), [a, b] = sides(f); if (b <= gutter || a >= right) return;
      /* Words stay in their band or before whatever begins next; a number only has to leave its row's next one alone. */
      const later = D.faults.filter(o => o !== f && X(o.start) > a), next = Math.min(right, ...later.filter(o => lane.get(o.id) === row).map(o => X(o.start)));
      const clear = Math.min(right, ...later.map(o => X(o.start)).filter(x => x >= b)), from_ = Math.max(a, gutter) + 5, name = f.id + ' ' + f.name;
      const said = fitted(name + (f.proven ? '' : ' (unproven)'), Math.min(next, clear) - from_ - 4) || fitted(name, Math.min(next, clear) - from_ - 4);
      const number = Math.min(from_ - 2, right - numberRoom(f) + 4), [words_, x] = said ? [said, from_] : [fitted(String(f.id), next - number + 1), number];
      if (words_) { text(words_, x, p.y + 15 + row * 20, 'left', 'fg'); labels.push([f.id, words_, x, x + wordsWidth(words_), row, a, b]); }
    }));
    box.dataset.faults = JSON.stringify(labels);
  },
  tips(t, p) { const now = D.faults.filter(f => f.start <= t && t < f.healed); return now.length ? [[p.y + 2, now.map(f => `${f.id} ${f.name}${t >= f.end ? ', healing' : ''}: ${f.targets.join(' ')}`).join('\n')]] : []; } };
const WEIGHT = {error: 'bad', undecided: 'warn', allowed: 'mute'};
const markPanel = { label: 'anomalies', h: () => 20,
  draw(p) { clip(p, () => D.marks.forEach((mark, i) => {
    const x = X(mark.at), y = p.y + 10, r = i === ringed() ? 6.5 : 5;
    g.fillStyle = css(WEIGHT[mark.weight]); g.beginPath(); g.moveTo(x, y - r); g.lineTo(x + r, y); g.lineTo(x, y + r); g.lineTo(x - r, y); g.fill();
    const room = (D.marks[i + 1] ? X(D.marks[i + 1].at) - 6 : gutter + plotWidth()) - x - 12;
    text(fitted(mark.name, room), x + 9, y + 4, 'left', 'fg');
  })); },
  tips(t, p) { const near = D.marks.filter(mark => Math.abs(X(mark.at) - X(t)) < 7); return near.length ? [[p.y + 2, [...new Set(near.map(mark => mark.name))].join(', ')]] : []; } };
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
      text(shortened(strip.name, gutter - 10 - (narrow || row ? 0 : wordsWidth(this.label) + 6), wordsWidth), gutter - 10, y + 10, 'right', strip.node ? 'fg' : 'mute');
      clip(p, () => {
        for (const [a, b, tone, label] of strip.intervals) {
          const x0 = X(a), x1 = X(b); if (x1 < gutter || x0 > gutter + plotWidth()) continue;
          g.fillStyle = tone === 'silent' ? down : css(tone); g.globalAlpha = tone === 'follow' ? .75 : 1; g.fillRect(x0, y, Math.max(1.5, x1 - x0 - 1), 13); g.globalAlpha = 1;
          if (tone !== 'follow') {
            const start = Math.max(x0, gutter) + 5, said = fitted(words([a, b, tone, label]), Math.min(x1, gutter + plotWidth()) - start - 3) || fitted(label, x1 - start - 3);
            if (said && tone === 'silent') { g.fillStyle = css('bg'); g.globalAlpha = .8; g.fillRect(start - 2, y, wordsWidth(said) + 4, 13); g.globalAlpha = 1; }
            text(said, start, y + 10, 'left', 'fg');
          }
        }
        for (const f of D.faults) if (f.targets.includes(strip.node)) { g.fillStyle = css('fault-' + f.colour); g.fillRect(X(f.start), y + 13, X(f.end) - X(f.start), 2.5); }
      });
    });
  },
  tips: (t, p) => [[p.y + 3, D.strips.map(s => stateAt(s, t)).join('\n')]] };
const latencyY = (p, v) => { const top = p.y + (silent ? 20 : 6); return p.y + p.h - 6 - (Math.log(v) - Math.log(lo)) / (Math.log(hi) - Math.log(lo)) * (p.y + p.h - 6 - top); };
const pointY = (p, i) => L[i] < 0 ? p.y + 9 + (i % 5 - 2) : latencyY(p, Math.max(lo, L[i]));
/* Of more operations than are drawn one by one, those that were ok, or refused by design, as shades: counts by step and latency. */
const shaded = () => !whole && counted && !filtering() ? [OK, REFUSED].filter(k => shownKinds.has(k)) : [];
function shade(p, kinds) {
  const cells = bins().map(([i, j]) => {
    const sums = new Map();
    for (const f of shownOps) for (const k of kinds) { const rows = (D.latencies[f] || {})[D.outcomes[k]]; if (rows) for (let s = i; s < j; s++) { const row = rows[s] || []; for (let n = 0; n < row.length; n += 2) sums.set(row[n], (sums.get(row[n]) || 0) + row[n + 1]); } }
    return [i, j, sums];
  });
  let densest = 1; for (const [, , sums] of cells) for (const n of sums.values()) if (n > densest) densest = n;
  g.fillStyle = css('ok');
  for (const [i, j, sums] of cells) { const x0 = X(i * D.step), w = Math.max(1, X(j * D.step) - x0); for (const [bucket, n] of sums) {
    const y0 = latencyY(p, Math.max(lo, D.bucket_ms[bucket])), y1 = latencyY(p, Math.max(lo, bucket ? D.bucket_ms[bucket - 1] : D.bucket_ms[0] / 1.1));
    g.globalAlpha = .12 + .78 * Math.log1p(n) / Math.log1p(densest); g.fillRect(x0, y0, w, Math.max(1, y1 - y0));
  } }
  g.globalAlpha = 1; box.dataset.shades = cells.reduce((sum, [, , sums]) => sum + sums.size, 0);
}
const latencyPanel = { label: 'latency', h: () => 204,
  draw(p) {
    if (silent) { rule(p.y + 18); text(gutter > 100 ? 'no answer' : 'none', gutter - 10, p.y + 13, 'right'); }
    for (let v = 10 ** Math.ceil(Math.log10(lo)); v <= hi; v *= 10) { rule(latencyY(p, v)); text(v >= 1000 ? v / 1000 + ' s' : v >= 1 ? v + ' ms' : v * 1000 + ' µs', gutter - 10, latencyY(p, v) + 4, 'right'); }
    const a = Math.max(0, first(from) - 1), b = Math.min(N, first(to) + 1);
    clip(p, () => {
      const shades = shaded(), one = D.step / (to - from) * plotWidth() > 8; /* where a step is wide, operations are drawn on its shades */
      if (shades.length) shade(p, shades); else box.dataset.shades = 0;
      const dense = b - a, alpha = Math.min(.75, Math.max(.13, 9000 / Math.max(1, dense) * .3));
      if (shownKinds.has(2) && (one || !shades.length)) { g.fillStyle = css('ok'); g.globalAlpha = alpha; const r = dense > 20000 ? 1.5 : 2; for (let i = a; i < b; i++) if (KIND[i] === 2 && visible(i)) g.fillRect(X(T[i]) - r / 2, pointY(p, i) - r / 2, r, r); }
      if (shownKinds.has(3)) { /* many refusals must not hide what succeeded: then small, thin and up to 20 000 each stroked alone, so that they shade */
        let many = 0; for (let i = a; i < b; i++) if (KIND[i] === 3) many++;
        const r = many > 800 ? 1.7 : 2.4; g.globalAlpha = many > 800 ? Math.max(.22, Math.min(.9, 500 / many)) : .9; g.strokeStyle = css('fail'); g.lineWidth = many > 800 ? 1 : 1.2; g.beginPath();
        for (let i = a; i < b; i++) if (KIND[i] === 3 && visible(i)) { const x = X(T[i]), y = pointY(p, i); g.moveTo(x - r, y - r); g.lineTo(x + r, y + r); g.moveTo(x + r, y - r); g.lineTo(x - r, y + r); if (many > 800 && many <= 20000) { g.stroke(); g.beginPath(); } }
        g.stroke();
      }
      g.globalAlpha = .9;
      if (shownKinds.has(REFUSED) && (one || !shades.length)) { g.globalAlpha = .5; g.fillStyle = css('unsent'); for (let i = a; i < b; i++) if (KIND[i] === REFUSED && visible(i)) g.fillRect(X(T[i]) - 1, pointY(p, i) - 1, 2, 2); g.globalAlpha = .9; }
      if (shownKinds.has(4)) { g.fillStyle = css('info'); g.beginPath(); for (let i = a; i < b; i++) if (KIND[i] === 4 && visible(i)) { const x = X(T[i]), y = pointY(p, i); g.moveTo(x, y - 3.2); g.lineTo(x + 3, y + 2.2); g.lineTo(x - 3, y + 2.2); } g.fill(); }
      g.globalAlpha = 1;
      const drawn = bins().map(([i, j]) => [X((i + j) / 2 * D.step), spread(i, j)]);
      for (const [word, dash] of [['p50', []], ['p99', [5, 3]], ['max', [1, 3]]]) {
        g.globalAlpha = word === 'max' ? .45 : .8;
        line(drawn.map(([x, at]) => [x, at[word] == null ? null : latencyY(p, Math.max(lo, at[word]))]), 'fg', dash, 1.1);
      }
      if (to >= D.end && from <= 0) box.dataset.p50 = JSON.stringify(drawn.map(([, at]) => at.p50));
      g.globalAlpha = 1;
    });
  },
  tips(t, p) { const s = Math.floor(t / D.step), q = spread(s, s + 1); return s < steps ? [[p.y + p.h - 21, `p50 ${ms(q.p50)}   p99 ${ms(q.p99)}   max ${ms(q.max)}`]] : []; } };
const ratePanel = { label: 'operations/s', narrow: 'op/s', h: () => 80,
  draw(p) {
    const all = bins().map(([i, j]) => [i, j, counts(i, j)]);
    const top = Math.max(1, ...all.map(r => r[2][2] + r[2][3] + r[2][4] + r[2][5])) * 1.06;
    clip(p, () => { for (const [i, j, c] of all) { let y = p.y + p.h; const x0 = X(i * D.step), w = X(j * D.step) - x0;
      for (const k of kindsSeen) if (shownKinds.has(k)) { const h = c[k] / top * (p.h - 6); g.fillStyle = css(TONE[k]); g.fillRect(x0, y - h, Math.max(.6, w - (w > 3 ? .6 : 0)), h); y -= h; } } });
    text(onAxis(Math.round(top / 1.06)), gutter - 10, p.y + 13, 'right'); text('0', gutter - 10, p.y + p.h - 2, 'right');
  },
  tips(t, p) { const s = Math.floor(t / D.step); if (s >= steps) return []; const c = counts(s, s + 1); return [[p.y + 3, kindsSeen.map(k => `${WORDS[k].split(' ')[0]} ${group(Math.round(c[k]))}`).join('   ')]]; } };
/* The key below curves, as wide as the plot: a sample and a name each. */
const keyWidth = n => 40 + g.measureText(n).width;
const keyRows = names => { let rows = 1, x = 8; for (const n of names) { if (x + keyWidth(n) > plotWidth() && x > 8) { rows++; x = 8; } x += keyWidth(n); } return rows; };
function key(names, p, sample) {
  let x = gutter + 8, y = p.y + p.h - 16 * keyRows(names) + 8;
  names.forEach((n, i) => { if (x + keyWidth(n) > gutter + plotWidth() && x > gutter + 8) { x = gutter + 8; y += 16; } sample(i, x, y); text(n, x + 25, y + 4, 'left', HUES[i % 6]); x += keyWidth(n); });
}
const perStep = (row, i, j) => { let sum = 0; for (let s = i; s < j; s++) sum += row[s] || 0; return sum / ((j - i) * D.step); };
const errorNames = Object.keys(D.errors), shortError = n => n.length > (narrow ? 38 : 70) ? n.slice(0, narrow ? 37 : 69) + '…' : n;
const errorPanel = { label: 'errors/s', narrow: 'errors a second by message', h: () => 50 + 16 * keyRows(errorNames.map(shortError)),
  draw(p) {
    const names = errorNames.map(shortError), room = p.h - 16 * keyRows(names) - 4, all = bins().map(([i, j]) => [i, j, errorNames.map(n => perStep(D.errors[n], i, j))]);
    const top = Math.max(1e-9, ...all.map(row => row[2].reduce((a, b) => a + b, 0))) * 1.06;
    clip(p, () => { for (const [i, j, counts_] of all) { let y = p.y + room; const x0 = X(i * D.step), w = X(j * D.step) - x0; counts_.forEach((c, k) => { const h = c / top * (room - 4); g.fillStyle = css(HUES[k % 6]); g.fillRect(x0, y - h, Math.max(.6, w - (w > 3 ? .6 : 0)), h); y -= h; }); } });
    rule(p.y + room); text(top < 1e-8 ? '0' : top < 10 ? (top / 1.06).toFixed(1) : onAxis(Math.round(top / 1.06)), gutter - 10, p.y + 13, 'right'); text('0', gutter - 10, p.y + room - 1, 'right');
    key(names, p, (i, x, y) => { g.fillStyle = css(HUES[i % 6]); g.fillRect(x + 6, y - 4, 12, 8); });
  },
  tips(t, p) { const s = Math.floor(t / D.step), now = errorNames.filter(n => D.errors[n][s]); return now.length ? [[p.y + 3, now.map(n => `${shortError(n)} ${group(Math.round(D.errors[n][s] / D.step))}`).join('\n')]] : []; } };
const nodeNames = Object.keys(D.by_node), NODE_ROW = 26, NODE_SCALE = 12; /* room above the rows for their scale, so that no bar lies behind it */
const nodeCounts = (n, i, j) => kindsSeen.filter(k => shownKinds.has(k)).map(k => [k, perStep(D.by_node[n][D.outcomes[k]] || [], i, j)]);
const nodePanel = { label: 'answers/s', narrow: 'answers a second by node', h: () => NODE_SCALE + nodeNames.length * NODE_ROW + 4,
  draw(p) {
    const all = bins().map(([i, j]) => [i, j, nodeNames.map(n => nodeCounts(n, i, j))]), top = Math.max(1, ...all.flatMap(row => row[2].map(counts_ => counts_.reduce((a, [, c]) => a + c, 0))));
    nodeNames.forEach((n, at) => {
      const foot = p.y + 2 + NODE_SCALE + (at + 1) * NODE_ROW; text(n, gutter - 10, foot - 8, 'right', 'fg'); rule(foot);
      clip(p, () => { for (const [i, j, rows] of all) { let y = foot; const x0 = X(i * D.step), w = X(j * D.step) - x0; for (const [k, c] of rows[at]) { const h = c / top * (NODE_ROW - 4); g.fillStyle = css(TONE[k]); g.fillRect(x0, y - h, Math.max(.6, w - (w > 3 ? .6 : 0)), h); y -= h; } } });
    });
    text('each from 0 to ' + onAxis(Math.round(top)), gutter + plotWidth() - 6, p.y + 12, 'right');
  },
  tips(t, p) { const s = Math.floor(t / D.step); return s >= steps ? [] : [[p.y + 3, nodeNames.map(n => `${n} ${nodeCounts(n, s, s + 1).filter(([, c]) => c).map(([k, c]) => `${WORDS[k].split(' ')[0]} ${group(Math.round(c))}`).join(', ') || 'nothing'}`).join('\n')]]; } };
const lagPanel = { label: 'offset lag', narrow: 'offset lag: messages behind the leader', h: () => 92 + 16 * keyRows(lagNames),
  draw(p) {
    const room = p.h - 16 - 16 * keyRows(lagNames), scale = room / (lagMost + lagAhead), zero = p.y + 8 + lagMost * scale, Y = v => zero - v * scale;
    const said = ['+' + onAxis(lagMost), '0', ...(lagAhead ? ['\u2212' + onAxis(lagAhead)] : [])], at = stacked([Y(lagMost) + 8, zero + 4, Y(-lagAhead) + 4].slice(0, said.length), 12, p.y + p.h - 16 * keyRows(lagNames) - 2);
    rule(zero); said.forEach((words_, i) => text(words_, gutter - 10, at[i], 'right'));
    clip(p, () => lagNames.forEach((n, i) => line(D.lag[n].map(([t, v]) => [X(t), v == null ? null : Y(v)]), HUES[i % 6], DASHES[i % 6])));
    key(lagNames, p, (i, x, y) => line([[x, y], [x + 20, y]], HUES[i % 6], DASHES[i % 6], 2));
  },
  tips(t, p) { return [[p.y + p.h - 22 - 16 * keyRows(lagNames), lagNames.map(n => `${n} ${signed(lagAt(D.lag[n], t))}`).join('   ')]]; } };
const lagAt = (rows, t) => { let a = 0, b = rows.length; while (a < b) { const m = (a + b) >> 1; if (rows[m][0] <= t) a = m + 1; else b = m; } return a ? rows[a - 1][1] : null; };
const signed = v => v == null ? '—' : v > 0 ? '+' + group(v) : v < 0 ? '\u2212' + group(-v) : '0';
const unreadPanel = { label: 'acked, unread', narrow: 'acknowledged and not yet read', h: () => 70,
  draw(p) {
    const Y = v => p.y + p.h - 3 - v / unreadMost * (p.h - 24); /* the curve stays below the words */
    clip(p, () => {
      const points = bins().map(([i, j]) => [X(j * D.step), Y(over(D.unread, i, j, most) ?? 0)]);
      if (points.length) { g.fillStyle = css('r3'); g.globalAlpha = .18; g.beginPath(); g.moveTo(points[0][0], p.y + p.h); points.forEach(([x, y]) => g.lineTo(x, y)); g.lineTo(points.at(-1)[0], p.y + p.h); g.fill(); g.globalAlpha = 1; line(points, 'r3', [], 1.4); }
    });
    text(onAxis(unreadMost), gutter - 10, Y(unreadMost) + 5, 'right'); text('0', gutter - 10, p.y + p.h - 2, 'right');
    const left = D.unread.at(-1);
    text(left ? group(left) + ' unread at the end' : 'all read at the end', gutter + plotWidth() - 6, p.y + 14, 'right', left ? 'bad' : 'good');
  },
  tips(t, p) { const v = D.unread[Math.floor(t / D.step)]; return v == null ? [] : [[p.y + 20, group(v) + ' unread']]; } };
const axisPanel = { label: '', h: () => 20, bare: true,
  draw(p) {
    const want = (to - from) / Math.max(2, plotWidth() / 88), step = STEPS.find(s => s >= want) || 14400;
    const digits = step < 1 ? Math.ceil(-Math.log10(step) - 1e-9) : 0;
    const zero = utc ? -(D.utc_ms / 1000 % step) : 0, half = g.measureText(secs(to, digits)).width / 2; /* round times of the clock that is shown */
    for (let i = Math.ceil((from - zero) / step - 1e-9), t; (t = zero + i * step) <= to + 1e-9; i++) {
      const x = X(t), edge = x > width - half; text(secs(t, digits), edge ? width - 2 : x, p.y + 14, edge ? 'right' : 'center'); g.fillStyle = css('mute'); g.fillRect(Math.round(x), p.y, 1, 3);
    }
  },
  tips: () => [] };

