/* ---- labels: words on the panels that never lie over each other; boxes are [left, top, right, bottom] in pixels ---- */
const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
/* Whether a label has room beside those that are there; it is one of them from then on. Who comes first stays. */
function takesRoom(taken, label) { if (!taken.every(other => apart(other, label))) return false; taken.push(label); return true; }
/* Baselines of labels in a column: in their order, as near to where they belong as `gap` allows, none below `bottom`. */
function stacked(wanted, gap, bottom) {
  const order = wanted.map((y, i) => [y, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]), out = [];
  let free = -Infinity; for (const [y, i] of order) { out[i] = Math.max(y, free); free = out[i] + gap; }
  free = bottom; for (const [, i] of order.reverse()) { out[i] = Math.min(out[i], free); free = out[i] - gap; }
  return out;
}
/* The longest beginning of words that a room holds, by their width in pixels. */
function shortened(words, room, widthOf) {
  if (widthOf(words) <= room) return words;
  let length = words.length - 1; while (length > 0 && widthOf(words.slice(0, length) + '…') > room) length--;
  return length > 0 ? words.slice(0, length) + '…' : '';
}
