'use strict';
/* A run that goes, as its server tells it: objects as of `chaos run --live json`. Texts are set, never parsed. */
(() => {
const at = id => document.getElementById(id), set = (id, text) => { if (at(id).textContent !== text) at(id).textContent = text; };
const seconds = value => value == null ? '—' : value.toFixed(1) + ' s', STATES = {inject: 'begins', active: 'in force', heal: 'heals', healed: 'healed', skipped: 'skipped', broke: 'broke'};
const when = one => one.t == null ? '' : ' at ' + seconds(one.t);
let run = {}, faults = new Map(), rates = [];
function row(cells) {
  const tr = document.createElement('tr');
  cells.forEach(([text, label, kind]) => { const td = tr.insertCell(); td.textContent = text; td.className = kind ?? ''; if (label) td.dataset.l = label; });
  return tr;
}
function count(name, of) { return row([[name, '', 'title'], ...['ok', 'fail', 'refused', 'info'].map((kind, i) => [String(of[kind] ?? 0), ['ok', 'failed', 'refused by design', 'unknown'][i], 'n'])]); }
function drawFaults() {
  at('faults').replaceChildren(...[...faults].map(([id, f]) => row([[String(id), '', 'n'], [f.name, '', 'mono'], [seconds(f.at), 'from', 'n'], [seconds(f.until), 'to', 'n'], [f.state, '', 'v' + (f.proven === false ? ' warn' : '')], [f.evidence, '', 'found']])));
}
const heard = {
  load(one) { run = one; rates = []; faults = new Map(one.faults.map(f => [f.id, {...f, state: 'planned', evidence: ''}])); set('title', one.title); drawFaults(); },
  phase(one) { if (one.edge === 'start') set('lede', `${one.phase} began${when(one)}.`); else set('lede', `${one.phase} ended${when(one)}${one.ok ? '' : ', not well'}${one.note ? ': ' + one.note : '.'}`); },
  fault(one) { const known = faults.get(one.id) ?? {name: one.name}; faults.set(one.id, {...known, state: STATES[one.stage] ?? one.stage, proven: one.proven, evidence: [one.description, one.evidence, one.note].filter(Boolean).join('; ')}); drawFaults(); },
  note(one) { set('lede', `${one.name}${one.node ? ' ' + one.node : ''}: ${one.text}`); },
  beat(one) {
    at('stamp').className = 'stamp'; set('stamp', one.status === 'ran' ? 'JUDGING' : one.status.toUpperCase());
    set('phase', one.phase ? 'phase ' + one.phase : ''); set('clock', one.t == null ? '' : one.t > run.time_limit ? `${one.t.toFixed(0)} s` : `${one.t.toFixed(0)} of ${run.time_limit} s`);
    set('quiet', one.quiet_s > 30 ? `nothing was written for ${one.quiet_s.toFixed(0)} s; the run may have been killed` : '');
    at('counts').replaceChildren(count(run.changes, one.changes), count('others', one.rest));
    set('rate', `${one.ok_per_s} ${run.changes} acknowledged a second`); set('age', one.last_ack_s == null ? '' : `· the last ${seconds(one.last_ack_s)} ago`);
    rates.push(one.ok_per_s); rates = rates.slice(-120); const top = Math.max(1, ...rates);
    at('curve').firstElementChild.setAttribute('points', rates.map((rate, i) => `${i * 4},${58 - 56 * rate / top}`).join(' '));
    const led = one.leaders.map(lead => `${lead.subject}: ${lead.leader ?? 'nobody'}${lead.epoch == null ? '' : (lead.kind === 'controller' ? ' term ' : ' epoch ') + lead.epoch}`);
    set('leaders', [...(led.length ? led : ['Nobody is known to lead.']), ...one.silent.map(node => node + ' is silent')].join(' · '));
  },
  end(one) {
    at('stamp').className = 'stamp ' + ({PASS: 'good', FAIL: 'bad'}[one.verdict] ?? 'warn'); set('stamp', one.verdict ?? 'BROKE');
    set('lede', one.sentence); set('quiet', ''); set('phase', 'over'); at('report').hidden = !one.report; document.title = `${one.verdict ?? 'BROKE'} · ${run.title}`;
  },
};
const source = new EventSource('live.events');
source.onmessage = message => { const one = JSON.parse(message.data); heard[one.type]?.(one); if (one.type === 'end') source.close(); document.body.dataset.heard = one.type; };
source.onerror = () => { if (at('stamp').textContent !== 'BROKE') set('quiet', 'the server does not answer; the page tries again'); };
document.body.dataset.done = 1;
})();
